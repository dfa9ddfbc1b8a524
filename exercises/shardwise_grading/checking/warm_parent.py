"""The warm parent of the students, as the checking process sees it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Self

from shardwise_grading import sandbox
from shardwise_grading.checking.student import ENDING, Student
from shardwise_grading.sandbox.bubblewrap import bubblewrap_command
from shardwise_grading.student.wire import Channel

if TYPE_CHECKING:
    from shardwise_grading.sandbox import Limits

STARTING = 120.0  # seconds that torch may take to be imported, and a sandbox to be made
# Nothing of the instructor's environment reaches a student.
ENVIRONMENT = {
    "HOME": "/tmp",  # noqa: S108  (a scratch folder of the sandbox's own)
    "LANG": "C.UTF-8",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "MPLCONFIGDIR": "/tmp/matplotlib",  # noqa: S108
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
    "PYTHONSAFEPATH": "1",
}


class WarmParent:
    """A process with torch imported, from which students are forked.

    Args:
        protection: what keeps the students in; see `shardwise_grading.sandbox`.
        limits: what one of them may hold.
    """

    def __init__(self, protection: str, limits: Limits) -> None:
        """Start the process; the first `student` waits until it is ready."""
        self.protection = protection
        self._limits = limits
        self._readable = sandbox.readable_paths()
        self._process: subprocess.Popen[bytes] | None = None
        self._start()

    def student(self) -> Student:
        """Fork a student, from a new warm parent where the last one is gone.

        Raises:
            RuntimeError: no warm parent can be started, or no sandbox made.
        """
        if self._process is not None and self._process.poll() is not None:
            self.close()
        self._start()
        self._wait()
        channel, its_channel = socket.socketpair()
        lifeline, its_lifeline = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # What bubblewrap encloses is the warm parent, so no two students may have the same one,
        # and processes have other names in there than here.
        shared = self.protection != "bubblewrap"
        student = Student(Channel(channel), lifeline, None if shared else self.close)
        try:
            with its_channel, its_lifeline:
                self._order(its_channel, its_lifeline)
            student.wait_for_sandbox(STARTING, in_sight=shared)
        except BaseException:
            student.close()
            raise
        return student

    def _order(self, channel: socket.socket, lifeline: socket.socket) -> None:
        order = {
            "protection": self.protection,
            "limits": asdict(self._limits),
            "readable": list(map(str, self._readable)),
        }
        ends = [channel.fileno(), lifeline.fileno()]
        try:
            socket.send_fds(self._control, [json.dumps(order).encode()], ends)
        except OSError as error:
            raise RuntimeError(f"the warm parent is gone: {error}") from error

    def close(self) -> None:
        """End the process; students end with it."""
        if self._process is None:
            return
        self._control.close()
        try:
            self._process.wait(ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _start(self) -> None:
        if self._process is not None:
            return
        prefix = []
        if self.protection == "bubblewrap":
            prefix = bubblewrap_command(self._readable, self._limits)
        self._control, other = socket.socketpair()
        path = os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"])
        variables = ENVIRONMENT | {"PATH": path}
        if prefix:  # it hands on none
            prefix += ["env", *(f"{name}={value}" for name, value in variables.items())]
        with other:
            program = [sys.executable, "-m", "shardwise_grading.student.warm", str(other.fileno())]
            self._process = subprocess.Popen(
                [*prefix, *program],
                pass_fds=[other.fileno()],
                env=variables,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        self._ready = False

    def _wait(self) -> None:
        if self._ready:
            return
        self._control.settimeout(STARTING)
        try:
            self._ready = self._control.recv(16) == b"ready"
        except OSError as error:
            self.close()
            raise RuntimeError(f"the warm parent did not start: {error}") from error
        if not self._ready:
            self.close()
            raise RuntimeError(
                "the warm parent ended before it was ready; "
                "run 'python -m shardwise_grading.student.warm 0' to see why"
            )
        self._control.settimeout(None)
