"""The folder of the built book: what may be replaced, and how the new one takes its place."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shardwise_book.errors import BookError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

WORK = Path(".shardwise")
MARK = ".shardwise-book"


def refuse_strange(root: Path, target: Path) -> None:
    """Replace only what is a book: an output folder mistyped as one's home must survive.

    Raises:
        BookError: `target` holds the project of the folder `root`, or something else of value.
    """
    if root.is_relative_to(target):
        wrong = "holds the project"
    elif target.is_dir() and any(target.iterdir()) and not _is_book(target):
        wrong = "holds files that are not a built book"
    elif target.exists() and not target.is_dir():
        wrong = "is a file"
    else:
        return
    problem = Problem(
        str(target), None, f"the output folder {wrong}", "name a new or an empty folder"
    )
    raise BookError(problem)


@contextmanager
def space_beside(root: Path, target: Path) -> Iterator[Path]:
    """Give an empty folder on the disk of `target`, from which the new book can be renamed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    place = root / WORK if target.is_relative_to(root) else target.parent
    place.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".shardwise-book-", dir=place) as folder:
        yield Path(folder)


def put(new: Path, target: Path, old: Path) -> None:
    """Put `new` in the place of `target`, which moves to `old`; on failure it moves back."""
    if not target.exists():
        new.rename(target)
        return
    target.rename(old)
    try:
        new.rename(target)
    except BaseException:
        old.rename(target)
        raise


def _is_book(folder: Path) -> bool:
    """Return whether one of the two engines made the folder."""
    return (folder / "index.html").is_file() and any(
        (folder / name).exists() for name in (MARK, "site_libs")
    )
