"""The search index: the same twice, without leftovers, and clear when there is nothing."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest
import tiny_book

from shardwise_book import search
from shardwise_book.errors import BookError
from shardwise_book.search import index

if TYPE_CHECKING:
    from pathlib import Path


def digest(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_same_pages_give_the_same_index_and_old_files_go(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    book = tiny_book.write_book(tmp_path / "book")
    index(book)
    first = digest(book / "pagefind")
    (book / "pagefind" / "stale.pf_index").write_text("old", encoding="utf-8")
    index(book)
    assert digest(book / "pagefind") == first
    assert "pagefind.js" in first
    assert not [name for name in first if "ui" in name]
    assert capfd.readouterr() == ("", "")


def test_a_folder_without_pages_is_named(tmp_path: Path):
    with pytest.raises(BookError, match="there is no page in it"):
        index(tmp_path)


@pytest.mark.parametrize(
    ("what", "said"),
    [("kill -9 $$", "exit code -9"), ("exec sleep 60", "more than 1 s"), ("exit 0", "exit code 0")],
)
def test_an_indexer_that_dies_or_hangs_or_writes_nothing_stops_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, said: str
):
    program = tmp_path / "pagefind"
    program.write_text(f"#!/bin/sh\n{what}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PAGEFIND_BINARY_PATH", str(program))
    monkeypatch.setattr(search, "SECONDS", 1, raising=False)
    with pytest.raises(BookError, match=said):
        index(tiny_book.write_book(tmp_path / "book"))
