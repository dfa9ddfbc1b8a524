"""The book as a reader gets it: each page from disk, no network; the search from a server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import expect
from support import ROOT
from visiting import THEMES, WIDTHS, open_all, served, violations

from shardwise.memory import fewest_devices
from shardwise.memory.recipes import RECIPES

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

PAGES = [
    line.strip().removeprefix("- ").replace(".qmd", ".html")
    for line in (ROOT / "_quarto.yml").read_text(encoding="utf-8").splitlines()
    if re.match(r"\s+- \S+\.qmd$", line)
]


def test_every_chapter_has_a_page_and_nothing_else_is_one(book):
    pages = {path.relative_to(book).as_posix() for path in book.rglob("*.html")}
    assert len(PAGES) >= 4
    assert pages == set(PAGES)


def said_to_readers(page: str) -> str:
    """Everything a reader sees or hears that is no code and no output of code as text."""
    soup = BeautifulSoup(page, "lxml")
    for tag in soup.select("script, style, template, code, pre, annotation"):
        tag.decompose()
    names = ("alt", "aria-label", "aria-valuetext", "title")
    heard = [str(tag[name]) for name in names for tag in soup.find_all(attrs={name: True})]
    return "\n".join([soup.get_text(" "), *heard])


# As Python writes a number for itself: 1.2e+02, 3e-05.
FOR_MACHINES = re.compile(r"\d[eE][+-]\d\d")


def test_such_a_number_would_be_found():
    page = '<p>In GB: <code>1e+09</code></p><svg aria-label="7e-05 s"><text>1.2e+02</text></svg>'
    assert FOR_MACHINES.findall(said_to_readers(page)) == ["2e+02", "7e-05"]


@pytest.mark.parametrize("href", PAGES)
def test_no_number_is_written_as_machines_do(book, href):
    text = said_to_readers((book / href).read_text(encoding="utf-8"))
    found = [text[max(0, m.start() - 40) : m.end() + 20] for m in FOR_MACHINES.finditer(text)]
    assert found == []


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("href", PAGES)
def test_from_disk_whole_accessible_and_quiet(visit, book, href, width, theme):
    page = visit((book / href).as_uri(), width=width, theme=theme)
    widgets = page.locator("figure[data-widget]")
    expect(page.locator("figure[data-widget][data-ready]")).to_have_count(widgets.count())
    open_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []


def test_the_widgets_of_the_book_answer(visit, book):
    page = visit((book / "chapter/data-parallelism.html").as_uri())
    widget = page.locator("figure[data-widget=RingAllReduce]").first
    said = widget.locator("output")
    before = said.inner_text()
    widget.get_by_role("slider", name="Step").press("ArrowRight")
    expect(said).not_to_have_text(before)


def tab_to(page: Page, control: Locator) -> None:
    """Press Tab until the focus is on the control, as a reader without a mouse does."""
    for _ in range(300):
        if control.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"Tab does not reach {control}")


def test_the_memory_budget_of_the_book_by_keyboard_alone(visit, book):
    page = visit((book / "chapter/memory.html").as_uri())
    widget = page.locator("figure[data-widget=MemoryBudget]").first
    said = widget.locator("output")

    def operate(control: Locator, *keys: str) -> None:
        tab_to(page, control)
        for key in keys:
            page.keyboard.press(key)

    operate(widget.get_by_role("slider", name="Parameters"), "End")
    expect(said).to_contain_text("2\u00a0T parameters at ZeRO stage 0 on 64\u00a0devices")
    operate(widget.get_by_role("slider", name="Devices"), "End")
    expect(said).to_contain_text("on 4,096\u00a0devices")
    operate(widget.get_by_role("radio", name="0"), "ArrowRight", "ArrowRight", "ArrowRight")
    expect(said).to_contain_text(f"at stage 3: {fewest_devices(2e12, 3, 80e9)}.")
    operate(widget.get_by_role("combobox", name="GPU memory"), "End")
    expect(said).to_contain_text(f"at stage 3: {fewest_devices(2e12, 3, 192e9)}.")
    operate(widget.get_by_role("combobox", name="Bytes per parameter"), "End")
    last = list(RECIPES)[-1]
    expect(said).to_contain_text(f"at stage 3: {fewest_devices(2e12, 3, 192e9, recipe=last)}.")
    operate(widget.get_by_role("slider", name="Activations"), "PageUp", "ArrowRight")
    shown = int(widget.get_by_role("slider", name="Activations").input_value())
    assert shown > 1
    fewest = fewest_devices(2e12, 3, 192e9, recipe=last, reserved_bytes=shown * 10**9)
    expect(said).to_contain_text(f"at stage 3: {fewest}.")
    operate(widget.get_by_role("button", name="Copy link"), "Enter")
    expect(widget.get_by_role("status").last).to_have_text("The link is copied.")


def test_the_ring_of_the_book_by_keyboard_alone(visit, book):
    page = visit((book / "chapter/data-parallelism.html").as_uri())
    page.clock.install(time=0)
    page.clock.pause_at(3_600_000)
    widget = page.locator("figure[data-widget=RingAllReduce]").first
    said = widget.locator("output")
    tab_to(page, widget.get_by_role("slider", name="Devices"))
    page.keyboard.press("ArrowRight")
    expect(said).to_contain_text("Start: 5 devices in a ring")
    for name, sentence in (  # in the order of Tab
        ("First step", "Start"),
        ("Previous step", "Start"),
        ("Play", "Step 1 of 8"),
        ("Next step", "Step 2 of 8"),
        ("Last step", "Step 8 of 8"),
    ):
        tab_to(page, widget.get_by_role("button", name=name))
        page.keyboard.press("Enter")
        expect(said).to_contain_text(sentence)
    expect(said).to_contain_text("25 of 25 cells hold a finished sum.")
    tab_to(page, widget.get_by_role("slider", name="Step"))
    for key, sentence in (("ArrowLeft", "Step 7 of 8"), ("Home", "Start"), ("End", "Step 8 of 8")):
        page.keyboard.press(key)
        expect(said).to_contain_text(sentence)
    page.keyboard.press("Shift+Tab")
    expect(widget.get_by_role("button", name="Last step")).to_be_focused()
    for _ in range(2):
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")  # from the end, playing starts over
    for step in range(1, 9):
        page.clock.run_for(900)
        expect(said).to_contain_text(f"Step {step} of 8")
    expect(said).to_contain_text("Every device holds the whole sum.")
    tab_to(page, widget.get_by_role("button", name="Copy link"))
    page.keyboard.press("Enter")
    expect(widget.get_by_role("status").last).to_have_text("The link is copied.")


def test_the_first_screen_has_the_promise_and_the_ways_on(visit, book):
    page = visit((book / "index.html").as_uri())
    for name in ("Start reading", "Exercises", "Teach with it"):
        expect(page.get_by_role("link", name=name, exact=True).first).to_be_in_viewport()
    expect(page.locator("figure[data-widget=MemoryBudget]")).to_be_in_viewport()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_numbers_of_equations_stand_at_the_edge_of_the_text(visit, book, width):
    page = visit((book / "chapter/memory.html").as_uri(), width=width)
    numbers = page.locator(".equation-number")
    expect(numbers.first).to_have_text(re.compile(r"\(\d+\.1\)"))
    gaps = numbers.evaluate_all(
        "all => all.map(n => n.closest('p').getBoundingClientRect().right"
        " - n.getBoundingClientRect().right)"
    )
    assert max(map(abs, gaps)) < 1


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
