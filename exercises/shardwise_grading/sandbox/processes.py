"""What /proc says of processes; of one that has ended it says nothing, which is no error."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

KIB = 2**10

_HELD = re.compile(rb"^(RssAnon|RssShmem|VmSwap|VmPTE|Threads):\s+(\d+)", re.MULTILINE)
_SHARES = re.compile(rb"^(?:Pss_Anon|Pss_Shmem|SwapPss):\s+(\d+)", re.MULTILINE)


def everybody(proc: int) -> list[int]:
    """Return the ids of all processes that a /proc folder shows.

    Args:
        proc: a descriptor of the folder.
    """
    return [int(name) for name in os.listdir(proc) if name.isdecimal()]


def descendants(proc: int, process: int) -> list[int]:
    """Return the ids of all processes that descend from one."""
    found = [process]
    for one in found:  # it grows on the way
        for task in _names(proc, f"{one}/task"):
            found += map(int, _read(proc, f"{one}/task/{task}/children").split())
    return found[1:]


def held(proc: int, process: int) -> tuple[int, int]:
    """Return the bytes of memory that a process holds, shared or not, and how many threads."""
    numbers = {name: int(value) for name, value in _HELD.findall(_read(proc, f"{process}/status"))}
    threads = numbers.pop(b"Threads", 0)
    return KIB * sum(numbers.values()), threads


def share(proc: int, process: int) -> int:
    """Return the bytes of memory that a process holds, what others hold too by its share.

    A process that lets nobody look answers for all of it.
    """
    shares = _SHARES.findall(_read(proc, f"{process}/smaps_rollup"))
    return KIB * sum(map(int, shares)) if shares else held(proc, process)[0]


def cpu_seconds(proc: int, process: int) -> float:
    """Return the seconds that the threads of a process computed."""
    # Its name stands in brackets and may hold anything.
    fields = _read(proc, f"{process}/stat").rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def sockets(proc: int, process: int) -> int:
    """Return how many Unix sockets are open in the network namespace of a process."""
    return max(_read(proc, f"{process}/net/unix").count(b"\n") - 1, 0)


def tasks_of_this_user() -> int:
    """Return how many processes and threads count against the limit of this user; root has none."""
    uid = os.geteuid()
    if uid == 0 or not Path("/proc/self").exists():
        return 0
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if folder.stat().st_uid == uid:
                count += sum(1 for _ in (folder / "task").iterdir())
    return count


def _names(proc: int, folder: str) -> list[str]:
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=proc)
        try:
            return os.listdir(descriptor)  # noqa: PTH208 - a descriptor
        finally:
            os.close(descriptor)
    return []


def _read(proc: int, name: str) -> bytes:
    with suppress(OSError):
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
            return file.read()
    return b""
