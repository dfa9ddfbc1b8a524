"""One student's line in the results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shardwise_grading.gradebook.marks import NotebookMark
    from shardwise_grading.records import NotebookRecord, SubmissionRecord


@dataclass(frozen=True, slots=True)
class Row:
    """What a student got for an assignment.

    Args:
        student: who handed in.
        points: what was earned, by notebook; a notebook that nobody has graded yet is left out.
        max_points: what could be earned, by notebook.
        late_penalty: points that handing in late costs.
        problem: why a human has to look; empty when nobody has to.
        notes: what an instructor should know besides.

    Example:
        >>> Row("ada", {"1-a": 7.0, "2-b": 2.5}, {"1-a": 10.0, "2-b": 10.0}, late_penalty=1.5).total
        8.0
    """

    student: str
    points: Mapping[str, float] = field(default_factory=dict)
    max_points: Mapping[str, float] = field(default_factory=dict)
    late_penalty: float = 0.0
    problem: str = ""
    notes: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        """``"graded"`` or ``"needs a human"``."""
        return "needs a human" if self.problem else "graded"

    @property
    def total(self) -> float:
        """Points of all notebooks together, less the penalty, as nbgrader exports them."""
        return max(0.0, sum(self.points.values()) - self.late_penalty)


def make_row(
    student: str,
    record: SubmissionRecord | None,
    marks: Mapping[str, NotebookMark],
    problem: str = "",
) -> Row:
    """Join what grading found and what the gradebook says, where a human may have had a say.

    Args:
        student: who handed in.
        record: what grading found, if it got that far.
        marks: what the gradebook says, by notebook; where it can't hold the student, what grading
            found counts.
        problem: why a human has to look besides; empty when nobody has to.
    """
    problems = [problem] if problem else []
    notes: list[str] = []
    if record:
        problems += [record.problem] if record.problem not in ("", problem) else []
        problems += [
            f"{notebook.name}: {notebook.problem}"
            for notebook in record.notebooks
            if notebook.problem and not _settled(marks.get(notebook.name))
        ]
        problems += [
            f"{name}: {words}"
            for name, mark in sorted(marks.items())
            if not any(problem.startswith(f"{name}: ") for problem in problems)
            for words in _outdated(mark)
        ]
        notes = [*record.notes, *(note for n in record.notebooks for note in _named(n))]
    by_hand = [name for name, mark in marks.items() if _waits(mark)]
    if by_hand and not problems:
        problems = [f"waits for points by hand: {', '.join(by_hand)}"]
    found: Mapping[str, NotebookRecord | NotebookMark] = (
        marks or {notebook.name: notebook for notebook in record.notebooks} if record else {}
    )
    return Row(
        student,
        {name: float(found[name].score) for name in sorted(found) if name not in by_hand},
        {name: float(found[name].max_score) for name in sorted(found)},
        float(sum(mark.late_penalty for mark in marks.values())),
        "; ".join(problems),
        tuple(notes),
    )


def _named(notebook: NotebookRecord) -> list[str]:
    return [f"{notebook.name}: {note}" for note in notebook.notes]


def _settled(mark: NotebookMark | None) -> bool:
    """Whether a human has had a say, and no cell asks for one."""
    cells = list(mark.cells.values()) if mark else []
    return any(cell.manual_score is not None for cell in cells) and not any(
        cell.needs_manual for cell in cells
    )


def _outdated(mark: NotebookMark) -> list[str]:
    """Say which points by hand nobody has looked at since the work changed."""
    return [
        f"points set by hand ({cell.manual_score:g} of {cell.max_score:g}) are of older work; "
        f"the checks now give {cell.auto_score:g}"
        for cell in mark.cells.values()
        if cell.needs_manual and cell.manual_score is not None and cell.auto_score is not None
    ]


def _waits(mark: NotebookMark) -> bool:
    """Whether a graded cell has no points from anybody."""
    return any(cell.score is None and cell.max_score for cell in mark.cells.values())
