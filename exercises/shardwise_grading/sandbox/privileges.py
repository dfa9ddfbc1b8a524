"""Give up rights for good: user, capabilities, and the life after the parent's."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

from shardwise_grading.sandbox.libc import call

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

CAPABILITY_VERSION = 0x20080522
HIGHEST_CAPABILITY = 63

# No system hands out user ids above this one, and with one for each student the kernel counts the
# processes of each by themselves.
FIRST_UID = 0x70000000
NOBODY = 65534


def die_with(parent: int) -> None:
    """Let the kernel kill this process when the one that forked it ends.

    Args:
        parent: the process id of the parent, as it knew itself before the fork.
    """
    die_with_guard()
    if os.getppid() != parent:  # it ended before the line above
        os._exit(1)


def die_with_guard() -> None:
    """Let the kernel kill this process when its parent ends, unless that has happened already.

    A change of user undoes it.
    """
    if sys.platform == "linux":
        call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, so that all stay in sight."""
    if sys.platform == "linux":
        call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def unused_uid() -> int:
    """Return the id of a user who owns no other process, as far as this system has one."""
    own = FIRST_UID + os.getpid()
    lines = Path("/proc/self/uid_map").read_text(encoding="utf-8").splitlines()
    ranges = [[int(number) for number in line.split()] for line in lines]
    # A container that maps few ids has no such user.
    return own if any(first <= own < first + count for first, _, count in ranges) else NOBODY


def become(uid: int) -> None:
    """As root, become another user with a group of the same number, for good."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def forbid_new_rights() -> None:
    """Let no program that this process executes have more rights than it has itself."""
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for capability in range(HIGHEST_CAPABILITY + 1):
        try:
            call("prctl", PR_CAPBSET_DROP, capability, 0, 0, 0)
        except OSError:  # the kernel knows no more, or this process has no right to
            return


def drop_capabilities() -> None:
    """Give up every capability that this process has."""
    call("capset", (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)())


def set_dumpable() -> None:
    """Let this process look into its own /proc folder; after a change of user it may not."""
    call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)
