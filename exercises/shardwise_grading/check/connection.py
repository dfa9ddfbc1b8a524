"""A stream of messages from a process that runs cells, with a limit on every wait."""

from __future__ import annotations

import contextlib
import json
import queue
import signal
import threading
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

LAST_WORDS = 2.0  # seconds that a process gets between its last message and its end


class LostError(Exception):
    """The process that ran the cells is gone; the message says how."""


class Connection:
    """Two ends of a conversation in lines of JSON.

    Args:
        lines: where the messages of the process come from.
        send: writes to it.
        end: ends it, after waiting for as many seconds; returns its exit status, where that is
            known.
    """

    def __init__(
        self,
        lines: IO[bytes],
        send: Callable[[bytes], object],
        end: Callable[[float], int | None],
    ) -> None:
        """Read in a thread, because not every system can wait for a pipe with a limit."""
        self._messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._lines, self._send, self._end = lines, send, end
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            for line in self._lines:
                self._messages.put(line)
        self._messages.put(b"")

    def send(self, message: dict[str, Any]) -> None:
        """Send a message.

        Raises:
            LostError: nobody is there.
        """
        try:
            self._send(json.dumps(message).encode() + b"\n")
        except OSError:
            raise LostError(_ended(self._end(LAST_WORDS))) from None

    def receive(self, seconds: float) -> dict[str, Any]:
        """Return the next message.

        Raises:
            LostError: none came in time, or the process ended.
        """
        try:
            line = self._messages.get(timeout=max(seconds, 0.0))
        except queue.Empty:
            self._end(0.0)
            raise LostError("did not end in time and could not be interrupted") from None
        message: dict[str, Any] = json.loads(line) if line else {"status": self._end(LAST_WORDS)}
        if "status" in message:
            raise LostError(_ended(message["status"]))
        return message

    def close(self) -> None:
        """End the process, if it still runs."""
        self._end(0.0)
        self._reader.join(LAST_WORDS)  # longer only where a process of the student's holds on
        if not self._reader.is_alive():
            self._lines.close()


def _ended(status: int | None) -> str:
    if status is None or status == 0:
        return "ended the process of the notebook"
    if status > 0:
        return f"ended the process of the notebook with exit code {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = str(-status)
    return f"crashed the process of the notebook (signal {name})"
