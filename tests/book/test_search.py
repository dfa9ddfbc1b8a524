"""The search index: the same twice, without leftovers, and clear when there is nothing."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest
import tiny_book

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
