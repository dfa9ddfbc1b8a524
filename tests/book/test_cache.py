"""Cells run once for each set of causes; an interrupted build loses nothing and leaves nothing."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest
from book.books import Book, is_running

from shardwise_book import convert
from shardwise_book.execute import causes_key

if TYPE_CHECKING:
    from pathlib import Path

COUNTING = """# Counting

```{python}
from pathlib import Path
from lib.thing import WORD

with Path("runs.txt").open("a") as runs:
    print(Path.cwd().name, file=runs)
```

The word is `{python} WORD`.
"""
SLEEPING = """# Sleeping

```{python}
import os, time
from pathlib import Path
Path("pid.txt").write_text(str(os.getpid()))
time.sleep(120)
```
"""


@pytest.fixture
def book(tmp_path: Path) -> Book:
    made = Book(tmp_path, {"one.qmd": COUNTING})
    made.write("lib/thing.py", "WORD = 'first'\n")
    return made


def runs(book: Book) -> int:
    return len((book.root / "runs.txt").read_text(encoding="utf-8").splitlines())


def test_cells_run_once_and_again_when_a_cause_changes(book: Book) -> None:
    first = book.build()
    assert (first.changed, first.executed, runs(book)) == (True, ["one.qmd"], 1)
    assert (book.root / "runs.txt").read_text(encoding="utf-8").strip() == book.root.name

    same = book.build()
    assert (same.changed, same.executed, runs(book)) == (False, [], 1)

    book.write("one.qmd", COUNTING.replace("# Counting", "# A new title"))
    text = book.build()
    assert (text.changed, text.executed, runs(book)) == (True, [], 1)
    assert "A new title" in book.page("one.html").get_text()

    book.write("lib/thing.py", "WORD = 'second'\n")
    library = book.build()
    assert (library.executed, runs(book)) == (["one.qmd"], 2)
    assert "The word is second." in book.page("one.html").get_text()

    book.write("one.qmd", COUNTING.replace("print(", "print('x',"))
    assert (book.build().executed, runs(book)) == (["one.qmd"], 3)


@pytest.mark.parametrize(
    "cause", ["requirements.lock", "widgets/src/ring/model.js", "chapter/a.py"]
)
def test_other_causes(book: Book, cause: str) -> None:
    book.build()
    book.write(cause, "changed")
    assert (book.build().executed, runs(book)) == (["one.qmd"], 2)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("lib/data.json", True),
        ("lib/a/b.txt", True),
        ("widgets/package.json", True),
        ("widgets/build.mjs", True),
        ("pyproject.toml", True),
        ("widgets/node_modules/a.js", False),
        ("lib/__pycache__/a.pyc", False),
        ("other/a.json", False),
    ],
)
def test_which_files_are_causes(tmp_path: Path, name: str, *, counts: bool) -> None:
    before = causes_key(tmp_path)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("new", encoding="utf-8")
    assert (causes_key(tmp_path) != before) == counts


READING = """# Reading

```{python}
from pathlib import Path

PARTS = ["data/words.txt", "two.qmd", "data/later.txt"]
TEXT = " ".join(Path(part).read_text() for part in PARTS if part != PARTS[2])
try:
    TEXT += open(PARTS[2]).read()
except FileNotFoundError:
    TEXT += " (nothing)"
with Path("runs.txt").open("a") as runs:
    print("ran", file=runs)
```

Read: `{python} TEXT.split()[0]`, `{python} len(TEXT)` letters.
"""


def test_what_a_cell_opens_is_a_cause_and_what_it_writes_is_none(tmp_path: Path) -> None:
    book = Book(tmp_path, {"one.qmd": READING, "two.qmd": "# Two\n"})
    book.write("data/words.txt", "first")
    book.write("data/other.txt", "never opened")
    assert (book.build().executed, runs(book)) == (["one.qmd"], 1)
    (book.root / "runs.txt").write_text("", encoding="utf-8")
    book.write("data/other.txt", "still never opened")
    assert not book.build().changed

    book.write("data/words.txt", "second")
    assert book.build().executed == ["one.qmd"]
    assert "Read: second" in book.page("one.html").get_text()

    book.write("two.qmd", "# Two\n\nWith more words.\n")
    before = book.page("one.html").get_text()
    assert book.build().executed == ["one.qmd"]
    assert book.page("one.html").get_text() != before

    book.write("data/later.txt", "it was missing before")
    assert book.build().executed == ["one.qmd"]
    book.write("one.qmd", READING + "\nMore text.\n")
    assert book.build().executed == []


def test_a_touched_book_is_built_again_without_running_cells(book: Book) -> None:
    book.build()
    before = book.content()
    (book.output / "one.html").write_text("scribble", encoding="utf-8")
    again = book.build()
    assert (again.changed, again.executed, runs(book)) == (True, [], 1)
    assert book.content() == before


def test_a_damaged_cache_is_no_obstacle(book: Book) -> None:
    book.build()
    for path in (book.root / ".shardwise/cache").iterdir():
        path.write_text("{", encoding="utf-8")
    assert book.build().executed == ["one.qmd"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_leaves_nothing_half_written(book: Book, how: signal.Signals) -> None:
    book.build()
    before = book.content()
    settings = (book.root / "_quarto.yml").read_text(encoding="utf-8")
    book.write("_quarto.yml", settings.replace("one.qmd", "one.qmd, two.qmd"))
    book.write("one.qmd", COUNTING + "\nMore text.\n")
    book.write("two.qmd", SLEEPING)
    process = book.start("build")
    pid = book.root / "pid.txt"
    deadline = time.monotonic() + 60
    while not (pid.is_file() and pid.read_text(encoding="utf-8")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(process.pid, how)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Interrupted" in err
    assert "Traceback" not in err
    assert book.content() == before
    assert not list(book.root.rglob(".shardwise-book-*"))
    assert not is_running(int(pid.read_text(encoding="utf-8")))

    book.write("two.qmd", "# No longer sleeping\n")
    after = book.build()
    assert (after.executed, runs(book)) == ([], 1)
    assert "More text." in book.page("one.html").get_text()


def test_only_a_changed_chapter_is_converted_again(tmp_path, monkeypatch):
    one, two = "# One {#sec-one}\n\nWords.\n", "# Two {#sec-two}\n\nSee @sec-one.\n"
    book = Book(tmp_path, {"one.qmd": one, "two.qmd": two})
    asked = []
    run = convert._filtered

    def filtered(config, told, metadata, text):
        asked.append(text)
        return run(config, told, metadata, text)

    monkeypatch.setattr(convert, "_filtered", filtered)
    book.build()
    first = book.content()
    assert len(asked) == 3
    book.write("one.qmd", one + "\nMore words.\n")
    book.build()
    assert len(asked) == 4
    assert "More words." in asked[-1]
    book.write("one.qmd", one)
    book.build()
    assert book.content() == first
    (kept,) = tmp_path.glob(".shardwise/cache/two.html.json")
    kept.write_text('{"key": 5')
    book.write("one.qmd", one + "\nOther words.\n")
    book.build()
    assert len(asked) == 7
    assert "Chapter\u00a01" in book.page("two.html").get_text()
