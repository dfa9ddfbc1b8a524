"""The folder of the built book: what may be replaced, and how the new one takes its place."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shardwise_book.errors import BookError, Problem

try:
    import fcntl
except ImportError:  # not on Windows; leftovers are swept there without waiting
    fcntl = None  # type: ignore[assignment]

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
    prefix = f".shardwise-book-{target.name}-"
    with _alone_in(place):
        for left in place.glob(f"{glob.escape(prefix)}*"):
            _sweep(left, target)
        with tempfile.TemporaryDirectory(prefix=prefix, dir=place) as folder:
            yield Path(folder)


@contextmanager
def _alone_in(place: Path) -> Iterator[None]:
    """Wait until no other build works in the folder; one that was killed holds nothing."""
    if fcntl is None:
        yield
        return
    handle = os.open(place, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _sweep(left: Path, target: Path) -> None:
    """Remove what a killed build left, and put the book back that it had moved away."""
    if (left / "old").is_dir() and not target.exists():
        (left / "old").rename(target)
    shutil.rmtree(left, ignore_errors=True)


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
