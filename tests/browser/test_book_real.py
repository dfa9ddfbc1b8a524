"""The book as a reader gets it: each page from disk, no network; the search from a server."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, expect
from support import ROOT
from visiting import THEMES, WIDTHS, Visit, served, violations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES = [
    line.strip().removeprefix("- ").replace(".qmd", ".html")
    for line in (ROOT / "_quarto.yml").read_text(encoding="utf-8").splitlines()
    if re.match(r"\s+- \S+\.qmd$", line)
]


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real") / "the book"
    command = [sys.executable, "-m", "shardwise_book", "build", "--output", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    visit = Visit(browser)
    yield visit
    visit.close()


def test_every_chapter_has_a_page_and_nothing_else_is_one(book):
    pages = {path.relative_to(book).as_posix() for path in book.rglob("*.html")}
    assert len(PAGES) >= 4
    assert pages == set(PAGES)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("href", PAGES)
def test_from_disk_whole_accessible_and_quiet(visit, book, href, width, theme):
    page = visit((book / href).as_uri(), width=width, theme=theme)
    widgets = page.locator("figure[data-widget]")
    expect(page.locator("figure[data-widget][data-ready]")).to_have_count(widgets.count())
    for box in page.locator("main details").all():
        box.evaluate("box => { box.open = true }")
    page.wait_for_timeout(100)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []


def test_the_widgets_of_the_book_answer(visit, book):
    page = visit((book / "chapter/data-parallelism.html").as_uri())
    widget = page.locator("figure[data-widget=RingAllReduce]").first
    said = widget.locator("output")
    before = said.inner_text()
    widget.get_by_role("slider", name="Step").press("ArrowRight")
    expect(said).not_to_have_text(before)


def test_the_first_screen_has_the_promise_and_the_ways_on(visit, book):
    page = visit((book / "index.html").as_uri())
    for name in ("Start reading", "Exercises", "Teach with it"):
        expect(page.get_by_role("link", name=name, exact=True).first).to_be_in_viewport()
    expect(page.locator("figure[data-widget=MemoryBudget]")).to_be_in_viewport()


def test_search_finds_code_and_callouts_of_the_book(visit, book):
    with served(book) as address:
        page = visit(address + "/index.html")
        box = page.get_by_role("searchbox", name="Search the book")
        results = page.locator(".search-results a")
        for word, chapter in (
            ("zero_memory_per_device", "chapter/memory.html"),
            ("ring_all_reduce", "chapter/data-parallelism.html"),
        ):
            box.fill(word)
            expect(results.first).to_have_attribute("href", re.compile(rf"{re.escape(chapter)}#"))
            expect(results.first.locator("mark").first).to_have_text(re.compile(word))
        box.press("Enter")
        page.wait_for_url(re.compile(r"/chapter/data-parallelism\.html#sec-"))
