"""Read a student's notebook file, whatever is in it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from shardwise_grading.records import Script
from shardwise_grading.submission.arrange import arrange, notes_on
from shardwise_grading.submission.match import find, is_recognized
from shardwise_grading.submission.notebook import read_cells, show
from shardwise_grading.submission.spans import BrokenError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardwise_grading.submission.layout import Layout

MAX_BYTES = 20_000_000
MAX_NOTES = 20
MEGABYTE = 1_000_000


def read_script(layout: Layout, content: bytes | None) -> Script:
    """Bring what a student handed in into the order and the cells of the instructor's notebook.

    Nothing in the content makes this raise, compile or run anything.

    Args:
        layout: the instructor's notebook.
        content: the bytes of the student's file; None when there is no such file.

    Returns:
        What is to be run, or why nothing of it can be graded.
    """
    if content is None:
        return Script(layout.name, problem=missing(layout.name))
    if len(content) > MAX_BYTES:
        return Script(layout.name, problem=f"the notebook {too_large(len(content))}")
    try:
        cells, notes = read_cells(content)
    except BrokenError as error:
        return Script(layout.name, problem=f"the file can't be read: {error}")
    match = find(layout, cells)
    if not is_recognized(layout, cells, match):
        return Script(layout.name, problem="the file holds no cell of this notebook")
    notes += notes_on(layout, cells, match)
    if len(notes) > MAX_NOTES:
        notes = [*notes[: MAX_NOTES - 1], f"and {len(notes) - MAX_NOTES + 1} notes more"]
    return Script(layout.name, arrange(layout, cells, match), tuple(notes))


def missing(name: str, others: Sequence[str] = ()) -> str:
    """Say that a notebook isn't there, and which other one may be it.

    Args:
        name: the notebook without its ending.
        others: names of notebooks that are there and that nobody asked for.

    Example:
        >>> missing("5-microbatches", ["notes", "5-microbatches (1)"])
        "there is no 5-microbatches.ipynb; '5-microbatches (1).ipynb' may be it: rename it"
    """
    similar = [other for other in others if name in other] or get_close_matches(name, others, 1)
    if not similar:
        return f"there is no {name}.ipynb"
    return f"there is no {name}.ipynb; {show(f'{similar[0]}.ipynb')} may be it: rename it"


def too_large(num_bytes: int) -> str:
    """Say that a file is too large to be read.

    Example:
        >>> too_large(104_000_000)
        'is 104 MB, and the limit is 20 MB; clear the outputs and hand it in again'
    """
    return (
        f"is {num_bytes / MEGABYTE:.0f} MB, and the limit is {MAX_BYTES // MEGABYTE} MB; "
        "clear the outputs and hand it in again"
    )
