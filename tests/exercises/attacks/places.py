"""Places that attacks would like to reach: a course folder, listeners, what is known of them."""

from __future__ import annotations

import hashlib
import socket
from contextlib import suppress
from pathlib import Path

from exercises.attacks import course
from support import ROOT

SEED = "SEED-of-the-course-4711"
TOKEN = "secret-token-of-a-neighbour"


class Course:
    """A folder that looks like a course in use; nothing in it may be read or changed.

    Args:
        folder: where to make it; must not exist.
    """

    def __init__(self, folder: Path) -> None:
        handed_in = folder / "submitted" / "neighbour" / "distributed-training"
        for place in (folder / "hidden", folder / "results", handed_in):
            place.mkdir(parents=True)
            place.chmod(0o777)
        (folder / "hidden" / "secret.py").write_text(f"# {TOKEN}\nSEED = {SEED!r}\n")
        (folder / "gradebook.db").write_text(TOKEN)
        (handed_in / "2-stage-2-memory.ipynb").write_text(TOKEN)
        for path in folder.rglob("*"):
            path.chmod(0o777)
        # Names alone keep nobody out: what protects the folder must be the sandbox.
        for parent in (folder, *folder.parents):
            with suppress(OSError):
                if parent != Path("/"):
                    parent.chmod(parent.stat().st_mode | 0o055)
        folder.chmod(0o777)
        self.folder = folder
        self.remember()

    def remember(self) -> None:
        """Take everything as it is now for how it must stay."""
        self._before = self._state()

    def changes(self) -> list[str]:
        """What is not as it was at the last look."""
        before, self._before = self._before, self._state()
        return sorted(
            path
            for path in self._before.keys() | before.keys()
            if self._before.get(path) != before.get(path)
        )

    def _state(self) -> dict[str, str]:
        found = {}
        for path in [
            self.folder,
            *self.folder.rglob("*"),
            course.HIDDEN,
            *course.HIDDEN.glob("*.py"),
        ]:
            status = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            digest = hashlib.sha256(content).hexdigest()
            found[str(path)] = f"{status.st_mode} {status.st_uid} {digest}"
        return found


class Listeners:
    """Sockets on this machine that no student's code may reach."""

    def __init__(self, folder: Path) -> None:
        first = socket.create_server(("127.0.0.1", 0))
        self.port = first.getsockname()[1]
        self.abstract = f"attack-{self.port}"
        self._streams = [first]
        with suppress(OSError):
            self._streams.append(socket.create_server(("::1", self.port), family=socket.AF_INET6))
        for address in (str(folder / "socket"), f"\0{self.abstract}"):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(address)
            listener.listen()
            self._streams.append(listener)
        (folder / "socket").chmod(0o777)
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind(("127.0.0.1", self.port))
        self._datagrams = [datagrams]
        for each in (*self._streams, *self._datagrams):
            each.setblocking(False)

    def heard(self) -> list[str]:
        """Who got through since the last time."""
        found = []
        for listener in self._streams:
            with suppress(OSError):
                while True:  # until nobody waits
                    listener.accept()[0].close()
                    found.append(f"a connection to {listener.getsockname()!r}")
        for listener in self._datagrams:
            with suppress(OSError):
                while True:
                    found.append(f"a datagram {listener.recv(100)!r}")
        return found


def filled_in(content: bytes, folder: Path, listeners: Listeners, machine: str) -> bytes:
    """Put the places into a notebook that names them."""
    for name, value in {
        "{CANARY}": str(folder),
        "{HIDDEN}": str(course.HIDDEN),
        "{ROOT}": str(ROOT),
        "{PORT}": str(listeners.port),
        "{ABSTRACT}": listeners.abstract,
        "{MACHINE}": machine,
    }.items():
        content = content.replace(name.encode(), value.encode())
    return content


def secrets() -> list[str]:
    """What no output may show: the seed, the neighbour, and telling lines of the hidden checks."""
    lines = {
        line.strip()
        for path in course.HIDDEN.glob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
    }
    # A line that only a hidden check has: a call into the grader's own helpers.
    telling = [line for line in sorted(lines) if "world." in line and len(line) > 30]
    return [SEED, TOKEN, *telling]
