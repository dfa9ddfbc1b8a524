"""The quarto program is asked for a book, and its book is taken only if nothing in it is broken."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

import pytest
from book.books import Book
from support import ROOT

from shardwise_book import quarto
from shardwise_book.errors import BookError

if TYPE_CHECKING:
    from pathlib import Path

# Writes what it was asked to render, as a page; what it was asked is kept beside the book.
PROGRAM = """\
import json, os, sys
from pathlib import Path

if sys.argv[1:] == ["--version"]:
    print("{version}")
    sys.exit()
asked = {{"arguments": sys.argv[1:], "python": os.environ["QUARTO_PYTHON"], "cwd": os.getcwd()}}
Path("asked.json").write_text(json.dumps(asked))
made = Path(sys.argv[sys.argv.index("--output-dir") + 1])
axe = made / "site_libs/quarto-html/axe/axe-check.js"
axe.parent.mkdir(parents=True)
axe.write_text('(await import("https://example.org/axe.js")).default;')
page = '<!DOCTYPE html><html lang="en"><head><title>A</title></head><body><main><h1>A</h1>{body}'
(made / "index.html").write_text(page)
sys.exit({code})
"""


@pytest.fixture
def book(tmp_path: Path) -> Book:
    """A project whose book was built before."""
    made = Book(tmp_path / "a book", {})
    made.write("_book/index.html", "the previous book")
    made.write("_book/.shardwise-book", "")
    return made


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put a program named quarto first on PATH."""

    def install(version: str = "1.10.19", body: str = "<p>new</p>", code: int = 0) -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        source = folder / "quarto.py"
        source.write_text(PROGRAM.format(version=version, body=body, code=code), encoding="utf-8")
        script = folder / "quarto"
        command = shlex.join([sys.executable, str(source)])
        script.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return install


def refusal(book: Book) -> str:
    """Let quarto build a book that must not be taken; the previous one must survive."""
    before = book.content()
    code, out, err = book.run("quarto")
    assert (code, out) == (1, "")
    assert "Traceback" not in err
    assert book.content() == before
    assert not list(book.root.rglob(".shardwise-book-*"))
    return err


def test_a_sound_book_takes_the_place_of_the_old_one(book: Book, install) -> None:
    install()
    book.write(".shardwise/quarto/left over.html", "from a build that failed")
    code, out, err = book.run("quarto")
    assert code == 0, err
    assert str(book.output) in out
    axe = "site_libs/quarto-html/axe/axe-check.js"
    assert set(book.content()) == {"index.html", axe}
    assert b"<p>new</p>" in book.content()["index.html"]
    asked = (book.root / "asked.json").read_text(encoding="utf-8")
    assert '["render", "--output-dir", ".shardwise/quarto"]' in asked
    assert f'"python": "{sys.executable}"' in asked
    assert f'"cwd": "{book.root}"' in asked
    assert book.run("quarto")[0] == 0  # a book of quarto may be replaced as well


def test_a_broken_page_leaves_the_old_book(book: Book, install) -> None:
    install(body='<a href="gone.html">x</a>')
    assert "index.html:1: the link to gone.html leads nowhere" in refusal(book)


def test_a_build_that_fails_leaves_the_old_book(book: Book, install) -> None:
    install(code=3)
    assert "quarto render: it ended with exit code 3" in refusal(book)


@pytest.mark.parametrize("version", ["1.9.37", "0.99.9"])
def test_an_old_quarto_is_refused_before_it_builds(book: Book, install, version: str) -> None:
    install(version)
    said = refusal(book)
    assert f"this is quarto {version}, and the book needs 1.10 or newer" in said
    assert "make book ENGINE=builtin" in said
    assert not (book.root / "asked.json").exists()


def test_what_says_no_version_is_refused(book: Book, install) -> None:
    install("a shop for board games")
    assert "it does not say its version, but: a shop for board games" in refusal(book)


def test_without_quarto(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BookError, match=r"no such program on PATH\n.*ENGINE=builtin"):
        quarto.build(book.root)


def test_strange_folders_are_not_replaced(book: Book, install) -> None:
    install()
    (book.output / ".shardwise-book").unlink()
    assert "holds files that are not a built book" in refusal(book)


def test_the_package_asks_for_the_same_version() -> None:
    oldest = ".".join(map(str, quarto.OLDEST))
    assert f'"quarto-cli>={oldest}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "$(PY) -m shardwise_book quarto\n" in makefile
