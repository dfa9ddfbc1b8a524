"""The guard of one student: outside the sandbox, between the warm parent and the student."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from shardwise_grading.sandbox import stop, watch

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from shardwise_grading.sandbox import Limits

EVERY = 0.05  # seconds between two looks at what a student holds


@contextlib.contextmanager
def scratch(*, needed: bool) -> Iterator[Path | None]:
    """Make a folder that one student may write to, and remove it with whatever is in it."""
    if not needed:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="shardwise-student-"))
    try:
        yield folder
    finally:
        # A tree may be nested deeper than Python can follow.
        subprocess.run(["rm", "-rf", "--", folder], check=False)


def guard(student: int, limits: Limits, lifeline: socket.socket) -> None:
    """Wait until a student ends, and end it when a limit is reached or nobody asks for it any more.

    What this sends is JSON: first the ``student``, by its process id, and last how it ended:
    ``status`` as `os.waitpid` gives it, and ``reason`` where a limit was reached.

    Args:
        student: the process; all others of its namespace end with it.
        limits: what it may hold.
        lifeline: closed by the checking process when it is done with the student.
    """
    ended = os.pidfd_open(student)
    tell(lifeline, student=student)
    reason = ""
    while not reason:
        ready, _, _ = select.select([ended, lifeline.fileno()], [], [], EVERY)
        if ready:
            break
        reason = watch(student, limits)
    stop(student)
    _, status = os.waitpid(student, 0)
    tell(lifeline, status=status, reason=reason)


def tell(lifeline: socket.socket, **facts: object) -> None:
    """Send the checking process something about a student, where it still listens."""
    with contextlib.suppress(OSError):
        lifeline.send(json.dumps(facts).encode())
