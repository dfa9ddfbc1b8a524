"""The warm parent: torch and IPython imported once, one thread, and a fork for each student.

It starts with an environment of its own and imports neither hidden checks nor seed nor gradebook:
a fork inherits all memory, so what is not here can't be found by a student. Started as
``python -m shardwise_grading.student.warm DESCRIPTOR``, where the descriptor is a Unix socket;
each message on it orders one student and brings two sockets, the channel and the lifeline.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shardwise_grading.student.cells import Shell

ORDER_BYTES = 1 << 16


def main(descriptor: int) -> None:
    """Import what students need, then fork a guard for each order until the other end closes."""
    control = socket.socket(fileno=descriptor)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # a worker may have blocked an interrupt
    itself = os.getpid()
    shell = warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the guards
    control.send(b"ready")
    while True:
        content, descriptors, _, _ = socket.recv_fds(control, ORDER_BYTES, 2)
        if not content:
            return
        channel, lifeline = (socket.socket(fileno=number) for number in descriptors)
        if os.fork() == 0:
            with contextlib.suppress(BaseException):
                _guard(json.loads(content), channel, lifeline, shell, itself)
            os._exit(0)
        channel.close()
        lifeline.close()


def warm_up() -> Shell:
    """Import and run once whatever a student would have to wait for."""
    import torch  # noqa: PLC0415

    import shardwise.data_parallel  # noqa: PLC0415
    import shardwise.distributed  # noqa: PLC0415
    import shardwise.pipeline  # noqa: PLC0415
    import shardwise.ring_attention  # noqa: PLC0415
    import shardwise.tensor_parallel  # noqa: F401, PLC0415
    import shardwise_grading.student.serve  # noqa: F401, PLC0415
    from shardwise_grading.products import ProductRows  # noqa: PLC0415
    from shardwise_grading.student.cells import make_shell, run_cell  # noqa: PLC0415

    torch.set_num_threads(1)  # a pool of threads would not survive a fork
    weight = torch.ones(2, 2, requires_grad=True)
    with ProductRows():
        (weight @ weight).sum().backward()  # type: ignore[no-untyped-call]
    torch.func.vmap(torch.func.grad(lambda x: (x * x).sum()))(torch.ones(2, 2))
    shell = make_shell()
    run_cell(shell, "'warm'\n", 10, 100)
    shell.reset()  # type: ignore[no-untyped-call]
    gc.collect()
    gc.freeze()  # a collection in a fork would touch, and so copy, every page
    return shell


def _guard(
    order: dict[str, Any],
    channel: socket.socket,
    lifeline: socket.socket,
    shell: Shell,
    parent: int,
) -> None:
    """Keep one student in a sandbox until it ends, the lifeline closes, or a limit is reached."""
    from shardwise_grading.sandbox import Limits, die_with, enter  # noqa: PLC0415
    from shardwise_grading.sandbox.bubblewrap import settle  # noqa: PLC0415
    from shardwise_grading.sandbox.descriptors import keep_only  # noqa: PLC0415
    from shardwise_grading.student.guard import guard, scratch, tell  # noqa: PLC0415

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    die_with(parent)
    keep_only([channel.fileno(), lifeline.fileno()])
    limits = Limits(**order["limits"])
    readable = [Path(path) for path in order["readable"]]
    protection = order["protection"]
    wrapped = protection == "bubblewrap"  # then this process is inside already
    with scratch(needed=protection != "namespaces") as folder:
        try:
            inside = "none" if wrapped else protection
            student = enter(inside, limits, readable, folder, keep=[channel.fileno()])
        except Exception as error:  # noqa: BLE001
            tell(lifeline, failed=f"{type(error).__name__}: {error}")
            return
        if student == 0:
            if wrapped:
                settle(readable, limits)
            _serve(channel, shell)
        channel.close()
        guard(student, limits, lifeline)


def _serve(channel: socket.socket, shell: Shell) -> None:
    """Be the student's process; never returns."""
    from shardwise_grading.student.serve import start  # noqa: PLC0415
    from shardwise_grading.student.wire import Channel  # noqa: PLC0415

    status = 1
    try:
        start(Channel(channel), shell)
        status = 0
    finally:
        os._exit(status)


if __name__ == "__main__":
    main(int(sys.argv[1]))
