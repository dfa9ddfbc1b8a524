"""The command: `check NOTEBOOK`."""

from __future__ import annotations

import argparse
import sys
import textwrap
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from shardwise_grading.check.ask import run
from shardwise_grading.check.notebook import CannotCheckError, read_cells
from shardwise_grading.check.verdict import Part, Verdict, judge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WIDTH = 88
EXIT_CODES = """\
exit status:
  0  every visible check passes
  1  a visible check fails
  2  a notebook cannot be checked
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the notebooks that are named, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="shardwise_grading check",
        description="Run a saved notebook fresh from top to bottom, and say which of its visible "
        "checks pass.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("notebook", nargs="+", type=Path, metavar="NOTEBOOK")
    parser.add_argument(
        "--cold",
        action="store_true",
        help="start a Python for the check; without it, one with torch stays behind for some "
        "minutes, and answers the next check at once",
    )
    options = parser.parse_args(arguments)
    try:
        return max(_check_all(options.notebook, cold=options.cold))
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        return 130


def check(path: Path, *, cold: bool = False) -> Verdict:
    """Run the visible checks of a saved notebook.

    Args:
        path: the file.
        cold: whether to start a process for the check, instead of copying a warm one.

    Raises:
        CannotCheckError: there is nothing to check, or Python could not be started.
    """
    cells = read_cells(path)
    saved = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
    shown = run([cell.source for cell in cells], path.absolute().parent, cold=cold)
    found = list(judge(cells, shown))
    parts = tuple(part for part in found if isinstance(part, Part))
    return Verdict(path.name, saved, parts, tuple(n for n in found if isinstance(n, str)))


def as_text(verdict: Verdict) -> str:
    """Write a verdict for a terminal.

    Example:
        >>> from datetime import datetime
        >>> part = Part("f", passed=False, words="f(1) must be 2")
        >>> print(as_text(Verdict("1.ipynb", datetime(2026, 1, 31, 12, 5, 9), (part,))))
        1.ipynb, saved at 12:05:09
        <BLANKLINE>
          failed  f
                  f(1) must be 2
        <BLANKLINE>
        0 of 1 passed.
    """
    lines = [f"{verdict.notebook}, saved at {verdict.saved:%H:%M:%S}", ""]
    for part in verdict.parts:
        lines.append(f"  {'passed' if part.passed else 'failed'}  {part.name}")
        for text in (*part.words.splitlines(), part.hint):
            lines += textwrap.wrap(text, WIDTH, initial_indent=" " * 10, subsequent_indent=" " * 10)
    lines += ["", *verdict.notes, verdict.summary]
    return "\n".join(lines)


def _check_all(paths: Sequence[Path], *, cold: bool) -> Iterator[int]:
    for place, path in enumerate(paths):
        if place:
            _say(sys.stdout, "")
        yield _check(path, cold=cold)


def _check(path: Path, *, cold: bool) -> int:
    try:
        verdict = check(path, cold=cold)
    except CannotCheckError as error:
        _say(sys.stderr, str(error))
        return 2
    _say(sys.stdout, as_text(verdict))
    return 0 if verdict.passed else 1


def _say(stream: TextIO, text: str) -> None:
    """Write a line; what a terminal has no letter for is written as its code."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
