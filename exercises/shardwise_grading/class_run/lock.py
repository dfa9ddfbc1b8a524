"""One run on a course at a time."""

from __future__ import annotations

import fcntl
import os
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class CourseBusyError(RuntimeError):
    """Another run holds the course."""


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold a course for the length of a ``with`` block.

    The kernel frees the lock when its holder ends, in whatever way, so that a run that was killed
    is no obstacle to the next.

    Args:
        path: the file to lock, made when missing; it says who holds it and is left behind.

    Raises:
        CourseBusyError: another process holds it; the message says which.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            holder = " ".join(file.read().split()) or "another process"
            raise CourseBusyError(
                f"{holder} grades this course already; wait for it, or stop it"
            ) from None
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        yield
