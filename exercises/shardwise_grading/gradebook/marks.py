"""What a gradebook says of one submission, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Notebook,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy import select

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbgrader.api import Gradebook
    from sqlalchemy import Row, Select

NO_RESPONSE = "No response."


@dataclass(frozen=True, slots=True)
class CellMark:
    """One cell that has a grade or a comment.

    Args:
        score: points as nbgrader counts them, extra credit included; None before anybody graded.
        max_score: points that it is worth.
        auto_score: points of the grader.
        manual_score: points of a human, which count instead.
        extra_credit: points on top.
        needs_manual: whether a human has to look.
        comment: what a human wrote; empty for nothing.
    """

    score: float | None = None
    max_score: float = 0.0
    auto_score: float | None = None
    manual_score: float | None = None
    extra_credit: float = 0.0
    needs_manual: bool = False
    comment: str = ""

    @property
    def is_outdated(self) -> bool:
        """Whether a human gave the points for earlier work, and has not looked at the newest."""
        return self.manual_score is not None and self.needs_manual


@dataclass(frozen=True, slots=True)
class NotebookMark:
    """One notebook of a submission.

    Args:
        cells: its cells that have a grade or a comment, by nbgrader's names.
        late_penalty: points that are taken away because it was late.
    """

    cells: Mapping[str, CellMark] = field(default_factory=dict)
    late_penalty: float = 0.0

    @property
    def score(self) -> float:
        """Points before the penalty."""
        return sum(cell.score or 0.0 for cell in self.cells.values())

    @property
    def max_score(self) -> float:
        """Points that it is worth."""
        return sum(cell.max_score for cell in self.cells.values())


def read_marks(gradebook: Gradebook, assignment: str, student: str) -> dict[str, NotebookMark]:
    """Read all marks of a submission, by notebook; nothing where the gradebook has no entry.

    Args:
        gradebook: nbgrader's, in a transaction.
        assignment: the assignment.
        student: who handed in.
    """
    cells: dict[str, dict[str, CellMark]] = {}
    penalties: dict[str, float] = {}
    for row in gradebook.db.execute(_grades(assignment, student)):
        cells.setdefault(row.notebook, {})[row.cell] = _mark(row)
        penalties[row.notebook] = row.late_submission_penalty or 0.0
    for row in gradebook.db.execute(_comments(assignment, student)):
        comment = row.manual_comment or row.auto_comment or ""
        words = "" if comment == NO_RESPONSE else comment
        marks = cells.setdefault(row.notebook, {})
        marks[row.cell] = replace(marks.get(row.cell, CellMark()), comment=words)
    return {name: NotebookMark(cells[name], penalties.get(name, 0.0)) for name in sorted(cells)}


def _mark(row: Row[Any]) -> CellMark:
    graded = row.auto_score is not None or row.manual_score is not None
    return CellMark(
        score=row.score if graded else None,
        max_score=row.max_score,
        auto_score=row.auto_score,
        manual_score=row.manual_score,
        extra_credit=row.extra_credit or 0.0,
        needs_manual=row.needs_manual_grade,
    )


def _grades(assignment: str, student: str) -> Select[Any]:
    columns = (
        SubmittedNotebook.late_submission_penalty,
        Grade.auto_score,
        Grade.manual_score,
        Grade.extra_credit,
        Grade.needs_manual_grade,
        Grade.score.label("score"),
        Grade.max_score.label("max_score"),
    )
    return _of_submission(select(*_NAMES, *columns), Grade, assignment, student)


def _comments(assignment: str, student: str) -> Select[Any]:
    columns = (Comment.manual_comment, Comment.auto_comment)
    return _of_submission(select(*_NAMES, *columns), Comment, assignment, student)


_NAMES = (Notebook.name.label("notebook"), BaseCell.name.label("cell"))


def _of_submission(
    query: Select[Any], kind: type[Grade | Comment], assignment: str, student: str
) -> Select[Any]:
    """Limit a query on grades or comments to one submission."""
    return (
        query.select_from(kind)
        .join(BaseCell, BaseCell.id == kind.cell_id)
        .join(SubmittedNotebook, SubmittedNotebook.id == kind.notebook_id)
        .join(Notebook, Notebook.id == SubmittedNotebook.notebook_id)
        .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .where(Assignment.name == assignment, SubmittedAssignment.student_id == student)
    )
