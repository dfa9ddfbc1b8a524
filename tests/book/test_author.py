"""For the author: a change of a source is built at once, and open pages reload."""

from __future__ import annotations

import io
import threading
import time
import urllib.request

import pytest
from book.books import Book
from rich.console import Console

import shardwise_book.author
from shardwise_book.author import Bell, needs_bundling, rebuild, serve_and_rebuild
from shardwise_book.errors import BookError


@pytest.fixture
def said():
    return Console(file=io.StringIO(), width=40)


@pytest.fixture
def book(tmp_path):
    made = Book(tmp_path / "a book", {"chapter/one.qmd": "# One {#sec-one}\n\nFirst words.\n"})
    made.build()
    return made


@pytest.fixture
def served(book, said, monkeypatch):
    """The address of the book, served and watched until the test ends."""
    ready, stop = threading.Event(), threading.Event()
    address = []
    opened = shardwise_book.author.open_server

    def open_and_tell(*arguments):
        server = opened(*arguments)
        address.append(f"http://127.0.0.1:{server.server_port}")
        ready.set()
        return server

    monkeypatch.setattr(shardwise_book.author, "open_server", open_and_tell)
    thread = threading.Thread(
        target=serve_and_rebuild, args=(book.root, book.output, 0, said, stop), daemon=True
    )
    thread.start()
    assert ready.wait(20)
    yield address[0]
    stop.set()
    thread.join(20)
    assert not thread.is_alive()


def fetch(address):
    with urllib.request.urlopen(address, timeout=20) as answer:
        return answer.read().decode()


def test_a_saved_chapter_is_built_and_announced(book, served, said):
    page = fetch(f"{served}/chapter/one.html")
    assert "First words." in page
    assert "new EventSource" in page
    assert "new EventSource" not in (book.output / "chapter/one.html").read_text()
    assert fetch(f"{served}/").count("new EventSource") == 1
    with urllib.request.urlopen(f"{served}/__changes", timeout=60) as stream:
        # The watcher may not look yet: save until it does.
        for place in range(200):
            book.write("chapter/one.qmd", f"# One {{#sec-one}}\n\nOther words {place}.\n")
            time.sleep(0.1)
            if "built in" in said.file.getvalue():
                break
        assert b"data: new" in iter_lines(stream)
    assert "Other words" in fetch(f"{served}/chapter/one.html")


def iter_lines(stream):
    for line in stream:
        if line.strip() and b"alive" not in line:
            return line
    return b""


def test_a_mistake_is_printed_in_one_piece_and_the_book_stays(book, said):
    before = book.content()
    book.write("chapter/one.qmd", "# One {#sec-one}\n\nSee @sec-nowhere-at-all-in-this-book.\n")
    assert not rebuild(book.root, [], said)
    assert "chapter/one.qmd:3: no figure, table, equation or section" in said.file.getvalue()
    assert book.content() == before


def test_nothing_is_said_where_nothing_changed(book, said):
    assert not rebuild(book.root, [], said)
    assert said.file.getvalue() == ""


def test_only_what_the_page_loads_is_bundled(tmp_path):
    root = tmp_path.resolve()
    for name in ("widgets/src/a/model.js", "widgets/build.mjs", "chapter/glossary.yml"):
        assert needs_bundling(root, [str(root / name)])
    for name in ("widgets/shardwise_widgets/base.py", "chapter/one.qmd", "lib/x.py"):
        assert not needs_bundling(root, [str(root / name)])


def test_a_bundle_that_fails_is_printed_and_nothing_is_built(book, said):
    assert not rebuild(book.root, [str(book.root / "widgets/src/a.js")], said)
    assert "widgets/build.mjs" in said.file.getvalue()


def test_the_bell_wakes_who_waits_and_times_out():
    bell = Bell()
    assert bell.wait(0, 0.01) == 0
    threading.Timer(0.05, bell.ring).start()
    assert bell.wait(0, 20) == 1
    assert bell.wait(0, 0) == 1


def test_a_folder_without_a_book_is_named(tmp_path, said):
    with pytest.raises(BookError, match=r"no index\.html"):
        serve_and_rebuild(tmp_path, tmp_path / "_book", 0, said)
