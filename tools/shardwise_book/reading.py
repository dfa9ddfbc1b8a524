"""How long a chapter takes to read, from the words and the code in its source."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

WORDS_PER_MINUTE = 180  # slow reading: there is mathematics, and there are widgets to try
LINES_PER_MINUTE = 20  # a line of code asks for as much thought as a line of text
LINES_OF_A_QUOTE = 15  # of a definition that a cell quotes from the library, on average
CELL = re.compile(r"^```\{python\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
UNSEEN = re.compile(r"#\| (?:echo: false|code-fold: true)")
QUOTE = re.compile(r'"shardwise\.[\w.]+"')
# What the source has and the page does not: link targets, attributes, the expression of a number.
MARKS = re.compile(r"(?<=\])\([^)]*\)|\{[#.][^}]*\}|`\{python\}[^`]*`")
WORD = re.compile(r"[^\W\d_]{2,}")


def minutes(chapter: Path) -> int:
    """Return the minutes that reading a `.qmd` file takes, at least one.

    Words of the text and lines of the code that the page shows; what is folded away or never
    shown takes no time.

    Args:
        chapter: the file.
    """
    text = chapter.read_text(encoding="utf-8")
    words = len(WORD.findall(MARKS.sub("", CELL.sub("", text))))
    lines = sum(map(_lines, CELL.findall(text)))
    return max(1, round(words / WORDS_PER_MINUTE + lines / LINES_PER_MINUTE))


def _lines(cell: str) -> int:
    if UNSEEN.search(cell):
        return LINES_OF_A_QUOTE * len(QUOTE.findall(cell))
    return sum(bool(line.strip()) for line in cell.splitlines())
