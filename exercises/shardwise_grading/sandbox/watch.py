"""What all processes of a student hold, seen from the guard."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardwise_grading.sandbox.limits import Limits

GIB, MIB, KIB = 2**30, 2**20, 2**10

_STATUS = re.compile(rb"^(RssAnon|RssShmem|VmSwap|VmPTE|Threads):\s+(\d+)", re.MULTILINE)
_SHARES = re.compile(rb"^(?:Pss_Anon|Pss_Shmem|SwapPss):\s+(\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class View:
    """Where the guard sees its student.

    Args:
        proc: a descriptor of a /proc folder.
        process: the student's id there; 0 when all processes there are the student's.
        volumes: descriptors of file systems that belong to the student.
        inherited: bytes that the student shared with the warm parent at the start.
    """

    proc: int
    process: int
    volumes: tuple[int, ...]
    inherited: int


_views: dict[int, View] = {}


def start(student: int, proc: int, process: int, volumes: Sequence[int]) -> None:
    """Remember where a student is seen, and what it holds at the start.

    Args:
        student: the process id that `watch` will be asked for.
        proc: a descriptor of the /proc folder to look into; it stays open.
        process: the student's id there; 0 when all processes there are the student's.
        volumes: descriptors of the student's own file systems; they stay open.
    """
    view = View(proc, process, tuple(volumes), 0)
    inherited = sum(_status(view, one)[0] for one in _processes(view))
    _views[student] = View(proc, process, tuple(volumes), inherited)


def watch(student_pid: int, limits: Limits) -> str:
    """Say why a student has to be stopped, in the guard that `enter` made.

    Returns:
        A sentence without its subject, or an empty string while all is well.

    Raises:
        KeyError: `enter` did not return that process id here.
    """
    view = _views[student_pid]
    processes = _processes(view)
    states = [_status(view, process) for process in processes]
    if sum(tasks for _, tasks in states) > limits.processes:
        return f"ran more than {limits.processes} processes and threads at once"
    if any(_cpu_seconds(view, process) > limits.cpu_seconds for process in processes):
        return f"computed for more than {limits.cpu_seconds} seconds in one process"
    stored = sum(_stored(volume) for volume in view.volumes) - view.inherited
    # What forked processes share is counted once for each, and only that sum is cheap.
    if stored + sum(held for held, _ in states) > limits.memory:
        held = stored + sum(_own(view, *pair) for pair in zip(processes, states, strict=True))
        if held > limits.memory:
            return f"held more than {_size(limits.memory)} of memory"
    return ""


def _processes(view: View) -> list[int]:
    if view.process:
        return [view.process]
    return [int(name) for name in os.listdir(view.proc) if name.isdecimal()]  # noqa: PTH208 - a descriptor


def _read(view: View, name: str) -> bytes:
    """Read a file of /proc; it is empty when its process has ended."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=view.proc)
    except OSError:
        return b""
    with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123 - a descriptor
        try:
            return file.read()
        except OSError:
            return b""


def _status(view: View, process: int) -> tuple[int, int]:
    """Bytes that a process holds, shared or not, and its threads."""
    numbers = {
        name: int(value) for name, value in _STATUS.findall(_read(view, f"{process}/status"))
    }
    tasks = numbers.pop(b"Threads", 0)
    return KIB * sum(numbers.values()), tasks


def _own(view: View, process: int, state: tuple[int, int]) -> int:
    """Bytes of a process, those that others hold too by its share."""
    shares = _SHARES.findall(_read(view, f"{process}/smaps_rollup"))
    return KIB * sum(map(int, shares)) if shares else state[0]


def _cpu_seconds(view: View, process: int) -> float:
    # The name of a process stands in brackets and may hold anything.
    fields = _read(view, f"{process}/stat").rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def _stored(volume: int) -> int:
    state = os.fstatvfs(volume)
    return (state.f_blocks - state.f_bfree) * state.f_frsize


def _size(number: int) -> str:
    """Write bytes for people.

    Example:
        >>> _size(1536 * MIB), _size(1000)
        ('1.5 GiB', '1000 bytes')
    """
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if number >= unit:
            return f"{number / unit:.3g} {name}"
    return f"{number} bytes"
