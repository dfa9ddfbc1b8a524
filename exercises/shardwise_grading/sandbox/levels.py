"""What each protection does, in the guard before the fork and in the student after it."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shardwise_grading.sandbox import landlock, namespaces, privileges, seccomp
from shardwise_grading.sandbox.descriptors import clean_environment
from shardwise_grading.sandbox.mounts import DEVICES, SCRATCH
from shardwise_grading.sandbox.rlimits import limit_resources
from shardwise_grading.sandbox.watch import View

if TYPE_CHECKING:
    from collections.abc import Callable

    from shardwise_grading.sandbox.limits import Limits

# What the C library, torch and Python ask about the machine and their own process.
ASKED = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu")


@dataclass(frozen=True, slots=True)
class Room:
    """What a student's process is given.

    Args:
        limits: what it may use.
        readable: files and folders that it may read.
        scratch: the folder that it may write to; None where the level brings its own.
        others: processes and threads that this user has already.
    """

    limits: Limits
    readable: tuple[Path, ...]
    scratch: Path | None
    others: int

    @property
    def home(self) -> Path:
        """The folder that it starts in."""
        return self.scratch or Path(SCRATCH[0])


@dataclass(frozen=True, slots=True)
class Level:
    """One protection.

    Args:
        own_scratch: whether it brings a scratch folder of its own.
        prepare: called in the guard before the fork; returns the user to become, None to stay.
        enclose: called in the student after it; returns descriptors for the guard.
    """

    own_scratch: bool
    prepare: Callable[[Room], int | None]
    enclose: Callable[[Room, int | None], list[int]]


def view(room: Room, folders: list[int]) -> View:
    """Say where the guard sees its student, from what `enclose` returned there."""
    if folders:
        return View(folders[0], volumes=tuple(folders[1:]))
    proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    return View(proc, guard=os.getpid(), folder=room.scratch)


def _in_namespaces(room: Room, uid: int | None) -> list[int]:
    namespaces.enclose(room.readable, room.limits.disk, uid)
    folders = [os.open(name, os.O_RDONLY | os.O_DIRECTORY) for name in ("/proc", *SCRATCH)]
    _settle(room, uid)
    # Two more walls around the first; a kernel without them doesn't take the first away.
    if landlock.version():
        landlock.restrict([Path("/")], _writable(*SCRATCH))
    with suppress(OSError):
        seccomp.restrict(alone=False)
    return folders


def _behind_landlock(room: Room, uid: int | None) -> list[int]:
    _settle(room, uid)
    landlock.restrict([*room.readable, *map(Path, ASKED)], _writable(room.home))
    seccomp.restrict(alone=True)
    return []


def _as_another_user(room: Room, uid: int | None) -> list[int]:
    _settle(room, uid)
    seccomp.restrict(alone=True)
    return []


def _within_limits(room: Room, _: int | None) -> list[int]:
    clean_environment(room.home)
    limit_resources(room.limits, room.others)
    privileges.die_with_guard()
    return []


def _settle(room: Room, uid: int | None) -> None:
    clean_environment(room.home)
    privileges.forbid_new_rights()
    if uid is not None:
        if room.scratch is not None:
            os.chown(room.scratch, uid, uid)
        privileges.become(uid)
    privileges.drop_capabilities()
    privileges.set_dumpable()
    limit_resources(room.limits, room.others)
    privileges.die_with_guard()


def _writable(*folders: str | Path) -> list[Path]:
    return [*map(Path, folders), *(Path("/dev", name) for name in DEVICES)]


def _another_user_if_root(room: Room) -> int | None:
    # Without capabilities root is a user like others, but the owner of many files.
    return privileges.unused_uid() if os.geteuid() == 0 and not _closed(room) else None


def _another_user(room: Room) -> int:
    if os.geteuid() != 0:
        raise OSError(errno.EPERM, "only root can change to another user")
    if closed := _closed(room):
        raise OSError(errno.EACCES, f"{closed} is closed to other users")
    return privileges.unused_uid()


def _closed(room: Room) -> Path | None:
    """Return the first folder that another user couldn't pass on the way to what is needed."""
    for path in (*room.readable, room.home):
        for folder in path.resolve().parents:
            if not folder.stat().st_mode & stat.S_IXOTH:
                return folder
    return None


LEVELS = {
    "namespaces": Level(True, lambda _: namespaces.prepare(), _in_namespaces),
    "landlock": Level(False, _another_user_if_root, _behind_landlock),
    "user": Level(False, _another_user, _as_another_user),
    "none": Level(False, lambda _: None, _within_limits),
}
