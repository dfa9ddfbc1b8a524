"""One student's process, as the checking process sees it."""

from __future__ import annotations

import itertools
import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from shardwise_grading import sandbox
from shardwise_grading.sandbox.bubblewrap import bubblewrap_command
from shardwise_grading.student.wire import Channel, ClosedError, Message, WireError

if TYPE_CHECKING:
    from collections.abc import Callable

    from shardwise_grading.sandbox import Limits

STARTING = 60.0  # seconds that torch may take to be imported
ENDING = 5.0  # seconds in which a killed student is gone
STATUS_BYTES = 1 << 12
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


class LostError(Exception):
    """A student's process is gone, or says what no student's process says.

    Args:
        reason: what happened, to follow the name of a cell or a call.
        forged: whether it sent something that only an attack on the grader sends.
    """

    def __init__(self, reason: str, *, forged: bool = False) -> None:
        """Keep the reason."""
        super().__init__(reason)
        self.reason = reason
        self.forged = forged


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
        """Fork a student.

        Raises:
            RuntimeError: the warm parent could not start, or is gone.
        """
        self._start()
        self._wait()
        channel, its_channel = socket.socketpair()
        lifeline, its_lifeline = socket.socketpair()
        order = {
            "protection": self.protection,
            "limits": asdict(self._limits),
            "readable": list(map(str, self._readable)),
        }
        with its_channel, its_lifeline:
            ends = [its_channel.fileno(), its_lifeline.fileno()]
            try:
                socket.send_fds(self._control, [json.dumps(order).encode()], ends)
            except OSError as error:
                raise RuntimeError(f"the warm parent is gone: {error}") from error
        # What bubblewrap encloses is the warm parent, so no two students may have the same one.
        shared = self.protection != "bubblewrap"
        return Student(Channel(channel), lifeline, None if shared else self.close)

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
        if self._control.recv(16) != b"ready":
            self.close()
            raise RuntimeError(
                "the warm parent ended before it was ready; "
                "run 'python -m shardwise_grading.student.warm 0' to see why"
            )
        self._control.settimeout(None)
        self._ready = True


class Student:
    """A process that runs a student's cells and functions.

    Args:
        channel: where it is asked and answers.
        lifeline: closing it ends the process; it says there how it ended.
        at_end: called when the process is gone.
    """

    def __init__(
        self, channel: Channel, lifeline: socket.socket, at_end: Callable[[], None] | None = None
    ) -> None:
        """Take over both connections."""
        self._at_end = at_end
        self._channel = channel
        self._lifeline = lifeline
        self._ids = itertools.count()

    def ask(
        self,
        request: Message,
        deadline: float,
        buffers: bytes = b"",
        answering: Callable[[Message, bytes], tuple[Message, bytes]] | None = None,
    ) -> tuple[Message, bytes]:
        """Send a request and wait for the reply.

        Args:
            request: what to do.
            deadline: when to give up, on the clock `time.monotonic`, in seconds.
            buffers: bytes that belong to the request.
            answering: answers what the student asks for in between.

        Raises:
            LostError: it did not reply in time, ended, or sent no reply.
        """
        number = next(self._ids)
        try:
            self._send(request | {"id": number}, buffers, deadline)
            while True:
                reply, content = self._channel.receive(deadline)
                if answering and "collective" in reply:
                    self._channel.send(*answering(reply, content), deadline=deadline)
                elif type(reply.get("id")) is int and reply["id"] == number:
                    return reply, content
                else:
                    raise LostError("sent the grader an answer to no question", forged=True)
        except TimeoutError:
            raise LostError("did not end in time") from None
        except ClosedError:
            raise LostError(self._how_it_ended()) from None
        except WireError as error:
            raise LostError(f"sent the grader {error}", forged=True) from None

    def _send(self, request: Message, buffers: bytes, deadline: float) -> None:
        try:
            self._channel.send(request, buffers, deadline=deadline)
        except ValueError as error:
            raise LostError(f"is too long: {error}") from error

    def close(self) -> None:
        """End the process, with all that it started, and wait until it is gone."""
        self._channel.close()
        try:
            self._lifeline.shutdown(socket.SHUT_WR)
            self._lifeline.settimeout(ENDING)
            while self._lifeline.recv(STATUS_BYTES):
                pass
        except OSError:
            pass
        self._lifeline.close()
        if self._at_end:
            self._at_end()

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _how_it_ended(self) -> str:
        """Say how the process ended, as its guard tells."""
        self._lifeline.settimeout(ENDING)
        try:
            content = self._lifeline.recv(STATUS_BYTES)
        except OSError:
            content = b""
        ending: dict[str, Any] = json.loads(content) if content else {}
        if "failed" in ending:
            raise RuntimeError(f"no sandbox could be made: {ending['failed']}")
        if ending.get("reason"):
            return str(ending["reason"])
        code = os.waitstatus_to_exitcode(ending.get("status", 9))
        by = f"by signal {-code}" if code < 0 else f"with exit status {code}"
        return f"ended its process {by}"


def soon(seconds: float) -> float:
    """Return the time a number of seconds from now, on the clock of a deadline."""
    return time.monotonic() + seconds
