"""Pages after the last chapter, with letters in the place of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from book.books import SETTINGS, Book, words

if TYPE_CHECKING:
    from pathlib import Path

ONE = "# One {#sec-one}\n\nSee @sec-guide, @sec-deep and @fig-a.\n"
GUIDE = """# A guide {#sec-guide}

## Deep {#sec-deep}

See @sec-one.

![A line.](a.svg){#fig-a fig-alt="A line"}
"""
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path d="M0 0h9"/></svg>'


@pytest.fixture
def book(tmp_path: Path) -> Book:
    made = Book(tmp_path / "book", {"one.qmd": ONE})
    settings = SETTINGS.format(chapters="index.qmd, one.qmd", more="")
    made.write("_quarto.yml", settings.replace("author:", "appendices: [guide.qmd]\n  author:"))
    made.write("guide.qmd", GUIDE)
    made.write("a.svg", PICTURE)
    return made


def test_an_appendix_has_a_letter_on_its_page_and_where_others_name_it(book: Book) -> None:
    book.build()
    guide, one = book.page("guide.html"), book.page("one.html")
    assert "Appendix A" in words(guide.header)
    assert "A.1 Deep" in words(guide)
    assert "See Chapter 1." in words(guide)
    assert "See Appendix A, Section A.1 and Figure A.1." in words(one)
    assert "Chapter 1" in words(one.header)


def test_an_appendix_is_listed_once(book: Book) -> None:
    book.write("_quarto.yml", (book.root / "_quarto.yml").read_text().replace("guide", "one"))
    (problem,) = book.problems()
    assert "'one.qmd' is listed twice" in problem.message


def test_an_appendix_must_exist(book: Book) -> None:
    (book.root / "guide.qmd").unlink()
    (problem,) = book.problems()
    assert "'guide.qmd' does not exist" in problem.message
