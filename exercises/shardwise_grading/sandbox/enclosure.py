"""Fork the student inside a protection, and learn in the guard whether that worked."""

from __future__ import annotations

import os
import signal
import socket
from typing import TYPE_CHECKING

from shardwise_grading.sandbox import levels, privileges, processes, watch
from shardwise_grading.sandbox.descriptors import keep_only
from shardwise_grading.sandbox.protections import ProtectionError, known

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from shardwise_grading.sandbox.limits import Limits

READY = b"ready"
LONGEST_REASON = 4096
MOST_DESCRIPTORS = 8
PATIENCE = 60.0  # seconds; a file system that hangs would otherwise hold the guard for ever


def enter(
    protection: str,
    limits: Limits,
    readable: Sequence[Path],
    scratch: Path | None = None,
    *,
    keep: Iterable[int],
) -> int:
    """Fork; the child is enclosed and runs the student's code, the parent is its guard.

    Call it once, in a process with one thread that was forked for it: what it does to the guard
    can't be undone.

    Args:
        protection: one of `PROTECTIONS`, but for ``"bubblewrap"``, which can't enclose a fork.
        limits: what all processes of the student may use.
        readable: files and folders that the student may read; see `readable_paths`.
        scratch: a folder that the student may write to; ``"namespaces"`` needs none.
        keep: the descriptors that the student keeps; every other one is closed, and 0, 1 and 2
            lead nowhere unless they are among them.

    Returns:
        In the guard the process id of the student, in the student 0.

    Raises:
        ProtectionError: in the guard, when the student can't be enclosed.
        ValueError: there is no such protection, or it needs a scratch folder.
    """
    level = levels.LEVELS.get(known(protection))
    if level is None:
        raise ValueError(f"protection={protection!r} encloses no fork; see bubblewrap_command")
    if scratch is None and not level.own_scratch:
        raise ValueError(f"scratch=None: {protection!r} needs a folder; make an empty one")
    own = None if level.own_scratch else scratch
    room = levels.Room(limits, tuple(readable), own, processes.tasks_of_this_user())
    kept = tuple(keep)
    ours, theirs = socket.socketpair()
    try:
        privileges.adopt_orphans()
        uid = level.prepare(room)
        student = os.fork()
    except OSError as error:
        raise ProtectionError(error.strerror) from None
    if student == 0:
        _become_student(level, room, uid, theirs, kept)
        return 0
    theirs.close()
    ours.settimeout(PATIENCE)
    try:
        with ours:
            message, folders, _, _ = socket.recv_fds(ours, LONGEST_REASON, MOST_DESCRIPTORS)
    except TimeoutError:
        message, folders = f"nothing happened within {PATIENCE:g} s".encode(), []
    if message != READY:
        os.kill(student, signal.SIGKILL)
        os.waitpid(student, 0)
        raise ProtectionError(message.decode() or "the student's process ended at once")
    watch.start(student, levels.view(room, folders))
    return student


def _become_student(
    level: levels.Level,
    room: levels.Room,
    uid: int | None,
    guard: socket.socket,
    keep: tuple[int, ...],
) -> None:
    try:
        os.setsid()
        keep_only((*keep, guard.fileno()))
        folders = level.enclose(room, uid)
        # Where the guard ended before it could take the student with it, this fails.
        socket.send_fds(guard, [READY], folders)
    except BaseException as error:  # noqa: BLE001 - nothing may go on outside a protection
        reason = error.strerror if isinstance(error, OSError) else repr(error)
        try:
            guard.send(str(reason).encode()[:LONGEST_REASON])
        finally:
            os._exit(1)
    keep_only(keep)
