"""Addresses outside the book: collected from its pages, and asked for on demand."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from shardwise_book.links import outside, silent


class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(int(self.path.strip("/")))
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_each_address_is_listed_once_with_a_page(tmp_path):
    (tmp_path / "chapter").mkdir()
    text = (
        '<a href="https://a.org/x#part">a</a><a href="b.html">b</a><a href="https://a.org/x">c</a>'
    )
    (tmp_path / "chapter/one.html").write_text(text)
    (tmp_path / "two.html").write_text('<a href="http://c.org">é</a>')
    assert outside(tmp_path) == {"https://a.org/x": "chapter/one.html", "http://c.org": "two.html"}


def test_only_those_that_are_gone_are_problems(site):
    pages = {f"{site}/{code}": f"{code}.html" for code in (200, 403, 404, 429, 500)}
    pages["http://127.0.0.1:1/"] = "none.html"
    found = {problem.file: problem.message for problem in silent(pages)}
    assert set(found) == {"404.html", "500.html", "none.html"}
    assert found["404.html"].endswith("/404 answers 404")
    assert "doesn't answer" in found["none.html"]
