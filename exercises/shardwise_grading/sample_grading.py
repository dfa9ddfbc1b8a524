"""The sample class on its whole way, from release to export: by our grader, or by nbgrader's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shardwise_grading.class_run.plan import Plan
from shardwise_grading.class_run.pool import most_jobs
from shardwise_grading.class_run.progress import progress
from shardwise_grading.class_run.run import grade_class
from shardwise_grading.course import nbgrader, read_rows
from shardwise_grading.feedback import write_feedback
from shardwise_grading.gradebook.course import Course
from shardwise_grading.release import make_release
from shardwise_grading.sample import hand_in

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from shardwise_grading.class_run.rows import Row
    from shardwise_grading.sample import SampleClass


def by_us(course: Path, sample: SampleClass, console: Console) -> Sequence[Row]:
    """Release, hand in, grade, write feedback and export.

    Args:
        course: a copy of the course, which this fills.
        sample: who hands in what.
        console: where the progress goes.
    """
    assignment = sample.assignment

    def say(sentence: str) -> None:
        console.print(sentence, markup=False, highlight=False)

    say("Making the folder for students")
    make_release(course, assignment)
    for student in sample.students:
        hand_in(course, assignment, student)
    plan = Plan(assignment, jobs=most_jobs())
    results = grade_class(course, plan, say, lambda total: progress(console, total))
    say("Writing feedback pages and grades.csv")
    with Course.open(course) as graded:
        write_feedback(graded, assignment)
    nbgrader(course, "export")
    return results.rows


def by_nbgrader(course: Path, sample: SampleClass, console: Console) -> Sequence[Row]:
    """Do the same by nbgrader's own commands, which students' code can outwit.

    Args:
        course: a copy of the course, which this fills.
        sample: who hands in what.
        console: where the progress goes.
    """
    assignment = sample.assignment
    console.print("Making the folder for students")
    nbgrader(course, "generate_assignment", assignment)
    for student in sample.students:
        hand_in(course, assignment, student)
    begun = set()
    with progress(console, len(sample.students)) as tell:

        def follow(line: str) -> None:
            notebook = re.search(r"INFO\] Sanitizing .*?submitted[/\\]([^/\\]+)[/\\]", line)
            if notebook and notebook[1] not in begun:
                begun.add(notebook[1])
                tell(notebook[1], "nbgrader autograde")

        nbgrader(course, "autograde", assignment, on_line=follow)
    console.print("Writing feedback pages and grades.csv")
    nbgrader(course, "generate_feedback", assignment)
    nbgrader(course, "export")
    return read_rows(course, assignment)


GRADERS = {"shardwise": by_us, "nbgrader": by_nbgrader}
