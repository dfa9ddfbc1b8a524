"""The text of the built book: valid HTML, written as the house writes, addresses in one list."""

from __future__ import annotations

import io
import subprocess
from itertools import pairwise

import pytest
from bs4 import BeautifulSoup
from rich.console import Console
from support import ROOT

from shardwise_book.links import LIST, outside
from shardwise_book.prose import problems

VALIDATOR = ROOT / "widgets" / "node_modules" / ".bin" / "html-validate"


def validate(*files):
    config = ROOT / "widgets" / "htmlvalidate.json"
    command = [str(VALIDATOR), "--config", str(config), "--formatter", "text", *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_pages_are_valid_html(book):
    done = validate(*sorted(book.rglob("*.html")))
    assert done.returncode == 0, done.stdout[:3000] + done.stderr[:1000]


def test_invalid_html_would_be_found(tmp_path):
    (tmp_path / "a.html").write_text("<!DOCTYPE html><html><p><div id='a'></div><b id='a'>")
    assert validate(tmp_path / "a.html").returncode == 1


def test_the_text_is_written_as_the_house_writes():
    found = problems(ROOT, Console(file=io.StringIO()))
    assert not found, "\n".join(map(str, found))


def test_headings_go_down_one_level_at_a_time(book):
    for page in sorted(book.rglob("*.html")):
        soup = BeautifulSoup(page.read_text(encoding="utf-8"), "lxml")
        levels = [int(h.name[1]) for h in soup.select("h1, h2, h3, h4, h5, h6")]
        assert levels[0] == 1, page
        assert levels.count(1) == 1, page
        steps = pairwise(levels)
        assert all(after <= before + 1 for before, after in steps), page


def test_outside_addresses_stand_in_one_list(book):
    listed = [line.split()[0] for line in (ROOT / LIST).read_text().splitlines() if line]
    assert listed == sorted(outside(book)), f"run: python -m shardwise_book links > {LIST}"


@pytest.mark.parametrize("address", ["http://", "https://"])
def test_addresses_are_whole(book, address):
    assert all(found != address for found in outside(book))


@pytest.mark.parametrize("href", ["chapter/pipeline-parallelism.html", "chapter/memory.html"])
def test_a_page_prints_within_the_paper_and_without_controls(visit, book, href):
    page = visit((book / href).as_uri(), width=794)  # A4 at 96 dots per inch
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 794
    for hidden in (".sw-controls", ".quiz-check", ".progress", ".side", ".copy-code"):
        assert not page.locator(f"{hidden}:visible").count(), hidden
    for shown in ("figure[data-widget] svg", ".quiz-question", "figcaption"):
        assert page.locator(f"{shown}:visible").count(), shown
