"""The kernel's own limits for a process and its children."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if sys.platform != "win32":  # which has none, and where this package loads too
    import resource

if TYPE_CHECKING:
    from shardwise_grading.sandbox.limits import Limits

# What is above a limit is killed by the guard, who can say why, before the kernel gets there.
SPARE_PROCESSES = 32
SPARE_SECONDS = 3
PENDING_SIGNALS = 256
LOCKED_BYTES = 65536


def limit_resources(limits: Limits, others: int = 0) -> None:
    """Set the limits of this process; its children inherit them.

    Address space is twice the memory on top of what is mapped now: stacks and arenas of threads
    take much of it and touch little. When the machine runs out of memory, these processes go first.

    Args:
        limits: what all processes of the student may use.
        others: processes and threads that count as the same user's.
    """
    with suppress(OSError):  # only Linux has that file
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="utf-8")
    values = {
        "CPU": limits.cpu_seconds + SPARE_SECONDS,
        "NPROC": limits.processes + SPARE_PROCESSES + others,
        "NOFILE": limits.files,
        "FSIZE": limits.disk,
        # With 0, a program of the host that collects core dumps would still be started.
        "CORE": 1,
        "MSGQUEUE": 0,
        "SIGPENDING": PENDING_SIGNALS,
        "MEMLOCK": LOCKED_BYTES,
        "RTPRIO": 0,
        "NICE": 0,
    }
    size = Path("/proc/self/statm")
    if size.exists():
        pages = int(size.read_text(encoding="utf-8").split()[0])
        values["AS"] = pages * resource.getpagesize() + 2 * limits.memory
    for name, value in values.items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is not None:
            hard = resource.getrlimit(kind)[1]
            least = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (least, least))
