"""How long a chapter takes to read counts what a reader sees."""

from __future__ import annotations

import pytest
from book.books import Book
from support import ROOT

from shardwise_book.config import load
from shardwise_book.reading import (
    LINES_OF_A_QUOTE,
    LINES_PER_MINUTE,
    LIST,
    WORDS_PER_MINUTE,
    listed,
    minutes,
)

WORDS = "word " * (10 * WORDS_PER_MINUTE) + "\n\n"
CODE = "x = 1\n" * (10 * LINES_PER_MINUTE)
QUOTES = '"shardwise.zero.f", ' * (10 * LINES_PER_MINUTE // LINES_OF_A_QUOTE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 1),
        (WORDS, 10),
        (f"```{{python}}\n{CODE}```\n", 10),
        (f"{WORDS}```{{python}}\n{CODE}```\n{WORDS}", 30),
        (f"{WORDS}```{{python}}\n#| echo: false\n{CODE}```\n", 10),
        (f"{WORDS}```{{python}}\n#| code-fold: true\n{CODE}```\n", 10),
        (f"```{{python}}\n#| echo: false\nquote({QUOTES})\n```\n", 10),
        ("[word](glossary.qmd#term-word){.term} " * (10 * WORDS_PER_MINUTE), 10),
        ("`{python} f'{some} {longer} {words}'` " * (10 * WORDS_PER_MINUTE), 1),
    ],
    ids=["empty", "words", "code", "both", "hidden", "folded", "quoted", "links", "numbers"],
)
def test_minutes_are_those_of_what_is_seen(tmp_path, text, expected):
    chapter = tmp_path / "chapter.qmd"
    chapter.write_text(text, encoding="utf-8")
    assert minutes(chapter) == expected


def test_the_list_of_the_book_is_up_to_date():
    names = load(ROOT).chapters
    found = listed(ROOT / LIST)
    assert list(found) == names
    assert {name: entry["minutes"] for name, entry in found.items()} == {
        name: minutes(ROOT / name) for name in names
    }


def test_a_build_brings_the_list_up_to_date_and_runs_only_what_changed(tmp_path):
    shows = "# Home {.unnumbered}\n\n```{python}\nfrom shardwise_book.reading import listed\n\n"
    shows += "print([page['minutes'] for page in listed().values()])\n```\n"
    counts = "# One {#sec-one}\n\n```{python}\nprint(1)\n```\n"
    book = Book(tmp_path, {"index.qmd": shows, "chapter/one.qmd": counts})
    book.write(LIST.as_posix(), "")
    assert book.build().executed == ["index.qmd", "chapter/one.qmd"]
    assert listed(book.root / LIST)["chapter/one.qmd"] == {"title": "One", "minutes": 1}
    book.write("chapter/one.qmd", counts + "\nA few more words.\n")
    assert book.build().executed == []
    book.write("chapter/one.qmd", counts + "\n" + "word " * (5 * WORDS_PER_MINUTE) + "\n")
    assert book.build().executed == ["index.qmd"]
    assert "[1, 5]" in book.page("index.html").get_text()


def test_a_project_without_a_list_gets_none(tmp_path):
    book = Book(tmp_path, {})
    book.build()
    assert not (book.root / LIST).exists()
