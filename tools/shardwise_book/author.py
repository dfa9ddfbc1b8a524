"""For the author: serves the book, builds what changed at once, and reloads the pages."""

from __future__ import annotations

import subprocess
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from watchfiles import DefaultFilter, watch

from shardwise_book.build import build
from shardwise_book.errors import BookError
from shardwise_book.serve import Handler, open_server

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

CHANGES = "/__changes"
RELOAD = f'<script>new EventSource("{CHANGES}").onmessage = () => location.reload();</script>'
HEARTBEAT = 5.0  # seconds between signs of life, by which a page that went away is noticed
FOLDERS = ("chapter", "lib", "widgets")
# What is bundled into the page; the rest of widgets/ is Python.
BUNDLED = (
    "widgets/src/",
    "widgets/build.mjs",
    "widgets/shardwise_widgets/look.json",
    "chapter/glossary.yml",
)


class _Sources(DefaultFilter):
    """Sources only: neither what is built nor what tools keep."""

    ignore_dirs = (*DefaultFilter.ignore_dirs, "static", ".shardwise", "_book")


class Bell:
    """Wakes everyone who waits for the next build."""

    def __init__(self) -> None:
        """Begin with no book built."""
        self._condition = threading.Condition()
        self._count = 0

    def ring(self) -> None:
        """Say that there is a new book."""
        with self._condition:
            self._count += 1
            self._condition.notify_all()

    def wait(self, seen: int, seconds: float) -> int:
        """Wait until more than `seen` books were built or time is up; return how many were."""
        with self._condition:
            self._condition.wait_for(lambda: self._count > seen, seconds)
            return self._count

    @property
    def count(self) -> int:
        """How many books were built so far."""
        return self._count


class ReloadingHandler(Handler):
    """Gives each page a line that reloads it after the next build."""

    bell: Bell

    def do_GET(self) -> None:  # noqa: N802 - the base class calls it so
        """Answer with a file, a page that reloads itself, or the stream of builds."""
        path = urlsplit(self.path).path
        if path == CHANGES:
            self._stream()
        elif (page := self._page(path)) is not None:
            self._send(page)
        else:
            super().do_GET()

    def _page(self, path: str) -> bytes | None:
        file = Path(self.translate_path(path))
        file = file / "index.html" if file.is_dir() and path.endswith("/") else file
        if file.suffix != ".html" or not file.is_file():
            return None
        return file.read_bytes().replace(b"</body>", RELOAD.encode() + b"</body>")

    def _send(self, page: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def _stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        seen = self.bell.count
        try:
            while True:
                now = self.bell.wait(seen, HEARTBEAT)
                self.wfile.write(b": alive\n\n" if now == seen else b"data: new\n\n")
                self.wfile.flush()
                seen = now
        except OSError:
            return  # the page has gone


def needs_bundling(root: Path, changed: Iterable[str]) -> bool:
    """Say whether the page's scripts have to be bundled before the book is built."""
    names = [Path(path).resolve().relative_to(root).as_posix() for path in changed]
    return any(name.startswith(BUNDLED) for name in names)


def rebuild(root: Path, changed: Iterable[str], console: Console) -> bool:
    """Build what changed, and say how it went; the served book stays as it was if it went wrong."""
    try:
        if needs_bundling(root, changed):
            command = ["node", "widgets/build.mjs"]
            done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
            if done.returncode:
                console.print(done.stderr.strip(), markup=False, soft_wrap=True)
                return False
        report = build(root)
    except (BookError, OSError) as error:
        console.print(str(error), markup=False, soft_wrap=True)
        return False
    if report.changed:
        console.print(f"built in {report.seconds:.1f} s", highlight=False)
    return report.changed


def serve_and_rebuild(
    root: Path, folder: Path, port: int, console: Console, stop: threading.Event | None = None
) -> None:
    """Serve `folder` and keep it up to date with the sources in `root` until interrupted.

    Raises:
        BookError: `folder` holds no book, or `port` is taken or not allowed.
    """
    root, bell = root.resolve(), Bell()
    handler = type("Bound", (ReloadingHandler,), {"bell": bell})
    with open_server(folder, port, partial(handler, directory=str(folder))) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://localhost:{server.server_port}"
        console.print(
            f"The book is at {address} and follows its sources (Ctrl-C ends it)", highlight=False
        )
        try:
            for changes in watch(*_watched(root), watch_filter=_Sources(), stop_event=stop):
                if rebuild(root, [path for _, path in changes], console):
                    bell.ring()
        except KeyboardInterrupt:
            console.print("\nEnded.")
        finally:
            server.shutdown()


def _watched(root: Path) -> list[Path]:
    """Return the folders of sources, and the book's files at the root."""
    folders = [root / name for name in FOLDERS if (root / name).is_dir()]
    return [*folders, *root.glob("*.qmd"), root / "_quarto.yml"]
