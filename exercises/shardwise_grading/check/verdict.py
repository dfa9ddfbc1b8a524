"""From what the cells showed to what a student wants to know: which part passes, and why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardwise_grading.check.connection import LostError
from shardwise_grading.check.notebook import defined, used
from shardwise_grading.check.words import failure, missing, printed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from shardwise_grading.check.notebook import Cell
    from shardwise_grading.records import Output

STUB = "The saved file has only the stub: write your answer, and save."
LONGEST = 40  # characters of a cell's first line that name it


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


@dataclass(frozen=True, slots=True)
class Ran:
    """A cell that ran.

    Args:
        cell: the cell.
        failure: why it stopped; empty when it did not.
    """

    cell: Cell
    failure: str


def judge(cells: Sequence[Cell], shown: Iterable[tuple[Output, ...]]) -> Iterator[Part | str]:
    """Yield a `Part` for each visible check and a note for what else went wrong.

    Args:
        cells: what ran.
        shown: what each of them showed, as long as their process lived.
    """
    stream = iter(shown)
    lost = ""
    ran: list[Ran] = []
    for place, cell in enumerate(cells):
        try:
            outputs = () if lost else next(stream)
        except LostError as error:
            outputs, lost = (), f"{label(cell, cells)} {error}"
            if not any(later.role == "visible" for later in cells[place:]):
                yield f"After the checks, {lost}."
        said = failure(outputs)
        if cell.role == "visible":
            answer = _answer(cell, ran)
            part = _part(cell, answer, lost, outputs)
            yield part
            if part.passed and answer and answer.failure:
                yield _stops(answer, cells)
        elif said and cell.role == "own" and not _wanted(cell, cells):
            yield _stops(Ran(cell, said), cells)
        ran.append(Ran(cell, said))


def label(cell: Cell, cells: Sequence[Cell]) -> str:
    r"""Name a cell, or the answer that it checks, in words that a student can find it by.

    Args:
        cell: one of them.
        cells: all of the notebook.

    Example:
        >>> from shardwise_grading.check.notebook import Cell
        >>> label(Cell("own", "1 / 0"), [])
        "your cell that starts with '1 / 0'"
        >>> label(Cell("solution", "import torch\ndef f(x):\n    return x"), [])
        'your cell with f'
    """
    if cell.role == "visible":
        return _subject(cell)
    if names := _wanted(cell, cells) or defined(cell.source):
        return f"your cell with {names[0]}"
    return f"your cell that starts with '{cell.source.strip().partition(chr(10))[0][:LONGEST]}'"


def _wanted(cell: Cell, cells: Sequence[Cell]) -> list[str]:
    """What a cell defines that a visible check uses."""
    asked = {name for check in cells if check.role == "visible" for name in used(check.source)}
    return [name for name in defined(cell.source) if name in asked]


def _subject(check: Cell) -> str:
    return (used(check.source) or [check.grade_id])[0]


def _answer(check: Cell, ran: Sequence[Ran]) -> Ran | None:
    """The cell that a check looks at: what defines its name, or else the one to be filled in."""
    subject = _subject(check)
    for before in reversed(ran):
        if before.cell.role != "visible" and subject in defined(before.cell.source):
            return before
    for before in reversed(ran):
        if before.cell.role == "visible":
            return None
        if before.cell.role == "solution":
            return before
    return None


def _part(check: Cell, answer: Ran | None, lost: str, outputs: tuple[Output, ...]) -> Part:
    name = _subject(check)
    if lost:
        words = lost if lost.startswith(f"{name} ") else f"not checked: {lost}"
        return Part(name, passed=False, words=words)
    said = failure(outputs, " of the check")
    if not said:
        return Part(name, passed=True, words=printed(outputs) or "passed")
    if answer and answer.cell.is_stub:
        return Part(name, passed=False, words=STUB)
    cause = _stops(answer, [check]) if answer and answer.failure else ""
    if missing(outputs) == name:
        return Part(name, passed=False, words=cause or _undefined(name, answer))
    return Part(name, passed=False, words=cause or said, hint=said if cause else "")


def _undefined(name: str, answer: Ran | None) -> str:
    if answer is None:
        return f"{name} is not defined, and the cell for it is gone: write it above its check."
    others = ", ".join(defined(answer.cell.source)) or "nothing"
    return f"{name} is not defined: your cell for it defines {others}."


def _stops(ran: Ran, cells: Sequence[Cell]) -> str:
    who = label(ran.cell, cells)
    return f"{who[0].upper()}{who[1:]} stops: {ran.failure}"
