"""What a cell that stopped says, in the words that its student saw in the notebook."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shardwise_grading.records import Output

# How IPython names a place in a cell, and marks the line under it.
PLACE = re.compile(r"Cell In\[\d+\], line (\d+)(?:, in (\w+))?")
ARROW = re.compile(r"^-+> \d+ +(.*)$", re.MULTILINE)
SYNTAX_PLACE = re.compile(r" \((?:[^()]*, )?line (\d+)\)$")
LATE = "did not return within "  # how `time_limit` says it
EXIT = "exit() ends a notebook, and return ends a function"
MISSING = re.compile(r"name '(\w+)' is not defined")


def printed(outputs: tuple[Output, ...]) -> str:
    """Return what a cell printed."""
    return "".join(output.text for output in outputs if output.kind == "stdout").strip()


def failure(outputs: tuple[Output, ...], whose: str = "") -> str:
    """Say why a cell stopped; empty when it did not.

    Args:
        outputs: what it showed.
        whose: what to say after the number of a line, such as ``" of the check"``.
    """
    error = _error(outputs)
    if error is None:
        return ""
    if error.value.startswith(LATE):
        return f"{error.value}; is there a loop without an end?"
    if error.name == "AssertionError":
        return error.value or f"this does not hold: {_line(error.text)}"
    if error.name in ("SyntaxError", "IndentationError", "TabError"):
        return f"{error.name}: {SYNTAX_PLACE.sub(_line_alone, error.value)}"
    value = error.value or (EXIT if error.name == "SystemExit" else "")
    said = f"{error.name}: {value}" if value else error.name
    return f"{said}{_place(error.text, whose)}"


def missing(outputs: tuple[Output, ...]) -> str:
    """Return the name that a cell stopped at because nothing defines it; mostly empty."""
    error = _error(outputs)
    found = MISSING.match(error.value) if error and error.name == "NameError" else None
    return found[1] if found else ""


def _error(outputs: tuple[Output, ...]) -> Output | None:
    return next((output for output in outputs if output.kind == "error"), None)


def _line(trace: str) -> str:
    """The line of code that a traceback ends in."""
    return str((ARROW.findall(trace) or ["an assertion without a message"])[-1])


def _line_alone(match: re.Match[str]) -> str:
    return f" (line {match[1]})"


def _place(trace: str, whose: str) -> str:
    """Name the last line of a cell in a traceback."""
    places = PLACE.findall(trace)
    if not places:
        return ""
    number, function = places[-1]
    return (
        f" (line {number} of the cell, in {function})" if function else f" (line {number}{whose})"
    )
