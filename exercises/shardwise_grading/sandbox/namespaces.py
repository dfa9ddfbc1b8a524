"""Namespaces: files, processes, network, names and users of a student's own."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from shardwise_grading.sandbox import privileges
from shardwise_grading.sandbox.libc import call
from shardwise_grading.sandbox.mounts import change_root

if TYPE_CHECKING:
    from collections.abc import Sequence

NEW_MOUNTS, NEW_CGROUPS, NEW_NAMES = 0x00020000, 0x02000000, 0x04000000
NEW_IPC, NEW_USERS, NEW_PIDS, NEW_NETWORK = 0x08000000, 0x10000000, 0x20000000, 0x40000000
EVERY_NAMESPACE = (
    NEW_MOUNTS | NEW_CGROUPS | NEW_NAMES | NEW_IPC | NEW_USERS | NEW_PIDS | NEW_NETWORK
)


def prepare() -> int | None:
    """In the guard: let the next child be the first process of a PID namespace.

    Without the rights of root that takes a user namespace around it.

    Returns:
        The user to become inside; None to stay who one is.

    Raises:
        OSError: the kernel refuses.
    """
    if os.geteuid() == 0:
        with suppress(PermissionError):  # root in a container may have no such right
            call("unshare", NEW_PIDS)
            return privileges.unused_uid()
    uid, gid = os.getuid(), os.getgid()
    privileges.set_dumpable()  # else the maps belong to root
    call("unshare", NEW_USERS | NEW_PIDS)
    Path("/proc/self/setgroups").write_text("deny", encoding="utf-8")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", encoding="utf-8")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", encoding="utf-8")
    return None


def enclose(readable: Sequence[Path], disk: int, uid: int | None) -> None:
    """In the child: leave the files, the network and the names of the host.

    Args:
        readable: files and folders that stay visible.
        disk: bytes that each scratch folder may hold.
        uid: who will own the scratch folders; None for the user of this process.

    Raises:
        OSError: the kernel refuses.
    """
    call("unshare", NEW_MOUNTS | NEW_NETWORK | NEW_IPC | NEW_NAMES)
    with suppress(OSError):  # not every kernel is built with it, and it only hides a name
        call("unshare", NEW_CGROUPS)
    call("sethostname", b"student", len(b"student"))
    owner = (os.getuid(), os.getgid()) if uid is None else (uid, uid)
    change_root(readable, disk, owner)
