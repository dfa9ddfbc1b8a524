"""Grade a class: what is unchanged stays, the rest is spread over workers and saved as it comes."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from shardwise_grading import sandbox
from shardwise_grading.checking.work import Checks, Work
from shardwise_grading.class_run.cluster import dask
from shardwise_grading.class_run.files import write_results
from shardwise_grading.class_run.interrupts import uninterrupted
from shardwise_grading.class_run.lock import lock
from shardwise_grading.class_run.placement import require_unreadable
from shardwise_grading.class_run.plan import ClassResults, Plan, count, unchanged
from shardwise_grading.class_run.pool import processes
from shardwise_grading.class_run.rows import Row, make_row
from shardwise_grading.class_run.spread import spread
from shardwise_grading.class_run.worker import find_protection, grade
from shardwise_grading.gradebook.course import Course
from shardwise_grading.records import SubmissionRecord
from shardwise_grading.submission import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from shardwise_grading.class_run.pool import Pool, Unit
    from shardwise_grading.class_run.progress import Report
    from shardwise_grading.gradebook.folders import Submission

SLACK_SECONDS = 60.0  # on top of all its notebooks' time, before a worker counts as lost


def grade_class(
    folder: Path,
    plan: Plan,
    say: Callable[[str], None],
    report: Callable[[int], AbstractContextManager[Report]],
) -> ClassResults:
    """Grade an assignment of a course.

    Args:
        folder: the course.
        plan: what to grade, where and how.
        say: gets a sentence on what is about to happen.
        report: shows progress; called with the number of submissions to grade.

    Raises:
        FileNotFoundError: there is no such course or assignment, or nobody handed in.
        ValueError: somebody that the plan names did not hand in, or students' code could read the
            course where it lies.
        RuntimeError: another run has the course, or nothing here can grade.
    """
    settings = json.dumps(asdict(plan.limits), sort_keys=True)
    if not (folder / "nbgrader_config.py").is_file():
        raise FileNotFoundError(f"{folder} holds no nbgrader_config.py; name a course by --course")
    with (
        lock(folder / "results" / ".lock"),
        Course.open(folder, plan.db_url, settings=settings) as course,
    ):
        require_unreadable((course.root, *course.hidden_folders))
        course.ensure_assignment(plan.assignment)
        handed_in = course.submissions(plan.assignment)
        chosen = _chosen(handed_in, plan)
        waiting = [s for s in chosen if plan.force or not _settled(course, s)]
        results = folder / "results" / plan.assignment
        say(f"{count(len(waiting))} to grade{unchanged(len(chosen) - len(waiting))}")
        protection = _grade(course, waiting, plan, say, report) if waiting else ""
        rows = [row for s in handed_in if (row := _row(course, s))]
        write_results(results, plan.assignment, rows)
    names = {submission.student for submission in chosen}
    shown = tuple(row for row in rows if row.student in names)
    return ClassResults(shown, len(waiting), len(chosen) - len(waiting), protection, results)


def _chosen(handed_in: list[Submission], plan: Plan) -> list[Submission]:
    if not handed_in:
        raise FileNotFoundError(
            f"nobody has handed in {plan.assignment}: there is no submitted/STUDENT/"
            f"{plan.assignment}; put one there, or run nbgrader collect"
        )
    unknown = sorted(set(plan.students) - {submission.student for submission in handed_in})
    if unknown:
        raise ValueError(f"--student {unknown[0]} has not handed in {plan.assignment}")
    return [s for s in handed_in if not plan.students or s.student in plan.students]


def _settled(course: Course, submission: Submission) -> bool:
    """Whether a submission needs no grading; what is only not in the gradebook is put there."""
    if course.is_current(submission):
        return True
    record = course.record(submission.student, submission.assignment)
    if record is None or record.digest != course.digest(submission):
        return False
    with uninterrupted():
        course.save(record, submission)
    return True


def _grade(
    course: Course,
    waiting: list[Submission],
    plan: Plan,
    say: Callable[[str], None],
    report: Callable[[int], AbstractContextManager[Report]],
) -> str:
    """Grade submissions, save each as it comes, and return what kept their code in."""
    by_student = {submission.student: submission for submission in waiting}
    with _pool(plan, len(course.layouts(plan.assignment)), len(waiting)) as pool:
        protection = _protection(pool) if plan.sandbox else "none"
        say(sandbox.describe(protection))
        units = _units(course, waiting, plan, protection)
        with report(len(waiting)) as tell, closing(spread(grade, units, pool)) as answers:
            for answer in answers:
                submission = by_student[answer.key]
                record = answer.value or _failure(submission, protection, answer.error)
                if submission.problem:
                    record = replace(record, problem=submission.problem)
                tell(answer.key, _outcome(_saved(course, record, submission)))
    return protection


def _pool(plan: Plan, notebooks: int, submissions: int) -> AbstractContextManager[Pool]:
    patience = notebooks * plan.limits.notebook_seconds + SLACK_SECONDS
    jobs = min(plan.jobs, submissions)
    if plan.backend == "dask":
        return dask(jobs, patience, plan.scheduler)
    return processes(jobs, patience)


def _protection(pool: Pool) -> str:
    """Ask a worker what keeps students' code in where it runs."""
    (answer,) = pool.answers(find_protection, [("", None)], alone=True)
    if answer.value is None:
        raise RuntimeError(answer.error)
    return str(answer.value)


def _units(
    course: Course, waiting: list[Submission], plan: Plan, protection: str
) -> Iterator[Unit]:
    """Make units of work, one as each is asked for, so that few are in memory at a time."""
    layouts = course.layouts(plan.assignment)
    checks = Checks(course.hidden_sources(plan.assignment), course.seed)
    for submission in waiting:
        # Read once, so that the digest is that of what is graded, whatever is handed in meanwhile.
        files, beside = course.contents(submission), course.beside(submission)
        work = Work(
            submission.student,
            submission.assignment,
            course.digest_of(submission.assignment, files, beside),
            layouts,
            files,
            checks,
            protection,
            _unread(submission, layouts),
            plan.limits,
            beside,
        )
        yield submission.student, work


def _unread(submission: Submission, layouts: Collection[str]) -> dict[str, str]:
    """Say why notebooks can't be read, by name."""
    others = sorted(set(submission.files) - set(layouts))
    absent = [name for name in layouts if name not in submission.files]
    reasons = {name: missing(name, others) for name in absent}
    return reasons | dict.fromkeys(submission.refused, "the file can't be read")


def _saved(course: Course, record: SubmissionRecord, submission: Submission) -> SubmissionRecord:
    """Save what grading found; where that fails, save so in its place, for the others' sake."""
    with uninterrupted():
        try:
            course.save(record, submission)
        except Exception as error:  # noqa: BLE001
            why = f"its result could not be saved, {type(error).__name__}: {error}"
            record = _failure(submission, record.protection, why)
            course.save(record, submission)
    return record


def _failure(submission: Submission, protection: str, error: str) -> SubmissionRecord:
    """Say that nothing could be graded; without a digest, so that the next run tries again."""
    problem = f"could not be graded: {error}"
    return SubmissionRecord(
        submission.student, submission.assignment, "", protection=protection, problem=problem
    )


def _outcome(record: SubmissionRecord) -> str:
    if record.problems:
        return "needs a human"
    earned = sum(notebook.score for notebook in record.notebooks)
    return f"{earned:g} of {sum(notebook.max_score for notebook in record.notebooks)}"


def _row(course: Course, submission: Submission) -> Row | None:
    student, assignment = submission.student, submission.assignment
    record = course.record(student, assignment)
    if record is None and not submission.problem:
        return None
    marks = course.marks(student, assignment) if record and submission.usable else {}
    return make_row(student, record, marks, submission.problem)
