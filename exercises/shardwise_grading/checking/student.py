"""One student's process, as the checking process sees it."""

from __future__ import annotations

import itertools
import json
import math
import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shardwise_grading.sandbox import processes
from shardwise_grading.student.wire import Channel, ClosedError, Message, WireError

if TYPE_CHECKING:
    from collections.abc import Callable

LOOK = 0.25  # seconds between two looks at what a late student computes
ENDING = 20.0  # seconds in which a killed student is gone
STATUS_BYTES = 1 << 12


class LostError(Exception):
    """A student's process is gone, or says what no student's process says.

    Args:
        reason: what happened, to follow the name of a cell or a call.
        forged: whether it sent something that only an attack on the grader sends.
        late: whether it was ended because it did not reply in time.
    """

    def __init__(self, reason: str, *, forged: bool = False, late: bool = False) -> None:
        """Keep the reason."""
        super().__init__(reason)
        self.reason = reason
        self.forged = forged
        self.late = late


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
        self._process = 0
        self._proc = os.open("/proc", os.O_RDONLY) if Path("/proc").exists() else -1

    def wait_for_sandbox(self, seconds: float, *, in_sight: bool) -> None:
        """Wait until the process is enclosed.

        Args:
            seconds: how long.
            in_sight: whether the guard has the same names for processes as this one.

        Raises:
            RuntimeError: it could not be enclosed; that is no student's fault.
        """
        said = self._guard_says(seconds)
        if "student" not in said:
            reason = said.get("failed", "its guard says nothing")
            raise RuntimeError(f"no sandbox could be made: {reason}")
        self._process = said["student"] if in_sight else 0

    def ask(
        self,
        request: Message,
        deadline: float,
        buffers: bytes = b"",
        answering: Callable[[Message, bytes], tuple[Message, bytes]] | None = None,
        *,
        computing: float = math.inf,
    ) -> tuple[Message, bytes]:
        """Send a request and wait for the reply.

        Args:
            request: what to do.
            deadline: when to give up, on the clock `time.monotonic`, in seconds.
            buffers: bytes that belong to the request.
            answering: answers what the student asks for in between.
            computing: seconds of computing after which it is given up too, where that can be seen.

        Raises:
            LostError: it did not reply in time, ended, or sent no reply.
        """
        number = next(self._ids)
        try:
            self._send(request | {"id": number}, buffers, deadline)
            while True:
                reply, content = self._receive(deadline, computing)
                if answering and "collective" in reply:
                    self._channel.send(*answering(reply, content), deadline=deadline)
                elif type(reply.get("id")) is int and reply["id"] == number:
                    return reply, content
                else:
                    raise LostError("sent the grader an answer to no question", forged=True)
        except TimeoutError:
            raise LostError("did not end in time", late=True) from None
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
        if self._proc >= 0:
            os.close(self._proc)
            self._proc, self._process = -1, 0
        if self._at_end:
            self._at_end()

    def _receive(self, deadline: float, computing: float) -> tuple[Message, bytes]:
        most = math.inf  # known at the first look: most replies come before
        while not self._channel.ready(min(LOOK, deadline - time.monotonic())):
            computed = self._computed()
            most = min(most, computed + computing)
            if time.monotonic() >= deadline or computed > most:
                raise TimeoutError
        return self._channel.receive(deadline)

    def _computed(self) -> float:
        """Seconds that the process has computed; 0 where nobody can know."""
        return processes.cpu_seconds(self._proc, self._process) if self._process else 0.0

    def _how_it_ended(self) -> str:
        """Say how the process ended, as its guard tells."""
        ending = self._guard_says(ENDING)
        if ending.get("reason"):
            return str(ending["reason"])
        if "status" not in ending:
            return "was ended together with its guard"
        code = os.waitstatus_to_exitcode(ending["status"])
        by = f"by signal {-code}" if code < 0 else f"with exit status {code}"
        return f"ended its process {by}"

    def _guard_says(self, seconds: float) -> dict[str, Any]:
        self._lifeline.settimeout(seconds)
        try:
            content = self._lifeline.recv(STATUS_BYTES)
        except OSError:
            content = b""
        said: dict[str, Any] = json.loads(content) if content else {}
        return said


def soon(seconds: float) -> float:
    """Return the time a number of seconds from now, on the clock of a deadline."""
    return time.monotonic() + seconds
