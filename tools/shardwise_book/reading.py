"""How long a chapter takes to read, from the words and the code in its source."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import yaml

from shardwise_book.files import write_beside

if TYPE_CHECKING:
    from collections.abc import Iterable

# Cells read the list and not the chapters, or every change of a chapter would run them again.
LIST = Path("chapter/contents.yml")
TITLE = re.compile(r"^# +(.*?)(?: *\{[^}]*\})?$", re.MULTILINE)

WORDS_PER_MINUTE = 180  # slow reading: there is mathematics, and there are widgets to try
LINES_PER_MINUTE = 20  # a line of code asks for as much thought as a line of text
LINES_OF_A_QUOTE = 15  # of a definition that a cell quotes from the library, on average
CELL = re.compile(r"^```\{python\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
UNSEEN = re.compile(r"#\| (?:echo: false|code-fold: true)")
QUOTE = re.compile(r'"shardwise\.[\w.]+"')
# What the source has and the page does not: link targets, attributes, the expression of a number.
MARKS = re.compile(r"(?<=\])\([^)]*\)|\{[#.][^}]*\}|`\{python\}[^`]*`")
WORD = re.compile(r"[^\W\d_]{2,}")


class Entry(TypedDict):
    """What the list says of a chapter."""

    title: str
    minutes: int


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


def note(root: Path, chapters: Iterable[str]) -> None:
    """Bring the list of titles and minutes up to date, in a project that has one.

    Args:
        root: the project's folder.
        chapters: the book's files.
    """
    file = root / LIST
    if file.is_file():
        found = {name: _entry(root / name) for name in chapters}
        text = "# Written by the builder: titles, and the minutes that reading takes.\n"
        text += yaml.safe_dump(found, sort_keys=False, allow_unicode=True)
        if text != file.read_text(encoding="utf-8"):
            write_beside(file, text)


def listed(file: Path = LIST) -> dict[str, Entry]:
    """Return title and minutes of each file of the book, as the builder listed them."""
    found: dict[str, Entry] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return found


def _entry(chapter: Path) -> Entry:
    title = TITLE.search(chapter.read_text(encoding="utf-8"))
    return {"title": title[1] if title else chapter.stem, "minutes": minutes(chapter)}


def _lines(cell: str) -> int:
    if UNSEEN.search(cell):
        return LINES_OF_A_QUOTE * len(QUOTE.findall(cell))
    return sum(bool(line.strip()) for line in cell.splitlines())
