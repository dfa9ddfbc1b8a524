"""The command line: what it says, where, and with which exit code."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from book.books import Book

if TYPE_CHECKING:
    from pathlib import Path


def test_build_then_nothing_to_do(tmp_path: Path) -> None:
    book = Book(tmp_path, {"one.qmd": "# One\n\n`{python} 1 + 1`\n"})
    code, out, err = book.run("build")
    assert (code, "3 pages" in out, "2 pages" in out) == (0, False, True), err
    assert "cells ran in one.qmd" in out
    assert "one.qmd" in err  # the progress
    code, out, _ = book.run("build")
    assert (code, out.startswith("Nothing has changed since the last build (0.")) == (0, True)


def test_output_elsewhere(tmp_path: Path) -> None:
    book = Book(tmp_path / "book", {})
    code, out, err = book.run("build", "--output", "../else where/book")
    assert code == 0, err
    assert (tmp_path / "else where/book/index.html").is_file()
    assert not book.output.exists()
    assert str(tmp_path / "else where/book") in out


def test_mistakes_are_printed_without_a_traceback(tmp_path: Path) -> None:
    code, out, err = Book(tmp_path, {"one.qmd": "# One\n\n@fig-none\n"}).run("build")
    assert (code, out) == (1, "")
    assert err.splitlines()[-3:] == [
        "one.qmd:3: no figure, table, equation or section 'fig-none'",
        "    there is none of this kind",
        "1 problem; nothing was changed.",
    ]


def test_what_the_machine_refuses_is_a_problem(tmp_path: Path) -> None:
    book = Book(tmp_path, {})
    for arguments in (["--output", "/dev/null/x"], []):
        code, _, err = book.run("build", *arguments)
        assert (code, "Traceback" in err, "1 problem" in err) == (1, False, True)
        shutil.rmtree(tmp_path / ".shardwise", ignore_errors=True)
        (tmp_path / ".shardwise").unlink(missing_ok=True)
        book.write(".shardwise", "a file")


def test_no_book_here(tmp_path: Path) -> None:
    book = Book(tmp_path, {})
    (tmp_path / "_quarto.yml").unlink()
    code, _, err = book.run("build")
    assert code == 1
    assert err.startswith("_quarto.yml: not found")
    assert "Traceback" not in err


def test_check(tmp_path: Path) -> None:
    book = Book(tmp_path, {})
    book.build()
    assert book.run("check")[0] == 0
    page = book.output / "index.html"
    page.write_text(
        page.read_text(encoding="utf-8") + '<a href="gone.html">x</a>', encoding="utf-8"
    )
    code, _, err = book.run("check", "_book")
    assert code == 1
    assert "gone.html" in err


@pytest.mark.parametrize("command", [[], ["build"], ["quarto"], ["check"], ["serve"]])
def test_help(tmp_path: Path, command: list[str]) -> None:
    code, out, _ = Book(tmp_path, {}).run(*command, "--help")
    assert (code, out.startswith("usage: python -m shardwise_book")) == (0, True)
