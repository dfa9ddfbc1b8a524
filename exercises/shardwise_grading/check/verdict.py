"""From what the cells showed to what a student wants to know: which part passes, and why not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardwise_grading.check.connection import LostError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from shardwise_grading.check.notebook import Cell
    from shardwise_grading.records import Output

# How IPython names a place in a cell, and marks the line under it.
PLACE = re.compile(r"Cell In\[\d+\], line (\d+)(?:, in (\w+))?")
ARROW = re.compile(r"^-+> \d+ +(.*)$", re.MULTILINE)
SYNTAX_PLACE = re.compile(r" \((?:[^()]*, )?line (\d+)\)$")


@dataclass(frozen=True, slots=True)
class Part:
    """One visible check and what came of it.

    Args:
        name: what the student wrote that it checks, such as ``"stage2_bytes"``.
        passed: whether it ran to its end.
        words: what it says, in the words of the notebook.
        hint: what else helps; mostly empty.
    """

    name: str
    passed: bool
    words: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check of a notebook found.

    Args:
        notebook: the name of the file.
        saved: when it was saved last.
        parts: one for each visible check, in order.
        notes: what else happened, a sentence each.
    """

    notebook: str
    saved: datetime
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every visible check passed."""
        return all(part.passed for part in self.parts)

    @property
    def summary(self) -> str:
        """One sentence on the whole."""
        passed, most = sum(part.passed for part in self.parts), len(self.parts)
        of = "its visible check" if most == 1 else "its visible checks"
        if self.passed:
            return f"The notebook passes {of}. The hidden checks run when you hand in."
        return f"{passed} of {most} passed."


def judge(cells: Sequence[Cell], shown: Iterable[tuple[Output, ...]]) -> Iterator[Part | str]:
    """Yield a `Part` for each visible check and a note for what else went wrong.

    Args:
        cells: what ran.
        shown: what each of them showed, as long as their process lived.
    """
    stream = iter(shown)
    lost, answer, trouble = "", None, ""
    for cell in cells:
        try:
            outputs = () if lost else next(stream)
        except LostError as error:
            outputs, lost = (), f"cell {cell.number} {error}"
            if not any(c.role == "visible" and c.number >= cell.number for c in cells):
                yield f"After the checks, {lost}."
        failure = f"not checked: {lost}" if lost else _failure(outputs)
        if cell.role == "visible":
            yield _part(cell, answer, failure, trouble, outputs)
        elif cell.role == "solution":
            answer, trouble = cell, failure
        elif failure and not lost:
            yield f"Cell {cell.number}, which is your own, stops: {failure}"


def _part(
    cell: Cell, answer: Cell | None, failure: str, trouble: str, outputs: tuple[Output, ...]
) -> Part:
    name = answer.name_in(cell.source) if answer else cell.grade_id
    if not failure:
        return Part(name, passed=True, words=_printed(outputs) or "passed")
    if answer and answer.is_stub:
        hint = "The saved file has only the stub: write your answer, and save."
    elif trouble and trouble != failure:
        hint = f"Cell {answer.number if answer else '?'}, which defines it, stops: {trouble}"
    else:
        hint = ""
    return Part(name, passed=False, words=failure, hint=hint)


def _printed(outputs: tuple[Output, ...]) -> str:
    return "".join(output.text for output in outputs if output.kind == "stdout").strip()


def _failure(outputs: tuple[Output, ...]) -> str:
    """Say why a cell stopped; empty when it did not."""
    error = next((output for output in outputs if output.kind == "error"), None)
    if error is None:
        return ""
    if error.name == "LateError":
        return f"{error.value}; is there a loop without an end?"
    if error.name == "AssertionError":
        return error.value or f"this does not hold: {_line(error.text)}"
    if error.name in ("SyntaxError", "IndentationError", "TabError"):
        return f"{error.name}: {SYNTAX_PLACE.sub(_line_alone, error.value)}"
    said = f"{error.name}: {error.value}" if error.value else error.name
    return f"{said}{_place(error.text)}"


def _line(trace: str) -> str:
    """The line of code that a traceback ends in."""
    return str((ARROW.findall(trace) or ["an assertion without a message"])[-1])


def _line_alone(match: re.Match[str]) -> str:
    return f" (line {match[1]})"


def _place(trace: str) -> str:
    """Name the last line of a cell in a traceback."""
    places = PLACE.findall(trace)
    if not places:
        return ""
    number, function = places[-1]
    return f" (line {number} of the cell, in {function})" if function else f" (line {number})"
