"""What can be told of a cell's text without running or compiling it."""

from __future__ import annotations

import re

# Each alternative ends somewhere, so that no text makes the search start over.
STRING_OR_COMMENT = re.compile(
    r'#[^\n]*+|"""(?:[^"\\]++|\\.|"(?!""))*+(?:""")?|"(?:[^"\\\n]++|\\.)*+"?'
    r"|'''(?:[^'\\]++|\\.|'(?!''))*+(?:''')?|'(?:[^'\\\n]++|\\.)*+'?",
    re.DOTALL,
)
DEFINITION = re.compile(
    r"^(?:(?:async[ \t]++)?def[ \t]++|class[ \t]++)(\w++)|^(\w++)[ \t]*+(?::[^=\n]*+)?=(?!=)",
    re.MULTILINE,
)


def defined_names(source: str) -> tuple[str, ...]:
    r"""Return the names that a cell defines at its top level, as far as its lines tell.

    Nothing is compiled: a student's text could bring the interpreter down.

    Example:
        >>> defined_names("import torch\n\ndef mean(xs):\n    total = 0\n\nrows: list = []")
        ('mean', 'rows')
    """
    code = STRING_OR_COMMENT.sub("", source)
    return tuple(dict.fromkeys(function or name for function, name in DEFINITION.findall(code)))


def without_region(source: str, delimiter: str, stub: str | None = None) -> str:
    r"""Cut out what stands between ``BEGIN`` and ``END`` lines, as nbgrader's release does.

    Args:
        source: the instructor's text of a cell.
        delimiter: what follows the two words, such as ``"SOLUTION"``.
        stub: a line that takes the place of each region, indented like it.

    Raises:
        ValueError: a region has no end.

    Example:
        >>> without_region("def f():\n    # BEGIN SOLUTION\n    x\n    # END SOLUTION", "SOLUTION")
        'def f():'
    """
    lines: list[str] = []
    inside = False
    for line in source.split("\n"):
        if f"BEGIN {delimiter}" in line:
            inside = True
            indent = line[: len(line) - len(line.lstrip())]
            lines += [indent + stub] if stub is not None else []
        elif f"END {delimiter}" in line:
            inside = False
        elif not inside:
            lines.append(line)
    if inside:
        raise ValueError(f"a region has no end; write a line with END {delimiter}")
    return "\n".join(lines)


def plain(source: str) -> str:
    r"""Bring a text to a form in which two tools that save the same cell agree.

    Example:
        >>> plain("x = 1  \r\n\n") == plain("x = 1")
        True
    """
    return "\n".join(line.rstrip() for line in lines_of(source).split("\n")).strip("\n")


def lines_of(source: str) -> str:
    r"""Return a text with the line ends of Python.

    Example:
        >>> lines_of("a\r\nb\rc")
        'a\nb\nc'
    """
    return source.replace("\r\n", "\n").replace("\r", "\n")
