"""Write scores, comments and late penalties as ``nbgrader autograde`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbgrader.api import MissingEntry
from nbgrader.preprocessors import AssignLatePenalties, SaveAutoGrades

from shardwise_grading.gradebook.marks import NotebookMark, read_marks

if TYPE_CHECKING:
    from nbgrader.api import Gradebook, SubmittedAssignment, SubmittedNotebook
    from traitlets.config import Config

    from shardwise_grading.gradebook.autograded import Outcome
    from shardwise_grading.gradebook.folders import Submission
    from shardwise_grading.gradebook.notebooks import GradedNotebook


def save_grades(
    gradebook: Gradebook,
    config: Config,
    result: Outcome,
    submission: Submission,
    *,
    same_work: bool = False,
) -> None:
    """Fill a submission's entry in a gradebook; manual scores, extra credit and comments stay.

    Args:
        gradebook: nbgrader's, in a transaction.
        config: the course's, with its plugin for late submissions.
        result: what is to be saved.
        submission: whose it is and when it was handed in.
        same_work: whether the entry is of the same work; then nobody who has decided on it is
            asked again.
    """
    student, assignment = submission.student, submission.assignment
    before = read_marks(gradebook, assignment, student) if same_work else {}
    # Without a timestamp nbgrader leaves what it has.
    when = {"timestamp": submission.timestamp} if submission.timestamp else {}
    gradebook.update_or_create_student(student)
    with gradebook.db.no_autoflush:  # nbgrader adds the entry only when it is complete
        entry = gradebook.update_or_create_submission(assignment, student, **when)
    for notebook in result.notebooks:
        part = gradebook.find_submission_notebook(notebook.name, assignment, student)
        _save_scores(gradebook, config, notebook, submission)
        _mark_unsure(part, notebook)
        _keep_decisions(part, before.get(notebook.name, NotebookMark()))
        gradebook.db.flush()
        part.late_submission_penalty = _Penalties(config=config).penalty(part, entry)
    for missing in result.missing:
        part = gradebook.find_submission_notebook(missing.name, assignment, student)
        for grade in part.grades:
            grade.auto_score = missing.scores.get(grade.name)
            grade.needs_manual_grade = grade.auto_score is None
        part.late_submission_penalty = None


def holds_grades(
    gradebook: Gradebook, config: Config, result: Outcome, submission: Submission
) -> bool:
    """Whether a gradebook has the automatic scores, the timestamp and the penalties of today.

    Args:
        gradebook: nbgrader's, in a transaction.
        config: the course's, with its plugin for late submissions.
        result: what was to be saved.
        submission: whose it is and when it was handed in.
    """
    student, assignment = submission.student, submission.assignment
    try:
        entry = gradebook.find_submission(assignment, student)
    except MissingEntry:
        return False
    found = {
        (name, cell): mark.auto_score
        for name, notebook in read_marks(gradebook, assignment, student).items()
        for cell, mark in notebook.cells.items()
    }
    in_time = submission.timestamp in (None, entry.timestamp)
    if not in_time or not result.scores.items() <= found.items():
        return False
    plugin, graded = _Penalties(config=config), {notebook.name for notebook in result.notebooks}
    return all(
        part.late_submission_penalty
        == (plugin.penalty(part, entry) if part.name in graded else None)
        for part in entry.notebooks
    )


def _save_scores(
    gradebook: Gradebook, config: Config, notebook: GradedNotebook, submission: Submission
) -> None:
    """Let nbgrader's own step save scores and comments, on a gradebook that is open already."""
    step = SaveAutoGrades(config=config)
    step.gradebook, step.notebook_id = gradebook, notebook.name
    step.assignment_id, step.student_id = submission.assignment, submission.student
    for index, cell in enumerate(notebook.node.cells):
        step.preprocess_cell(cell, {}, index)


def _mark_unsure(part: SubmittedNotebook, notebook: GradedNotebook) -> None:
    """Take back scores that only a human can give, and call one where a human has to look."""
    for grade in part.grades:
        if grade.name not in notebook.scores:  # a task, of which nbgrader has no score either
            continue
        grade.auto_score = notebook.scores[grade.name]
        if grade.auto_score is None or grade.name in notebook.look:
            grade.needs_manual_grade = True


def _keep_decisions(part: SubmittedNotebook, before: NotebookMark) -> None:
    """Leave it at what a human has said of the same points for the same work."""
    for grade in part.grades:
        mark = before.cells.get(grade.name)
        if mark and mark.manual_score is not None and mark.auto_score == grade.auto_score:
            grade.needs_manual_grade = mark.needs_manual


class _Penalties(AssignLatePenalties):  # type: ignore[misc]
    """nbgrader's own penalties, on a gradebook that is open already."""

    def penalty(self, notebook: SubmittedNotebook, submission: SubmittedAssignment) -> float | None:
        """Return what a notebook loses as things stand: due date, extension and score."""
        # An extension of nothing is no due date.
        late = submission.total_seconds_late if submission.assignment.duedate else 0
        if late <= 0:
            return None
        self.init_plugin()
        penalty = self.plugin_inst.late_submission_penalty(
            submission.student_id, notebook.score, late
        )
        return None if penalty is None else float(self._check_late_penalty(notebook, penalty))
