"""Have cells run in a fresh process: a copy of the warm one, or one that is started for them."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from shardwise_grading.check import place
from shardwise_grading.check.connection import Connection, LostError
from shardwise_grading.check.notebook import CannotCheckError
from shardwise_grading.records import Output

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

START_SECONDS = 60.0  # a slow disk needs long to import torch
CELL_SECONDS = 10.0
GRACE = 2.0  # seconds that a cell gets to end after it was interrupted
TOTAL_SECONDS = 120.0
# A file of the student's must not stand for a module of ours: -P leaves the folder out.
PYTHON = (sys.executable, "-P", "-m")


def run(
    sources: Sequence[str], folder: Path, *, cold: bool = False
) -> Iterator[tuple[Output, ...]]:
    """Run cells from top to bottom in a fresh process, and yield what each of them showed.

    Args:
        sources: the cells.
        folder: where they run.
        cold: whether to start a process for them, instead of copying a warm one.

    Raises:
        CannotCheckError: there is no process to run them.
        LostError: it is gone before the next cell could end.
    """
    request = {"sources": list(sources), "folder": str(folder), "seconds": CELL_SECONDS}
    connection = (None if cold else _warm(request)) or _cold(request)
    try:
        end = time.monotonic() + TOTAL_SECONDS
        for _ in sources:
            left = end - time.monotonic()
            message = connection.receive(min(CELL_SECONDS + GRACE, left))
            yield tuple(Output(**output) for output in message["outputs"])
    finally:
        connection.close()


def _begin(connection: Connection, request: dict[str, object]) -> Connection:
    """Send the request, and wait until the process is ready for it.

    Raises:
        LostError: it never will be.
    """
    try:
        connection.send(request)
        connection.receive(START_SECONDS)
    except LostError:
        connection.close()
        raise
    return connection


def _warm(request: dict[str, object]) -> Connection | None:
    """Hand the request to the warm process; None where there is none."""
    if sys.platform != "linux":  # elsewhere a copy of a process with torch in it may not work
        return None
    name = place.key()
    path = place.address(name)
    channel = path and (_connect(path) or _start(path, name))
    if not channel:
        return None

    def end(_: float) -> None:
        with contextlib.suppress(OSError):
            channel.shutdown(socket.SHUT_RDWR)

    with channel, contextlib.suppress(LostError):
        return _begin(Connection(channel.makefile("rb"), channel.sendall, end), request)
    return None


def _connect(path: Path) -> socket.socket | None:
    channel = socket.socket(socket.AF_UNIX)
    try:
        channel.connect(str(path))
    except OSError:
        channel.close()
        return None
    return channel


def _start(path: Path, name: str) -> socket.socket | None:
    """Start the warm process, which stays behind."""
    command = [*PYTHON, "shardwise_grading.check.warm", str(path), name]
    nothing = subprocess.DEVNULL
    subprocess.run(command, stdin=nothing, stdout=nothing, stderr=nothing, cwd="/", check=False)
    return _connect(path)


def _cold(request: dict[str, object]) -> Connection:
    """Start a process for one check.

    Raises:
        CannotCheckError: it does not start, or has no torch or IPython.
    """
    process = subprocess.Popen(
        [*PYTHON, "shardwise_grading.check.cold"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None  # noqa: S101  (for the types: both are pipes)
    assert stdout is not None  # noqa: S101

    def send(content: bytes) -> None:
        with stdin:
            stdin.write(content)

    def end(seconds: float) -> int:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        return process.wait()

    try:
        return _begin(Connection(stdout, send, end), request)
    except LostError:
        raise CannotCheckError(
            f"{sys.executable} could not run cells; does 'import torch, IPython' work there?"
        ) from None
