"""The kernel's own limits for a process and its children."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shardwise_grading.sandbox.limits import Limits

# What is above a limit is killed by the guard, who can say why, before the kernel gets there.
SPARE_PROCESSES = 32
SPARE_SECONDS = 3
PENDING_SIGNALS = 256
LOCKED_BYTES = 65536


def limit_resources(limits: Limits) -> None:
    """Set the limits of this process; its children inherit them.

    Address space is twice the memory on top of what is mapped now: stacks and arenas of threads
    take much of it and touch little.
    """
    import resource  # noqa: PLC0415 - Windows has none, and this package loads there too

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    mapped = pages * resource.getpagesize()
    values = {
        resource.RLIMIT_AS: mapped + 2 * limits.memory,
        resource.RLIMIT_CPU: limits.cpu_seconds + SPARE_SECONDS,
        resource.RLIMIT_NPROC: limits.processes + SPARE_PROCESSES,
        resource.RLIMIT_NOFILE: limits.files,
        resource.RLIMIT_FSIZE: limits.disk,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: PENDING_SIGNALS,
        resource.RLIMIT_MEMLOCK: LOCKED_BYTES,
        resource.RLIMIT_RTPRIO: 0,
        resource.RLIMIT_NICE: 0,
    }
    for kind, value in values.items():
        hard = resource.getrlimit(kind)[1]
        least = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (least, least))
