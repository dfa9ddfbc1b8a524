"""What all processes of a student hold together, seen from the guard."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shardwise_grading.sandbox import processes
from shardwise_grading.sandbox.limits import in_words
from shardwise_grading.sandbox.scratch import overflow

if TYPE_CHECKING:
    from pathlib import Path

    from shardwise_grading.sandbox.limits import Limits

# What the kernel may keep in the buffers of one socket, at its default settings.
SOCKET_BYTES = 2 * 212_992

# One that ends in the middle leaves its share to others, and so is counted twice.
MEASUREMENTS = 3


@dataclass(frozen=True, slots=True)
class View:
    """Where the guard sees its student.

    Args:
        proc: a descriptor of a /proc folder.
        guard: the guard's own id there; 0 when all processes there are the student's.
        volumes: descriptors of file systems in memory that belong to the student.
        folder: a folder on disk that the student may write to.
        inherited: bytes that the student shared with the warm parent at the start.
    """

    proc: int
    guard: int = 0
    volumes: tuple[int, ...] = ()
    folder: Path | None = None
    inherited: int = 0

    def processes(self) -> list[int]:
        """Ids of all processes of the student."""
        if self.guard:
            return processes.descendants(self.proc, self.guard)
        return processes.everybody(self.proc)


_views: dict[int, View] = {}


def start(student: int, view: View) -> None:
    """Remember where a student is seen, and what it holds at the start.

    Args:
        student: the process id that `watch` will be asked for.
        view: where it is seen; its descriptors stay open.
    """
    inherited = sum(processes.held(view.proc, process)[0] for process in view.processes())
    _views[student] = replace(view, inherited=inherited)


def watch(student_pid: int, limits: Limits) -> str:
    """Say why a student has to be stopped, in the guard that `enter` made.

    Returns:
        A sentence without its subject, or an empty string while all is well.

    Raises:
        KeyError: `enter` did not return that process id here.
    """
    view = _views[student_pid]
    alive = view.processes()
    holdings = [processes.held(view.proc, process) for process in alive]
    if sum(tasks for _, tasks in holdings) > limits.processes:
        return f"ran more than {limits.processes} processes and threads at once"
    if any(processes.cpu_seconds(view.proc, one) > limits.cpu_seconds for one in alive):
        return f"computed for more than {limits.cpu_seconds} seconds in one process"
    if _memory(view, alive, [size for size, _ in holdings], limits.memory) > limits.memory:
        return f"held more than {in_words(limits.memory)} of memory"
    return overflow(view.folder, limits.disk) if view.folder else ""


def stop(student_pid: int) -> None:
    """Kill a student with all its processes, in the guard that `enter` made.

    The guard still has to wait for it.

    Raises:
        KeyError: `enter` did not return that process id here.
    """
    view, killed = _views[student_pid], {student_pid}
    with suppress(ProcessLookupError):
        os.kill(student_pid, signal.SIGKILL)  # in namespaces, all others end with it
    while view.guard and (more := set(view.processes()) - killed):
        for process in more:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        killed |= more


def _memory(view: View, alive: list[int], sizes: list[int], limit: int) -> int:
    stored = sum(map(_stored, view.volumes)) - view.inherited
    if alive and not view.guard:  # else the network, and so the list, is that of the host
        stored += SOCKET_BYTES * processes.sockets(view.proc, alive[0])
    # What forked processes share is counted for each, and only that sum is cheap.
    held = stored + sum(sizes)
    for _ in range(MEASUREMENTS):
        if held <= limit:
            break
        held = stored + sum(processes.share(view.proc, process) for process in view.processes())
    return held


def _stored(volume: int) -> int:
    state = os.fstatvfs(volume)
    return (state.f_blocks - state.f_bfree) * state.f_frsize
