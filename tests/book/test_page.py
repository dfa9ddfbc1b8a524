"""The page template: landmarks, the way through the book, nothing that needs a server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import tiny_book
from bs4 import BeautifulSoup

from shardwise_book.check import check_site
from shardwise_book.render import TEMPLATES, Link, render

if TYPE_CHECKING:
    from pathlib import Path


def soup(folder: Path, href: str) -> BeautifulSoup:
    return BeautifulSoup((folder / href).read_text(encoding="utf-8"), "html.parser")


def test_the_check_finds_nothing_in_what_the_template_adds(tiny_site: Path):
    unresolved = [p for p in check_site(tiny_site) if "cross-reference" not in p.message]
    assert unresolved == []


@pytest.mark.parametrize("href", tiny_book.PAGES)
def test_landmarks_one_title_and_a_way_past_the_navigation(tiny_site: Path, href: str):
    page = soup(tiny_site, href)
    assert len(page.find_all("main")) == len(page.find_all("h1")) == 1
    assert page.find("h1").find_parent("main")
    assert page.select_one('form[role="search"] label[for="sw-search-box"]')
    assert page.select_one('nav[aria-label="Chapters"]')
    assert page.find("body").find("a")["href"] == "#sw-main"
    assert page.find("html")["lang"] == "en"


def test_the_sidebar_marks_the_current_chapter_only(tiny_site: Path):
    current = soup(tiny_site, "chapter/memory.html").select(".chapters [aria-current=page]")
    assert [link["href"] for link in current] == ["../chapter/memory.html"]


def test_the_contents_of_the_page_are_nested(tiny_site: Path):
    toc = soup(tiny_site, "chapter/memory.html").select_one("nav.toc")
    assert [a["href"] for a in toc.select("nav > ol > li > a")] == ["#sec-keeps", "#sec-figure"]
    assert [a["href"] for a in toc.select("ol ol a")] == ["#sec-table"]


def test_the_first_page_has_no_contents_of_the_page(tiny_site: Path):
    page = soup(tiny_site, "index.html")
    assert page.select_one("nav.toc") is None
    assert page.select_one(".menu-toggle")["aria-controls"] == "sw-menu"


def test_previous_and_next_only_where_there_is_one(tiny_site: Path):
    def ways(href: str) -> list[str]:
        return [a["href"] for a in soup(tiny_site, href).select(".prev-next a")]

    assert ways("index.html") == ["chapter/memory.html"]
    assert ways("chapter/memory.html") == ["../index.html", "../chapter/ring.html"]
    assert ways("chapter/ring.html") == ["../chapter/memory.html"]


def test_titles_are_escaped_and_maths_in_them_is_not():
    href = "chapter/memory.html"
    page = tiny_book.page_for(href)
    hostile = Link("../index.html", "<script>alert(1)</script>")
    text = render(tiny_book.site_for(href), type(page)(**{**vars(page), "next": hostile}))
    assert "<script>alert(1)</script>" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_scripts_are_classic_because_a_file_may_not_load_modules(tiny_site: Path):
    for script in soup(tiny_site, "chapter/memory.html").find_all("script"):
        assert "type" not in script.attrs
    source = (TEMPLATES / "page.js").read_text(encoding="utf-8")
    assert not re.search(r"^\s*(import|export)\s", source, re.MULTILINE)


def test_the_licence_and_the_version_are_at_the_foot(tiny_site: Path):
    foot = soup(tiny_site, "index.html").select_one("footer").get_text(" ", strip=True)
    assert "version 0.1.0" in foot
    assert "CC BY 4.0" in foot
    assert "MIT" in foot


@pytest.mark.parametrize("name", ["style.css", "../../../chapter/style/shardwise.css"])
def test_every_colour_is_one_of_the_palette(name: str):
    style = (TEMPLATES / name).read_text(encoding="utf-8")
    known = set(re.findall(r"(--[\w-]+):", style + tiny_book.LOOK.read_text(encoding="utf-8")))
    assert set(re.findall(r"var\((--[\w-]+)", style)) <= known | {"--measure"}


@pytest.mark.parametrize("name", ["style.css", "../../../chapter/style/shardwise.css"])
def test_spaces_are_multiples_of_four(name: str):
    style = (TEMPLATES / name).read_text(encoding="utf-8")
    found = re.findall(r"\b(?:margin|padding|gap)[\w-]*:([^;]*);", style)
    lengths = {float(px) for value in found for px in re.findall(r"\b(\d+)px", value)}
    assert {px for px in lengths if px % 4} <= {1.0}  # the one pixel of what is visually hidden
