"""Makes small books to build, and reads what comes out."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from bs4 import BeautifulSoup, Tag

from shardwise_book.build import Report, build
from shardwise_book.errors import BookError, Problem

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = """\
project:
  type: book
  execute-dir: project
lang: en
book:
  title: A small book
  author: Nobody
  chapters: [{chapters}]
{more}format:
  html:
    html-math-method: mathml
    number-sections: true
    css: style.css
"""


class Book:
    """A project folder with the files of a book."""

    def __init__(self, root: Path, chapters: dict[str, str], more: str = "") -> None:
        self.root = root
        self.output = root / "_book"
        index = {"index.qmd": "# Welcome {.unnumbered}\n\nA book.\n"}
        files = index | chapters
        self.write("_quarto.yml", SETTINGS.format(chapters=", ".join(files), more=more))
        self.write("style.css", ".mine { color: inherit }\n")
        for name, text in files.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def build(self) -> Report:
        return build(self.root)

    def problems(self) -> list[Problem]:
        """Build a book that must not build; the previous one must survive."""
        before = self.content()
        with pytest.raises(BookError) as caught:
            self.build()
        assert self.content() == before
        assert not list(self.root.rglob(".shardwise-book-*"))
        return caught.value.problems

    def content(self) -> dict[str, bytes]:
        files = (path for path in self.output.rglob("*") if path.is_file())
        return {path.relative_to(self.output).as_posix(): path.read_bytes() for path in files}

    def page(self, name: str) -> Tag:
        text = (self.output / name).read_text(encoding="utf-8")
        main = BeautifulSoup(text, "lxml").find("main")
        assert isinstance(main, Tag)
        return main

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the command line in the book's folder, in a process group of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "shardwise_book", *arguments],
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # A shell that runs the tests in the background has them ignore this signal.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def run(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err


def words(element: Tag | None) -> str:
    """Return an element's text with single spaces."""
    assert element is not None
    return " ".join(element.get_text().replace("\u00a0", " ").split())


def is_running(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False
