"""The folder of the book: one build at a time, and nothing is left of one that was killed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from shardwise_book.output import space_beside

if TYPE_CHECKING:
    from pathlib import Path


def test_what_a_killed_build_left_is_swept_and_the_old_book_put_back(tmp_path: Path) -> None:
    left = tmp_path / ".shardwise/.shardwise-book-_book-killed"
    (left / "old").mkdir(parents=True)
    (left / "old/index.html").write_text("old", encoding="utf-8")
    (left / "new").mkdir()
    with space_beside(tmp_path, tmp_path / "_book") as space:
        assert list((tmp_path / ".shardwise").iterdir()) == [space]
        assert (tmp_path / "_book/index.html").read_text(encoding="utf-8") == "old"
    assert list((tmp_path / ".shardwise").iterdir()) == []


def test_a_build_that_still_works_is_waited_for(tmp_path: Path) -> None:
    entered, order = threading.Event(), []

    def second() -> None:
        entered.set()
        with space_beside(tmp_path, tmp_path / "_book"):
            order.append("second")

    thread = threading.Thread(target=second)
    with space_beside(tmp_path, tmp_path / "_book") as space:
        thread.start()
        assert entered.wait(5)
        thread.join(0.3)
        assert space.is_dir()
        order.append("first")
    thread.join(5)
    assert order == ["first", "second"]
