"""The server: what it answers, that nothing is cached, what it says when it cannot start."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest

import shardwise_book.serve
from shardwise_book.errors import BookError
from shardwise_book.serve import open_server, serve

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text("<p>a book</p>", encoding="utf-8")
    (tmp_path / "a.js").write_text("1", encoding="utf-8")
    return tmp_path


def test_answers_uncached_with_the_right_type(folder: Path):
    with open_server(folder, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            address = f"http://127.0.0.1:{server.server_port}/"
            with urllib.request.urlopen(address) as answer:
                assert answer.read() == b"<p>a book</p>"
                assert answer.headers["Cache-Control"] == "no-store"
            with urllib.request.urlopen(address + "a.js") as answer:
                assert answer.headers["Content-Type"] == "text/javascript"
            with pytest.raises(urllib.error.HTTPError) as missing:
                urllib.request.urlopen(address + "gone.html")
            missing.value.close()
        finally:
            server.shutdown()
            thread.join()


def test_a_taken_port_is_named_with_another_to_try(folder: Path):
    with open_server(folder, 0) as server:
        port = server.server_port
        with pytest.raises(BookError, match=rf"port {port}: it is not free.*\n.*PORT=4300"):
            serve(folder, port)


def test_a_folder_without_a_book_is_named(tmp_path: Path):
    with pytest.raises(BookError, match=r"no index\.html.*\n.*make book"):
        serve(tmp_path, 0)


def test_the_address_is_printed_and_an_interrupt_ends_it_quietly(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def interrupt(self: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(shardwise_book.serve.ThreadingHTTPServer, "serve_forever", interrupt)
    serve(folder, 0)
    assert "http://localhost:" in capsys.readouterr().out
