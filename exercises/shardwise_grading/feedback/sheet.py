"""What a student is told of one notebook: the record and the gradebook, put into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardwise_grading.feedback.cells import Cell, cells_of, spaced, title_of
from shardwise_grading.records import CellRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shardwise_grading.gradebook.marks import CellMark, NotebookMark
    from shardwise_grading.records import NotebookRecord, Step
    from shardwise_grading.results import Result

SQUARE, GAP = 20, 8  # pixels: from one point to the next, and more of them before a new property
MOST_SQUARES = 100


@dataclass(frozen=True, slots=True)
class Total:
    """Points of a notebook or of all of them.

    Args:
        points: earned, before the penalty.
        max_points: what could be earned.
        penalty: what handing in late costs.
        graded: whether anybody has given points.
        waiting: how many parts an instructor still has to look at.
    """

    points: float
    max_points: float
    penalty: float = 0.0
    graded: bool = True
    waiting: int = 0

    @property
    def earned(self) -> str:
        """Points before the penalty."""
        return f"{self.points:g}"

    @property
    def late(self) -> str:
        """What handing in late costs; empty when it costs nothing."""
        return f"{self.penalty:g}" if self.penalty else ""

    def __str__(self) -> str:
        """What counts, never below nothing, of what could be earned."""
        if not self.graded:
            return "not graded"
        return f"{max(0.0, self.points - self.penalty):g} of {self.max_points:g}"


def sum_of(totals: Sequence[Total]) -> Total:
    """Add up the points of all notebooks."""
    return Total(
        sum(total.points for total in totals),
        sum(total.max_points for total in totals),
        sum(total.penalty for total in totals),
        any(total.graded for total in totals),
        sum(total.waiting for total in totals),
    )


@dataclass(frozen=True, slots=True)
class Part:
    """One graded cell: its properties, or what the gradebook alone says of it."""

    name: str
    about: str
    worth: str
    said: str = ""
    results: tuple[Result, ...] = ()


@dataclass(frozen=True, slots=True)
class Comment:
    """What the instructor wrote, and the place on the page that it is about."""

    about: str
    text: str
    cell: str = ""


@dataclass(frozen=True, slots=True)
class Square:
    """One point in the row of points."""

    x: int
    earned: bool


@dataclass(frozen=True, slots=True)
class Sheet:
    """All that the page of one notebook shows.

    Args:
        name: the notebook without its ending.
        title: the instructor's heading for it.
        total: its points.
        human: whether an instructor has to look at it.
        reasons: what a student may know of why.
        notes: what grading found in the file.
        parts: what was checked.
        comments: what the instructor wrote.
        squares: the points in a row.
        cells: the student's own code, and what it showed.
    """

    name: str
    title: str
    total: Total
    human: bool = False
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    comments: tuple[Comment, ...] = ()
    squares: tuple[Square, ...] = ()
    cells: tuple[Cell, ...] = ()


def sheet_of(
    record: NotebookRecord, mark: NotebookMark | None, steps: Iterable[Step] = ()
) -> Sheet:
    """Say what a student is told of a notebook.

    Args:
        record: what grading found.
        mark: what the gradebook says; it counts where both know something.
        steps: the instructor's notebook, for what can be told of one that could not be read.
    """
    marks = mark.cells if mark else {}
    cells = tuple(cells_of(record))
    known = record.cells or tuple(CellRecord(step) for step in steps)
    asked = mark is None or any(cell.needs_manual for cell in marks.values())
    # Of a notebook that ran, the problem is for the instructor: a faulty check, a suspicion.
    file_problem = (record.problem,) if record.problem and not record.cells else ()
    return Sheet(
        name=record.name,
        title=title_of(known) or record.name,
        total=_total(record, mark),
        human=bool(record.problem) and asked,
        reasons=file_problem if asked else (),
        notes=record.notes if asked else (*file_problem, *record.notes),
        parts=tuple(_parts(known, marks)),
        comments=tuple(_comments(marks, cells)),
        squares=tuple(_squares(record)),
        cells=cells,
    )


def _total(record: NotebookRecord, mark: NotebookMark | None) -> Total:
    if mark is None:
        return Total(record.score, record.max_score, graded=record.max_score > 0)
    graded = any(c.max_score > 0 and c.score is not None for c in mark.cells.values())
    waiting = sum(c.needs_manual for c in mark.cells.values())
    return Total(mark.score, mark.max_score, mark.late_penalty, graded, waiting)


def _parts(cells: Iterable[CellRecord], marks: Mapping[str, CellMark]) -> Iterable[Part]:
    checked = [cell for cell in cells if cell.step.ask]
    for cell in checked:
        yield _part(cell, marks.get(cell.step.grade_id))
    names = {cell.step.grade_id for cell in checked}
    for name, mark in marks.items():
        if name not in names and mark.max_score > 0:  # read by an instructor, not by checks
            yield Part("", spaced(name), _worth(mark.score, mark.max_score), _said(mark))


def _part(cell: CellRecord, mark: CellMark | None) -> Part:
    ask, report = cell.step.ask, cell.report
    if ask is None or report is None:
        raise ValueError(f"cell {cell.step.grade_id!r} asks for nothing; give a hidden cell")
    found = report.score if cell.results else None
    score = mark.score if mark and mark.score is not None else found
    about = "" if ask.part == ask.solution else spaced(ask.part)
    return Part(ask.solution, about, _worth(score, ask.points), _said(mark), cell.results)


def _worth(score: float | None, most: float) -> str:
    return f"{most:g} points, not graded" if score is None else f"{score:g} of {most:g} points"


def _said(mark: CellMark | None) -> str:
    """What the instructor did to the points of a part."""
    if mark is None:
        return ""
    said = []
    if mark.is_outdated:
        said.append(
            f"your instructor set the points to {mark.manual_score:g} for what you "
            "handed in before, and still has to look at this"
        )
    elif mark.needs_manual:
        said.append("your instructor still has to look at this")
    elif mark.manual_score is not None:
        said.append(f"your instructor set the points to {mark.manual_score:g}")
    if mark.extra_credit:
        said.append(f"{mark.extra_credit:+g} extra credit")
    return ", ".join(said)


def _comments(marks: Mapping[str, CellMark], cells: Iterable[Cell]) -> Iterable[Comment]:
    places = {cell.grade_id: cell for cell in cells if cell.grade_id}
    for name, mark in marks.items():
        if mark.comment.strip():
            place = places.get(name)
            yield Comment(spaced(name), mark.comment.strip(), place.id if place else "")


def _squares(record: NotebookRecord) -> Iterable[Square]:
    """One square for each point, those of a property together."""
    if record.max_score > MOST_SQUARES:
        return
    x = -GAP
    for cell in record.cells:
        for result in cell.results:
            x += GAP if result.points else 0
            for _ in range(result.points):
                yield Square(x, result.passed)
                x += SQUARE
