"""The warm process: torch is imported, and each check runs in a copy of it.

It is the user's own, listens where nobody else can, and ends when nobody asked for a while or when
the environment is no longer what it was started from.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

from shardwise_grading.check import place

if TYPE_CHECKING:
    from collections.abc import Callable

IDLE = 600.0  # seconds without a check, after which the process ends
LOOK = 20.0  # seconds between two looks at the environment


class Warm:
    """Takes connections, and gives each a process of its own.

    Args:
        path: where it listens.
        name: what `place.key` returned when it was started.
        lock: open as long as this process lives, and in no copy of it.
    """

    def __init__(self, path: Path, name: str, lock: IO[str]) -> None:
        """Listen; who connects early waits until torch is there."""
        self._path, self._name, self._lock = path, name, lock
        self._listening = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(FileNotFoundError):
            path.unlink()  # of a process that was killed
        self._listening.bind(str(path))
        path.chmod(0o600)
        self._listening.listen()
        self._running: dict[int, socket.socket] = {}
        self._wake, waker = socket.socketpair()
        waker.setblocking(False)
        self._waker = waker
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)

    def serve(self) -> None:
        """Answer until the process is of no more use."""
        import torch  # noqa: F401, PLC0415  (whoever connects first is already waiting)

        from shardwise_grading.check.student import run  # noqa: PLC0415
        from shardwise_grading.student.cells import make_shell  # noqa: PLC0415

        shell = make_shell()
        used = time.monotonic()
        while True:
            if self._wait():
                used = time.monotonic()
                self._start(lambda lines, to: run(shell, lines, to))
            elif not self._running and (time.monotonic() - used > IDLE or self._is_stale()):
                break
        self._path.unlink(missing_ok=True)

    def _start(self, work: Callable[[IO[bytes], IO[bytes]], None]) -> None:
        """Do the work for who connected, in a copy of this process."""
        connection = self._listening.accept()[0]
        process = os.fork()
        if process == 0:
            self._leave()
            work(connection.makefile("rb"), connection.makefile("wb"))
            os._exit(0)
        self._running[process] = connection

    def _is_stale(self) -> bool:
        return not self._path.exists() or place.key() != self._name

    def _wait(self) -> bool:
        """Wait for something to happen; return whether somebody connected."""
        poll = select.poll()
        poll.register(self._listening, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        gone = {}
        for process, connection in self._running.items():
            gone[connection.fileno()] = process
            poll.register(connection, select.POLLRDHUP)
        happened = dict(poll.poll(LOOK * 1000))
        for descriptor, process in gone.items():
            if descriptor in happened:
                _kill(process)
        if self._wake.fileno() in happened:
            self._wake.recv(4096)
            self._reap()
        return self._listening.fileno() in happened

    def _reap(self) -> None:
        """Say of the processes that ended how they did, and end what they left running."""
        for process, connection in list(self._running.items()):
            if not os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                continue
            _kill(process)
            status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
            with contextlib.suppress(OSError), connection:
                connection.sendall(json.dumps({"status": status}).encode() + b"\n")
            del self._running[process]

    def _leave(self) -> None:
        """In a copy: let go of everything that is not its own."""
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._lock.close()
        for other in (self._listening, self._wake, self._waker, *self._running.values()):
            other.close()


def _kill(process: int) -> None:
    """End a process and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)


def main(path: Path, name: str) -> None:
    """Serve at the path, unless another process does already."""
    with path.with_suffix(".lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        warm = Warm(path, name, lock)
        if os.fork():
            os._exit(0)  # whoever started this knows by that: somebody listens now
        os.setsid()
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        warm.serve()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
