"""The EPUB: every chapter, links inside it, pictures in the place of widgets, no scripts."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest
from book.books import Book
from rich.console import Console
from support import ROOT

from shardwise_book.epub import epub
from shardwise_book.errors import BookError

QUIET = Console(file=io.StringIO())
CHECKER = Path("/usr/share/java/epubcheck.jar")  # where Debian's package puts it
CHAPTERS = {
    "chapter/one.qmd": """# One {#sec-one}

::: {.callout-note title="A box" collapse="true"}
See @sec-two, @eq-end and [the second page](two.qmd).
:::

::: {.content-visible when-format="html:js"}
A widget that runs.
:::

::: {.content-visible unless-format="html:js"}
![A ring](data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4=)&nbsp;
:::

```{python}
print("printed")
```
""",
    "chapter/two.qmd": """# Two {#sec-two}

$$
x = 1
$$ {#eq-end}

Back to [the first](one.qmd#sec-one).
""",
}


def is_valid(file):
    """Have epubcheck read the file, where it can be had."""
    if CHECKER.exists() and shutil.which("java"):
        done = subprocess.run(
            ["java", "-jar", str(CHECKER), str(file)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    book = Book(tmp_path_factory.mktemp("epub") / "a book", CHAPTERS)
    return epub(book.root, book.root / "out" / "small.epub", QUIET)


@pytest.fixture(scope="module")
def pages(made):
    with ZipFile(made) as archive:
        names = sorted(name for name in archive.namelist() if re.search(r"ch\d+\.xhtml$", name))
        return [archive.read(name).decode() for name in names]


def test_it_is_an_epub_with_a_file_for_each_chapter(made, pages):
    is_valid(made)
    assert len(pages) == 3
    assert all("<script" not in page for page in pages)
    with ZipFile(made) as archive:
        contents = archive.read("EPUB/content.opf").decode()
    assert "<dc:title" in contents
    assert "A small book" in contents


def test_widgets_are_pictures_and_nothing_is_folded(pages):
    one = pages[1]
    assert "A widget that runs" not in one
    assert 'alt="A ring"' in one
    assert "printed" in one
    assert 'class="callout ' in one
    assert "<details" not in one


def test_references_lead_to_the_file_that_holds_them(pages):
    one, two = pages[1], pages[2]
    assert "Section" in one or "Chapter" in one
    assert re.search(r'href="ch003\.xhtml#sec-two"[^>]*>(?:Section|Chapter).2', one)
    assert re.search(r'href="ch003\.xhtml#eq-end"[^>]*>Equation.2\.1', one)
    assert re.search(r'href="ch003\.xhtml(#sec-two)?"[^>]*>the second page', one)
    assert re.search(r'href="ch002\.xhtml#sec-one"[^>]*>the first', two)
    assert "<math" in two


def test_a_mistake_leaves_the_old_file(tmp_path):
    book = Book(tmp_path, {"chapter/one.qmd": "# One {#sec-one}\n\n@sec-nowhere\n"})
    old = tmp_path / "old.epub"
    old.write_text("old")
    with pytest.raises(BookError, match="sec-nowhere"):
        epub(book.root, old, QUIET)
    assert old.read_text() == "old"


@pytest.mark.long
def test_the_whole_book_is_valid(tmp_path):
    file = epub(ROOT, tmp_path / "book.epub", QUIET)
    is_valid(file)
    assert file.stat().st_size > 100_000
