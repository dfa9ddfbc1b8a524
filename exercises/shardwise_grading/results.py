"""What a hidden check finds, and the score that follows from it."""

from __future__ import annotations

import traceback
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shardwise_grading.data import tensor_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LONGEST = 120
BITS = 256
FAULT = "a fault of the check"

_noted: ContextVar[list[str]] = ContextVar("noted")


@dataclass(frozen=True, slots=True)
class Result:
    """One property of a solution: whether it holds, and what that is worth.

    Args:
        property: what was checked, as a statement that holds for a right solution.
        passed: whether it held.
        points: whole points that it earns.
        message: the smallest failing input, with got and expected; empty when it held.
    """

    property: str
    passed: bool
    points: int
    message: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """All results of one hidden cell.

    Args:
        results: one for each property, in the order of the specification.
        points: what the cell is worth.

    Example:
        >>> right = Result("one device holds everything", True, 2)
        >>> wrong = Result("results are not rounded", False, 1, "f(1, 3) returned 6")
        >>> report = Report((right, wrong), points=3)
        >>> report.score
        2.0
        >>> print(report)
        Hidden checks: 2 of 3 points
          ok      2/2  one device holds everything
          not yet 0/1  results are not rounded
                       f(1, 3) returned 6
    """

    results: tuple[Result, ...]
    points: int

    @property
    def score(self) -> float:
        """Points earned, as a builtin float in [0, points].

        nbgrader gives full marks for what it can't read as such a number.
        """
        earned = sum(result.points for result in self.results if result.passed)
        return float(min(max(earned, 0), self.points))

    def __str__(self) -> str:
        """Write one line for each property, and its message below it."""
        lines = [f"Hidden checks: {self.score:g} of {self.points} points"]
        for result in self.results:
            word, earned = ("ok     ", result.points) if result.passed else ("not yet", 0)
            lines.append(f"  {word} {earned}/{result.points}  {result.property}")
            if result.message:
                lines.append(f"               {result.message}")
        return "\n".join(lines)


def judge(properties: Iterable[tuple[str, int, Iterable[str]]]) -> Iterator[Result]:
    """Turn named properties into results; one holds when none of its messages says anything.

    Args:
        properties: name, points, and a message for each input, the smallest first.

    Example:
        >>> [result.passed for result in judge([("a", 1, ["", ""]), ("b", 1, ["", "f(2) is 3"])])]
        [True, False]
    """
    for name, points, messages in properties:
        message = first_message(messages)
        yield Result(name, not message, points, message)


def first_message(messages: Iterable[str]) -> str:
    """Return the first message that says something, without asking for more.

    An error of the check itself is such a message, so that other properties can still be checked.

    Example:
        >>> first_message(["", "f(2) returned 3", "f(3) returned 4"])
        'f(2) returned 3'
    """
    try:
        return next((message for message in messages if message), "")
    except Exception as error:  # noqa: BLE001
        return fault(error)


@contextmanager
def noting_faults() -> Iterator[list[str]]:
    """Collect what faulty checks raise inside the context, for an instructor's eyes only."""
    noted: list[str] = []
    token = _noted.set(noted)
    try:
        yield noted
    finally:
        _noted.reset(token)


def fault(error: Exception) -> str:
    """Say to a student that a check is faulty, and note for the instructor why.

    Args:
        error: what the check raised; its text may hold what the check expects.

    Example:
        >>> with noting_faults() as noted:
        ...     fault(KeyError("shape"))
        'a fault of the check: KeyError; tell your instructor'
        >>> noted
        ["KeyError: 'shape'"]
    """
    place = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if "/" not in frame.filename:  # hidden checks are compiled from a text, under a short name
            place = f" in {frame.filename}, line {frame.lineno}"
    kind = type(error).__name__
    _noted.get([]).append(f"{kind}: {error}{place}")
    return f"{FAULT}: {kind}; tell your instructor"


def show(value: Any) -> str:  # noqa: ANN401
    """Write a value the way a message needs it: exact, on one line, and short.

    Args:
        value: anything that plain data can hold.

    Returns:
        Its text; fractions as ``n/d``, tensors and huge numbers by their size, long text cut.

    Example:
        >>> from fractions import Fraction
        >>> show(Fraction(20, 3)), show(5.5), show(1 << 5000)
        ('20/3 = 6.666666666666667', '5.5', 'an int of 5001 bits')
    """
    if type(value) is int and value.bit_length() > BITS:
        return f"an int of {value.bit_length()} bits"
    if type(value) is Fraction:
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > BITS:
            return "a Fraction of very large numbers"
        return str(value) if value.denominator == 1 else f"{value} = {float(value)!r}"
    if type(value) is tensor_type():
        return f"a tensor of shape {tuple(value.shape)}"
    try:
        text = " ".join(repr(value).split())
    except (ValueError, RecursionError):  # a huge int inside a list, or endless nesting
        return f"a {type(value).__name__} too large to show"
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
