"""Reads what people and earlier builds wrote, and writes so that no reader sees half a file."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from shardwise_book.errors import BookError, Problem

if TYPE_CHECKING:
    from pathlib import Path


def write_beside(path: Path, content: str) -> None:
    """Write the file so that no reader ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(content, encoding="utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def place(into: Path, name: str) -> Path:
    """Return the path of the file `name` below `into`, with its folder made.

    Raises:
        BookError: `name` leads out of `into`.
    """
    path = into / name
    if not path.resolve().is_relative_to(into.resolve()):
        remedy = "use a name that stays inside the folder of its chapter"
        raise BookError(Problem(name, None, "the file would be written outside the book", remedy))
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def write_new(into: Path, name: str, content: bytes) -> None:
    """Write the file `name` below `into`.

    Raises:
        BookError: `name` leads out of `into`, or was written already.
    """
    path = place(into, name)
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        message = "two files of the book would have this name in it"
        raise BookError(Problem(name, None, message, "rename one of them")) from None


def read_json(path: Path) -> dict[str, Any]:
    """Return what `write_beside` kept, or nothing where it is missing or damaged."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return kept if isinstance(kept, dict) else {}


def read_text(root: Path, name: str) -> str:
    """Return the text of a file that a person wrote.

    Raises:
        BookError: it is not UTF-8.
    """
    try:
        return (root / name).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"not UTF-8: {error.reason} at byte {error.start}"
        raise BookError(Problem(name, None, message, "save the file as UTF-8")) from None
