"""Files are written inside the book's folder, each once, under names that addresses can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from book.books import SETTINGS, Book, words

from shardwise_book.compose import compose
from shardwise_book.errors import BookError
from shardwise_book.files import place, write_new
from shardwise_book.render import TEMPLATES
from shardwise_book.scan import scan

if TYPE_CHECKING:
    from pathlib import Path

SVG: list[dict[str, Any]] = [
    {"output_type": "display_data", "data": {"image/svg+xml": "<svg/>", "text/plain": ""}}
]


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x"])
def test_nothing_is_placed_outside(tmp_path: Path, name: str) -> None:
    with pytest.raises(BookError, match="outside the book"):
        place(tmp_path / "book", name)
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_twice(tmp_path: Path) -> None:
    write_new(tmp_path, "a/b", b"first")
    with pytest.raises(BookError, match="two files"):
        write_new(tmp_path, "a/b", b"second")
    assert (tmp_path / "a/b").read_bytes() == b"first"


@pytest.mark.parametrize("label", ["../../x", "a b", "1", "a:b", '""'])
def test_a_label_is_a_name(tmp_path: Path, label: str) -> None:
    text = f"# One\n\n```{{python}}\n#| label: {label}\n1\n```\n"
    (problem,) = Book(tmp_path, {"one.qmd": text}).problems()
    assert (problem.line, "'label' is" in problem.message) == (4, True)


def test_each_cell_has_image_files_of_its_own(tmp_path: Path) -> None:
    book = Book(tmp_path, {})
    cell = "```{{python}}\n#| label: {}\n#| fig-alt: A\n1\n```\n"
    twice = cell.format("a") * 2
    book.write("one.qmd", f"# One\n\n{twice}")
    with pytest.raises(BookError, match=r"one\.qmd:8: the label 'a' is used twice"):
        scan(tmp_path, "one.qmd")
    book.write("one.qmd", f"# One\n\n{cell.format('cell-2')}```{{python}}\n1\n```\n")
    assert len(compose(scan(tmp_path, "one.qmd"), [SVG, SVG], code_fold=False).files) == 2


def chapters(book: Book, names: str) -> None:
    book.write("_quarto.yml", SETTINGS.format(chapters=names, more=""))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("{root}/one.qmd", "does not exist"),
        ("../one.qmd", "does not exist"),
        ("x/../../{folder}/one.qmd", "does not exist"),
        ("./index.qmd", "'index.qmd' is listed twice"),
        ("'a#b.qmd'", "no name for a page"),
        ("'a?b.qmd'", "no name for a page"),
        ("'a%20b.qmd'", "no name for a page"),
        ("'a:b.qmd'", "no name for a page"),
    ],
)
def test_a_chapter_is_a_file_of_the_project(tmp_path: Path, name: str, message: str) -> None:
    book = Book(tmp_path / "book", {"one.qmd": "# One\n"})
    for other in ("../one.qmd", "a#b.qmd", "a?b.qmd", "a%20b.qmd", "a:b.qmd"):
        book.write(other, "# Other\n")
    chapters(book, f"index.qmd, {name.format(root=book.root, folder=book.root.name)}")
    (problem,) = book.problems()
    assert message in problem.message


def test_an_empty_list_of_chapters(tmp_path: Path) -> None:
    book = Book(tmp_path, {})
    chapters(book, "")
    (problem,) = book.problems()
    assert (problem.line, problem.message) == (8, "the book has no chapter")


def test_a_path_has_one_way_to_write_it_and_a_space_is_no_obstacle(tmp_path: Path) -> None:
    book = Book(tmp_path, {"a part/the one.qmd": "# One {#sec-one}\n\n![A dot](dot.svg)\n"})
    book.write("index.qmd", "# Welcome {.unnumbered}\n\nSee @sec-one.\n")
    book.write("a part/dot.svg", "<svg/>")
    chapters(book, "./index.qmd, a part/./the one.qmd")
    book.build()
    link = book.page("index.html").select_one("a.quarto-xref")
    assert link is not None
    assert (link["href"], words(link)) == ("a%20part/the%20one.html#sec-one", "Chapter 1")


def test_a_stylesheet_replaces_no_other(tmp_path: Path) -> None:
    book = Book(tmp_path, {})
    names = ("style.css", "a/style.css", "a/page.js")
    for name in names:
        book.write(name, f".{name[0]} {{}}\n")
    settings = SETTINGS.format(chapters="index.qmd", more="")
    book.write("_quarto.yml", settings.replace("css: style.css", f"css: [{', '.join(names)}]"))
    book.build()
    files = book.content()
    assert [files[f"assets/book/{name}"] for name in names] == [b".s {}\n", b".a {}\n", b".a {}\n"]
    assert files["assets/style.css"] == (TEMPLATES / "style.css").read_bytes()
    assert files["assets/page.js"] == (TEMPLATES / "page.js").read_bytes()
