"""Write scores, comments and late penalties as ``nbgrader autograde`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbgrader.preprocessors import AssignLatePenalties, SaveAutoGrades

if TYPE_CHECKING:
    from datetime import datetime

    from nbgrader.api import Gradebook, SubmittedAssignment, SubmittedNotebook
    from traitlets.config import Config

    from shardwise_grading.gradebook.autograded import Missing
    from shardwise_grading.gradebook.notebooks import GradedNotebook


class SaveGrades:
    """Fills one submission's entry in a gradebook; call it inside a transaction.

    Args:
        gradebook: nbgrader's.
        config: the course's, with its plugin for late submissions.
        assignment: the assignment.
        student: who handed in.
        timestamp: when, in UTC; None leaves what the gradebook has.
    """

    def __init__(
        self,
        gradebook: Gradebook,
        config: Config,
        assignment: str,
        student: str,
        timestamp: datetime | None,
    ) -> None:
        """Find or make the entry, and those of student and notebooks with it."""
        self.gradebook, self.config = gradebook, config
        self.assignment, self.student = assignment, student
        when = {"timestamp": timestamp} if timestamp else {}
        gradebook.update_or_create_student(student)
        with gradebook.db.no_autoflush:  # nbgrader adds the entry only when it is complete
            self.submission = gradebook.update_or_create_submission(assignment, student, **when)

    def graded(self, notebook: GradedNotebook) -> None:
        """Save what a notebook earned; manual scores, extra credit and comments stay."""
        scores = SaveAutoGrades(config=self.config)
        scores.gradebook, scores.notebook_id = self.gradebook, notebook.name
        scores.assignment_id, scores.student_id = self.assignment, self.student
        for index, cell in enumerate(notebook.node.cells):
            scores.preprocess_cell(cell, {}, index)
        entry = self._entry(notebook.name)
        for grade in entry.grades:
            score = notebook.scores.get(grade.name)
            grade.auto_score = score
            if score is None or grade.name in notebook.look:
                grade.needs_manual_grade = True
        self.gradebook.db.flush()
        _Penalties(config=self.config).assign(entry, self.submission)

    def missing(self, notebook: Missing) -> None:
        """Save that a notebook was not handed in."""
        entry = self._entry(notebook.name)
        for grade in entry.grades:
            grade.auto_score = notebook.scores.get(grade.name)
            grade.needs_manual_grade = grade.auto_score is None
        entry.late_submission_penalty = None

    def _entry(self, notebook: str) -> SubmittedNotebook:
        return self.gradebook.find_submission_notebook(notebook, self.assignment, self.student)


class _Penalties(AssignLatePenalties):  # type: ignore[misc]
    """nbgrader's own penalties, on a gradebook that is open already."""

    def assign(self, notebook: SubmittedNotebook, submission: SubmittedAssignment) -> None:
        self.init_plugin()
        notebook.late_submission_penalty = None
        # An extension of nothing is no due date.
        late = submission.total_seconds_late if submission.assignment.duedate else 0
        if late > 0:
            penalty = self.plugin_inst.late_submission_penalty(
                submission.student_id, notebook.score, late
            )
            if penalty is not None:
                notebook.late_submission_penalty = self._check_late_penalty(notebook, penalty)
