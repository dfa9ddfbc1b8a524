"""What travels between a student's process and the one that checks it: data, never objects.

A message is a JSON object and the raw bytes of tensors. A process that runs a stranger's code may
write anything into its end, so whatever doesn't have exactly this form is refused before it is
used, and sizes are known before anything is allocated.

::

    4 bytes  length of the JSON       big-endian
    4 bytes  length of the buffers
    the JSON, in which a tensor says which part of the buffers is its own
    the buffers
"""

from __future__ import annotations

import json
import select
import struct
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket

Message = dict[str, Any]

HEAD = struct.Struct(">II")
LONGEST_JSON = 8 << 20  # json makes of hostile text twenty times as much
LONGEST_BUFFERS = 16 << 20
AT_ONCE, MOST_AT_ONCE = 1 << 13, 1 << 20  # most messages are short, and come as a whole


class WireError(Exception):
    """The other end sent something that is no message."""


class ClosedError(Exception):
    """The other end is gone."""


class Channel:
    """One end of the connection.

    Args:
        end: a connected Unix stream socket; this closes it.

    Example:
        >>> import socket
        >>> here, there = map(Channel, socket.socketpair())
        >>> here.send({"do": "greet"}, b"hello")
        >>> there.receive()
        ({'do': 'greet'}, b'hello')
        >>> here.close(), there.close()
        (None, None)
    """

    def __init__(self, end: socket.socket) -> None:
        """Take over a socket."""
        self._end = end
        self._come = bytearray()  # and not been read

    def send(
        self, message: Message, buffers: bytes = b"", *, deadline: float | None = None
    ) -> None:
        """Send a message.

        Args:
            message: what json can write.
            buffers: raw bytes beside it.
            deadline: on the clock `time.monotonic`, in seconds; None waits for ever.

        Raises:
            ValueError: the message is longer than any that is read.
            ClosedError: the other end is gone.
            TimeoutError: the deadline is over.
        """
        text = json.dumps(message).encode("ascii")
        if len(text) > LONGEST_JSON or len(buffers) > LONGEST_BUFFERS:
            raise ValueError(f"a message of {len(text)} + {len(buffers)} bytes is too long to send")
        self._set_timeout(deadline)
        try:
            self._end.sendall(b"".join([HEAD.pack(len(text), len(buffers)), text, buffers]))
        except TimeoutError:
            raise
        except OSError as error:
            raise ClosedError(str(error)) from error

    def receive(self, deadline: float | None = None) -> tuple[Message, bytes]:
        """Wait for a message.

        Raises:
            WireError: what came is no message.
            ClosedError: the other end is gone.
            TimeoutError: the deadline is over.
        """
        json_length, buffers_length = HEAD.unpack(self._read(HEAD.size, deadline))
        if json_length > LONGEST_JSON or buffers_length > LONGEST_BUFFERS:
            raise WireError(f"a message of {json_length} + {buffers_length} bytes")
        text = self._read(json_length, deadline)
        buffers = self._read(buffers_length, deadline)
        try:
            message = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise WireError(f"no JSON: {type(error).__name__}") from error
        if type(message) is not dict:
            raise WireError(f"a {type(message).__name__} in place of a message")
        return message, buffers

    def fileno(self) -> int:
        """Return the descriptor of the socket."""
        return self._end.fileno()

    def close(self) -> None:
        """Close this end."""
        self._end.close()

    def _read(self, length: int, deadline: float | None) -> bytes:
        # Collected in one place: parts of one byte each would take forty times their size.
        while len(self._come) < length:
            self._set_timeout(deadline)
            wanted = length - len(self._come)
            try:
                part = self._end.recv(min(max(wanted, AT_ONCE), MOST_AT_ONCE))
            except TimeoutError:
                raise
            except OSError as error:
                raise ClosedError(str(error)) from error
            if not part:
                raise ClosedError("the other end is closed")
            self._come += part
        content = bytes(self._come[:length])
        del self._come[:length]
        return content

    def ready(self, seconds: float) -> bool:
        """Wait until something can be received, or until a number of seconds is over."""
        if self._come:
            return True
        poll = select.poll()  # not select(), which knows no descriptor above 1023
        poll.register(self, select.POLLIN)
        return bool(poll.poll(1000 * max(seconds, 0.0)))

    def _set_timeout(self, deadline: float | None) -> None:
        if deadline is None:
            self._end.settimeout(None)
            return
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the deadline is over")
        self._end.settimeout(left)
