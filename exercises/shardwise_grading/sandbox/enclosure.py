"""Fork the student inside a protection, and learn in the guard whether that worked."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from shardwise_grading.sandbox import namespaces, privileges, watch
from shardwise_grading.sandbox.descriptors import clean_environment, keep_only
from shardwise_grading.sandbox.libc import call
from shardwise_grading.sandbox.protections import ProtectionError, known
from shardwise_grading.sandbox.rlimits import limit_resources

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shardwise_grading.sandbox.limits import Limits

READY = b"ready"
# What the guard looks at from outside, by descriptors that the student opened for it.
FOLDERS = ("/proc", "/tmp", "/dev/shm")
LONGEST_REASON = 4096


def enter(
    protection: str,
    limits: Limits,
    readable: Sequence[Path],
    scratch: Path | None = None,
    *,
    keep: Iterable[int],
) -> int:
    """Fork; the child is enclosed and runs the student's code, the parent is its guard.

    Call it once, in a process with one thread that was forked for it.

    Args:
        protection: one of `PROTECTIONS`.
        limits: what all processes of the student may use.
        readable: files and folders that the student may read; see `readable_paths`.
        scratch: a folder that the student may write to, where the protection has none of its own.
        keep: the descriptors that the student keeps; every other one is closed, and 0, 1 and 2
            lead nowhere unless they are among them.

    Returns:
        In the guard the process id of the student, in the student 0.

    Raises:
        ProtectionError: in the guard, when the student can't be enclosed.
        ValueError: there is no such protection.
    """
    name = known(protection)
    kept = tuple(keep)
    ours, theirs = socket.socketpair()
    try:
        uid = namespaces.prepare()
        student = os.fork()
    except OSError as error:
        raise ProtectionError(f"{name}: {error}") from None
    if student == 0:
        try:
            keep_only((*kept, theirs.fileno()))
            folders = _enclose(uid, limits, readable)
            # When the guard has ended before that line, this one fails.
            socket.send_fds(theirs, [READY], folders)
        except BaseException as error:  # noqa: BLE001 - nothing may go on outside a protection
            theirs.send(str(error).encode()[:LONGEST_REASON])
            os._exit(1)
        keep_only(kept)
        return 0
    theirs.close()
    with ours:
        message, folders, _, _ = socket.recv_fds(ours, LONGEST_REASON, len(FOLDERS))
    if message != READY:
        os.kill(student, signal.SIGKILL)
        os.waitpid(student, 0)
        raise ProtectionError(f"{name}: {message.decode() or 'the student ended at once'}")
    proc, *volumes = folders
    watch.start(student, proc, 0, volumes)
    return student


def _enclose(uid: int | None, limits: Limits, readable: Sequence[Path]) -> list[int]:
    os.setsid()
    namespaces.enclose(readable, limits.disk, uid)
    clean_environment("/tmp")
    os.chdir("/tmp")
    folders = [os.open(folder, os.O_RDONLY | os.O_DIRECTORY) for folder in FOLDERS]
    privileges.forbid_new_rights()
    if uid is not None:
        privileges.become(uid)
    privileges.drop_capabilities()
    privileges.set_dumpable(True)
    limit_resources(limits)
    call("prctl", privileges.PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    return folders
