"""What grading knows of a submission: plain records that travel between processes and into files.

A `Script` says what is to run, a `NotebookRecord` what came of it. Both are made of strings,
numbers and tuples, so that a record read back from JSON equals the one that was written.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Literal

from shardwise_grading.results import Report, Result

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind = Literal["code", "markdown", "raw"]
Role = Literal["text", "own", "solution", "visible", "hidden"]


@dataclass(frozen=True, slots=True)
class Ask:
    """What a hidden cell asks for.

    Args:
        exercise: the module of hidden checks, such as ``"stage_2_memory"``.
        part: the check in it.
        solution: the student's name for what is checked, such as ``"stage2_bytes"``.
        points: what the cell is worth.
    """

    exercise: str
    part: str
    solution: str
    points: int


@dataclass(frozen=True, slots=True)
class Step:
    """One cell of a notebook as it is graded.

    Args:
        kind: the type of the cell.
        role: ``"solution"`` is the student's answer, ``"visible"`` and ``"hidden"`` are tests of
            the instructor, ``"text"`` is the instructor's text, ``"own"`` a cell that the student
            added.
        source: the student's text for ``"solution"`` and ``"own"``, the instructor's otherwise.
        grade_id: the name that nbgrader knows the cell by; empty where it has none, and for a
            student's own.
        ask: for a hidden cell, what it asks for.
    """

    kind: Kind
    role: Role
    source: str
    grade_id: str = ""
    ask: Ask | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """A student's notebook, put into the order and the cells of the instructor's.

    Args:
        name: the notebook without its ending, such as ``"2-stage-2-memory"``.
        steps: its cells in order; none when there is a problem.
        notes: what an instructor should know, a sentence each.
        problem: why nothing of it can be graded; empty when it can.
    """

    name: str
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Output:
    """Something that a cell showed.

    Args:
        kind: where it came from; for ``"error"`` the text is the traceback.
        text: what it says as plain text.
        png: a picture in base64, or nothing.
        name: the type of an error, or nothing.
        value: the message of an error, or nothing.
    """

    kind: Literal["stdout", "stderr", "display", "result", "error"]
    text: str
    png: str = ""
    name: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class CellRecord:
    """One cell and what came of it.

    Args:
        step: the cell.
        outputs: what it showed.
        results: for a hidden cell, one for each property.
        ran: whether it ran; text never does, and nothing runs after the time is over.
        seconds: how long that took.
    """

    step: Step
    outputs: tuple[Output, ...] = ()
    results: tuple[Result, ...] = ()
    ran: bool = False
    seconds: float = 0.0

    @property
    def report(self) -> Report | None:
        """The results of a hidden cell with their score; None for any other cell."""
        return Report(self.results, self.step.ask.points) if self.step.ask else None


@dataclass(frozen=True, slots=True)
class NotebookRecord:
    """One notebook of one student, graded.

    Args:
        name: the notebook without its ending.
        cells: its cells in order.
        notes: what an instructor should know, a sentence each.
        problem: why a human has to look; empty when nobody has to.
    """

    name: str
    cells: tuple[CellRecord, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""

    @property
    def score(self) -> float:
        """Points earned by all hidden cells."""
        return sum(cell.report.score for cell in self.cells if cell.report)

    @property
    def max_score(self) -> int:
        """Points that the hidden cells are worth."""
        return sum(cell.step.ask.points for cell in self.cells if cell.step.ask)


@dataclass(frozen=True, slots=True)
class SubmissionRecord:
    """All that one student handed in for an assignment, graded.

    Args:
        student: the folder in ``submitted/``.
        assignment: the folder in that.
        digest: of everything that the result depends on; the same digest is not graded again.
        notebooks: one for each notebook of the assignment, in the order of their names.
        protection: what kept the student's code in, such as ``"namespaces"``.
        notes: what an instructor should know of the whole, a sentence each.
        problem: why a human has to look; empty when nobody has to.
    """

    student: str
    assignment: str
    digest: str
    notebooks: tuple[NotebookRecord, ...] = ()
    protection: str = ""
    notes: tuple[str, ...] = ()
    problem: str = ""

    @property
    def problems(self) -> tuple[str, ...]:
        """Every reason for a human to look, the notebook's name before its own."""
        own = (self.problem,) if self.problem else ()
        return own + tuple(f"{n.name}: {n.problem}" for n in self.notebooks if n.problem)


def to_json(record: Any) -> Any:  # noqa: ANN401
    """Turn a record into what the json module writes.

    Example:
        >>> to_json(Ask("stage_2_memory", "partition_table", "partition", 2))["points"]
        2
    """
    if is_dataclass(record) and not isinstance(record, type):
        return {f.name: to_json(getattr(record, f.name)) for f in fields(record)}
    return [to_json(item) for item in record] if isinstance(record, tuple) else record


def submission_from_json(content: Mapping[str, Any]) -> SubmissionRecord:
    """Read a submission back from what `to_json` made of it.

    Raises:
        KeyError, TypeError: the content is something else.
    """
    notebooks = tuple(map(_notebook, content["notebooks"]))
    return SubmissionRecord(**{**content, "notebooks": notebooks, "notes": tuple(content["notes"])})


def _notebook(content: Mapping[str, Any]) -> NotebookRecord:
    cells = tuple(map(_cell, content["cells"]))
    return NotebookRecord(**{**content, "cells": cells, "notes": tuple(content["notes"])})


def _cell(content: Mapping[str, Any]) -> CellRecord:
    step = dict(content["step"])
    step["ask"] = Ask(**step["ask"]) if step["ask"] else None
    outputs = tuple(Output(**output) for output in content["outputs"])
    results = tuple(Result(**result) for result in content["results"])
    return CellRecord(**{**content, "step": Step(**step), "outputs": outputs, "results": results})
