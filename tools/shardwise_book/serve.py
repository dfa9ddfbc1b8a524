"""Serves a built book on this machine, so that its search works too."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from rich.console import Console

from shardwise_book.errors import BookError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from socketserver import BaseRequestHandler

HOST = "127.0.0.1"


class Handler(SimpleHTTPRequestHandler):
    """Answers with the files of one folder, logs only what failed, and lets nothing be cached."""

    # Named here, because a system's own list may give scripts a type that browsers refuse.
    extensions_map = {  # noqa: RUF012 - the base class has it as a plain dict
        **SimpleHTTPRequestHandler.extensions_map,
        ".css": "text/css",
        ".html": "text/html; charset=utf-8",
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".svg": "image/svg+xml",
        ".wasm": "application/wasm",
    }

    def end_headers(self) -> None:
        """Add that the answer must not be kept: after a build the next reload shows it."""
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing about an answer that was given."""


def open_server(
    folder: Path, port: int, handler: Callable[..., BaseRequestHandler] | None = None
) -> ThreadingHTTPServer:
    """Return a server of `folder` that already listens; port 0 takes any free one.

    Raises:
        BookError: `folder` holds no book, or `port` is taken or not allowed.
    """
    if not (folder / "index.html").is_file():
        message, remedy = "there is no index.html in it", "build the book first: make book"
        raise BookError(Problem(str(folder), None, message, remedy))
    try:
        return ThreadingHTTPServer((HOST, port), handler or partial(Handler, directory=str(folder)))
    except (OSError, OverflowError) as error:
        message, remedy = f"it is not free ({error})", "name another: make serve PORT=4300"
        raise BookError(Problem(f"port {port}", None, message, remedy)) from error


def serve(folder: Path, port: int) -> None:
    """Serve `folder` on localhost until interrupted, and print the address.

    Raises:
        BookError: `folder` holds no book, or `port` is taken or not allowed.
    """
    with open_server(folder, port) as server:
        address = f"http://localhost:{server.server_port}"
        Console().print(f"The book is at {address} (Ctrl-C ends it)", highlight=False)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            Console().print("\nEnded.")
