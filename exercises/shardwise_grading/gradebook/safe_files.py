"""Read files that anybody may have put there, never through a link, and write whole ones."""

from __future__ import annotations

import os
import secrets
import stat
from typing import TYPE_CHECKING, BinaryIO

from shardwise_grading.checking.texts import line

if TYPE_CHECKING:
    from pathlib import Path

FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading.

    Args:
        path: the file; nothing is waited for when it is a pipe, nothing followed when it is a link.

    Raises:
        OSError: it is no regular file, or it can't be opened.
    """
    descriptor = os.open(path, FLAGS)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"path={line(path.name)!r} is no regular file; hand in plain files")
    return os.fdopen(descriptor, "rb")


def read_regular(path: Path, limit: int) -> bytes:
    """Read the first bytes of a regular file.

    Args:
        path: the file.
        limit: how many bytes at most.

    Raises:
        OSError: it is no regular file, or it can't be read.
    """
    with open_regular(path) as file:
        return file.read(limit)


def write_beside(path: Path, content: bytes) -> Path:
    """Write a file beside its place, then rename it, so that nobody sees half of it.

    Args:
        path: where it goes; missing folders are made.
        content: all of it.

    Returns:
        The path.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{secrets.token_hex(8)}.new")
    try:
        beside.write_bytes(content)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return path
