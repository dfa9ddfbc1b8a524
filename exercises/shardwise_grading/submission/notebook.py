"""The cells of a student's notebook file, as far as grading looks at them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shardwise_grading.submission.spans import (
    MAX_SHORT,
    BrokenError,
    Span,
    is_utf8,
    items,
    members,
    short,
    skip_space,
    text,
)
from shardwise_grading.submission.text import lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shardwise_grading.records import Kind

MAX_SOURCE = 1_000_000
MAX_SOURCES = 5_000_000
FORMAT = 4
LONGEST = 40
KINDS: dict[object, Kind] = {
    "code": "code",
    "markdown": "markdown",
    "raw": "raw",
    "heading": "markdown",  # of format 3, as html
    "html": "markdown",
}
# No interpreter compiles the one, and no file and no database takes the others.
UNFIT = re.compile("[\\x00\\ud800-\\udfff]")
SILENCING = ("skip-execution", "raises-exception")
SETTINGS = ("grade", "locked", "points", "solution", "task")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a student's notebook.

    Args:
        kind: its type; raw text when the file names none.
        source: its text, with the line ends of Python.
        grade_id: nbgrader's name for it, or nothing.
        cell_id: the notebook format's own id, or nothing.
        settings: what its metadata claim to nbgrader, as far as it is plain.
        tags: those of its tags that would keep a test from failing.
        fault: what could not be read of it; empty when all could.
    """

    kind: Kind
    source: str
    grade_id: str = ""
    cell_id: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    fault: str = ""


def read_cells(content: bytes) -> tuple[list[Cell], list[str]]:
    """Read the cells of a notebook file, and notes on the file.

    Outputs, attachments and other metadata are not looked at, so nothing in them matters.

    Raises:
        BrokenError: no cells can be read; the message says why.
    """
    data, notes = _as_utf8(content)
    start = skip_space(data, 0)
    if not data[start:]:
        raise BrokenError("it is empty")
    if data[start : start + 1] != b"{":
        raise BrokenError("it is no notebook, which starts with a brace")
    places = members(data, start)
    cells_at = list(_cell_places(data, places))
    behind = skip_space(data, max(end for _, end in places.values())) + 1
    if skip_space(data, behind) < len(data):
        raise BrokenError("it goes on behind the end of the notebook")
    version = short(data, *places["nbformat"]) if "nbformat" in places else None
    if version != FORMAT:
        notes.append(f"the file says that its format is {show(version)}; it was read as {FORMAT}")
    cells: list[Cell] = []
    room = MAX_SOURCES
    for number, (at, _) in enumerate(cells_at, start=1):
        cell = _read_cell(data, at, room)
        room -= len(cell.source)
        cells.append(cell)
        if cell.fault:
            notes.append(f"cell {number} {cell.fault}")
    return cells, notes


def show(value: object) -> str:
    """Show what a student's file says, short and on one line.

    Example:
        >>> show("stage2"), show(None)
        ("'stage2'", 'nothing')
    """
    shown = "nothing" if value is None else ascii(value)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 3]}..."


def _as_utf8(content: bytes) -> tuple[bytes, list[str]]:
    encoding = json.detect_encoding(content)
    if encoding == "utf-8-sig":
        return content.removeprefix(b"\xef\xbb\xbf"), []
    if encoding == "utf-8":
        return content, []
    data = content.decode(encoding, "replace").encode("utf-8", "replace")
    return data, [f"the file is saved as {encoding.upper()}; it was read as that"]


def _cell_places(data: bytes, places: Mapping[str, Span]) -> Iterator[Span]:
    """Where the cells are: in a list of their own, or in the worksheets of format 3."""
    if "cells" in places:
        yield from items(data, places["cells"][0])
    elif "worksheets" in places:
        for at, _ in items(data, places["worksheets"][0]):
            yield from items(data, members(data, at).get("cells", (at, at))[0])
    else:
        raise BrokenError("it has no cells")


def _read_cell(data: bytes, at: int, room: int) -> Cell:
    """Read one cell; what is wrong with it stays its own fault."""
    try:
        places = members(data, at)
    except BrokenError:
        return Cell("raw", "", fault="is no cell")
    named = _short_of(data, places, "cell_type")
    kind = KINDS.get(named) if isinstance(named, str) else None
    source, fault = _source(data, places.get("source") or places.get("input"), room)
    if kind is None and not fault:
        fault = f"has the type {show(named)}, which is none"
    metadata = _object_of(data, places, "metadata")
    claims = _object_of(data, metadata, "nbgrader")
    return Cell(
        kind or "raw",
        source,
        _name(_short_of(data, claims, "grade_id")),
        _name(_short_of(data, places, "id")),
        {key: _short_of(data, claims, key) for key in SETTINGS if key in claims},
        _tags(data, metadata),
        fault,
    )


def _source(data: bytes, place: Span | None, room: int) -> tuple[str, str]:
    """The text of a cell, and what is wrong with it."""
    if place is None:
        return "", "has no text"
    start, end = place
    if end - start > min(MAX_SOURCE, room):
        return "", f"holds {end - start:,} bytes of text, which is too much; it was left out"
    found = text(data, start, end)
    if found is None:
        return "", "has something else in place of its text; it was left out"
    source = UNFIT.sub("\ufffd", lines_of(found))
    whole = source.count("\ufffd") == found.count("\ufffd") and is_utf8(data[start:end])
    return source, "" if whole else "holds bytes that are no characters; they became \ufffd"


def _object_of(data: bytes, places: Mapping[str, Span], key: str) -> dict[str, Span]:
    """The members of a member; nothing when it is no object."""
    try:
        return members(data, places[key][0]) if key in places else {}
    except BrokenError:
        return {}


def _tags(data: bytes, metadata: Mapping[str, Span]) -> tuple[str, ...]:
    """Those of a cell's tags that would silence a test, where there are no more than usual."""
    start, end = metadata.get("tags", (0, MAX_SHORT + 1))
    if end - start > MAX_SHORT:
        return ()
    try:
        tags = json.loads(data[start:end].decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return ()
    return tuple(tag for tag in SILENCING if isinstance(tags, list) and tag in tags)


def _short_of(data: bytes, places: Mapping[str, Span], key: str) -> object:
    return short(data, *places[key]) if key in places else None


def _name(value: object) -> str:
    return value if isinstance(value, str) else ""
