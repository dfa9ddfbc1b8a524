"""The page in a real browser: from disk and from a server, both themes, by keyboard, with no network."""

# ruff: noqa: E501 - a line of markup is easier to read whole

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest
import tiny_book
from playwright.sync_api import expect
from visiting import AXE, THEMES, WIDTHS, open_all, served, violations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# 17 px and the steps of 1.2 around it, and code at 0.88 em of each.
SCALE = [17 * 1.2**step for step in range(-1, 5)]


@pytest.fixture(scope="session")
def address(tiny_site: Path) -> Iterator[str]:
    with served(tiny_site) as address:
        yield address


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("href", tiny_book.PAGES)
def test_from_disk_accessible_and_never_wider_than_the_screen(visit, tiny_site, href, width, theme):
    page = visit((tiny_site / href).as_uri(), width=width, theme=theme)
    if width < 1100:
        page.get_by_role("button", name="Contents").click()
    open_all(page)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect(page.locator("body")).to_have_class(re.compile(f"quarto-{theme}"))


def test_the_theme_is_chosen_kept_and_there_before_anything_is_painted(visit, tiny_site):
    page = visit((tiny_site / "index.html").as_uri())
    toggle = page.get_by_role("button", name="Colour theme")
    expect(toggle).to_have_accessible_name("Colour theme: as the system. Change to light")
    toggle.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(toggle).to_have_accessible_name("Colour theme: dark. Change to as the system")
    expect(page.locator("#sw-announce")).to_have_text("Colour theme: dark")
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(20, 24, 29)"
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    page.goto((tiny_site / "chapter/memory.html").as_uri())
    assert page.evaluate(background) == "rgb(20, 24, 29)"
    # The script that sets it comes before everything that could be painted.
    first = page.evaluate(
        "[...document.body.children].slice(0, 2).map(e => e.className || e.tagName)"
    )
    assert first == ["SCRIPT", "skip-link"]
    toggle.click()
    expect(page.locator("body")).to_have_class("quarto-light")
    page.emulate_media(color_scheme="dark")
    expect(page.locator("body")).to_have_class("quarto-dark")


def test_a_browser_that_stores_nothing_still_shows_the_page(visit, tiny_site):
    page = visit("about:blank")
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused') } })"
    )
    page.goto((tiny_site / "chapter/memory.html").as_uri())
    page.get_by_role("button", name="Colour theme").click()
    expect(page.get_by_role("button", name="Colour theme: light")).to_be_visible()


def test_the_code_is_copied_as_it_stands(visit, address):
    page = visit(
        address + "/chapter/memory.html", permissions=["clipboard-read", "clipboard-write"]
    )
    box = page.locator("div.sourceCode", has_text="okapi")
    box.get_by_role("button", name="Copy the code").click()
    expect(page.locator("#sw-announce")).to_have_text("Code copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("# A comment that explains why")
    assert copied.endswith('print(f"{okapi(7.5e9):.2f} GB", okapi)')
    assert page.locator(".cell-output .copy-code").count() == 0


def test_copying_works_where_the_clipboard_is_refused(visit, tiny_site):
    page = visit("about:blank")
    page.add_init_script(
        "navigator.clipboard.writeText = () => Promise.reject(new Error('refused'));"
        "document.addEventListener('copy', () => { window.copied = String(document.activeElement.value) })"
    )
    page.goto((tiny_site / "chapter/memory.html").as_uri())
    page.locator(".code-box .copy-code").click()
    expect(page.locator("#sw-announce")).to_have_text("Code copied")
    assert page.evaluate("window.copied") == "plain text in a box"


def test_search_by_keyboard_finds_words_of_callouts_and_code(visit, address):
    page = visit(address + "/chapter/ring.html")
    assert not [url for url in visit.requests if "/pagefind/" in url]
    page.keyboard.press("Control+k")
    box = page.get_by_role("searchbox", name="Search the book")
    expect(box).to_be_focused()
    results = page.locator(".search-results a")
    for word in ("okapi", "quagga", "zero_memory_per_device"):
        box.fill(word)
        expect(page.locator(".search-status")).to_have_text("1 place found")
        expect(results).to_contain_text("Training memory")
    box.fill("numbat")
    expect(results).to_have_text(re.compile(r"Data parallelism: Cost.*numbat"))
    box.fill("words")
    expect(results.nth(1)).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(results.first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(results.nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(box).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#sw-search-panel")).to_be_hidden()
    expect(box).to_have_value("")
    page.keyboard.type("okapi")
    expect(results).to_have_count(1)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/chapter/memory\.html#sec-keeps$"))


def test_search_says_when_there_is_nothing_and_never_finds_the_navigation(visit, address):
    page = visit(address + "/index.html")
    box = page.get_by_role("searchbox")
    for word in ("aardvark", "Previous", "Skip"):
        box.fill(word)
        expect(page.locator(".search-status")).to_have_text(f"Nothing found for “{word}”.")
    assert violations(page) == []


def test_search_with_results_is_accessible(visit, address):
    page = visit(address + "/index.html", width=360, theme="dark")
    page.get_by_role("button", name="Contents").click()
    page.get_by_role("searchbox").fill("words")
    expect(page.locator(".search-results a").first).to_be_visible()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_search_from_disk_says_what_it_needs(visit, tiny_site):
    page = visit((tiny_site / "chapter/memory.html").as_uri())
    page.get_by_role("searchbox").focus()
    expect(page.locator(".search-status")).to_contain_text("needs a web server")
    expect(page.locator(".search-status")).to_contain_text("make serve")
    page.keyboard.press("Tab")
    expect(page.locator("#sw-search-panel")).to_be_hidden()


def test_search_without_an_index_says_so(visit, address):
    page = visit("about:blank")
    visit.expected = "404|pagefind"
    page.route("**/pagefind/**", lambda route: route.fulfill(status=404))
    page.goto(address + "/index.html")
    page.get_by_role("searchbox").fill("okapi")
    expect(page.locator(".search-status")).to_contain_text("could not be loaded")


def test_the_contents_follow_the_reading(visit, tiny_site):
    page = visit((tiny_site / "chapter/ring.html").as_uri())
    current = page.locator(".toc [aria-current]")
    page.locator("#sec-step-3").evaluate("e => e.scrollIntoView()")
    expect(current).to_have_text("2.4 Step 3")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(current).to_have_text("2.7 Cost")


def test_the_menu_of_a_narrow_screen_is_a_disclosure(visit, tiny_site):
    page = visit((tiny_site / "chapter/ring.html").as_uri(), width=360)
    button = page.get_by_role("button", name="Contents")
    chapters = page.get_by_role("navigation", name="Chapters")
    expect(button).to_have_attribute("aria-expanded", "false")
    expect(chapters).to_be_hidden()
    button.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(chapters).to_be_visible()
    page.get_by_role("searchbox").press("Escape")
    page.locator(".chapters a").first.press("Escape")
    expect(chapters).to_be_hidden()
    expect(button).to_be_focused()
    button.click()
    page.locator(".toc a", has_text="Cost").click()
    expect(chapters).to_be_hidden()


def test_without_scripts_the_text_and_the_way_through_it_are_there(visit, tiny_site):
    page = visit((tiny_site / "chapter/memory.html").as_uri(), width=360, java_script_enabled=False)
    expect(page.get_by_role("navigation", name="Chapters")).to_be_visible()
    expect(page.get_by_role("searchbox")).to_be_hidden()
    expect(page.get_by_role("button")).to_have_count(0)


def test_the_first_stop_leads_past_the_navigation(visit, tiny_site):
    page = visit((tiny_site / "chapter/ring.html").as_uri())
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the text")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


@pytest.mark.parametrize("width", WIDTHS)
def test_every_target_is_large_enough_and_every_focus_is_seen(visit, tiny_site, width):
    page = visit((tiny_site / "chapter/memory.html").as_uri(), width=width)
    if width < 1100:
        page.get_by_role("button", name="Contents").click()
    # Links inside a line of text are exempt, as in WCAG 2.5.8.
    targets = page.locator("button, input, summary, nav a, .brand").all()
    assert len(targets) > 12
    for target in targets:
        if not target.is_visible():
            continue
        box = target.bounding_box()
        assert box["height"] >= 40, target.evaluate("e => e.outerHTML")
        assert box["width"] >= 40, target.evaluate("e => e.outerHTML")
        page.keyboard.press("Tab")  # so that the focus is one that is shown
        target.focus()
        assert target.evaluate("e => getComputedStyle(e).outlineStyle") != "none"


@pytest.mark.parametrize("width", WIDTHS)
def test_long_lines_scroll_in_boxes_that_the_keyboard_reaches(visit, tiny_site, width):
    page = visit((tiny_site / "chapter/memory.html").as_uri(), width=width)
    for name in ("Code", "Table", "Equation", "Figure")[: 4 if width < 520 else 3]:
        box = page.get_by_role("group", name=f"{name}, scrolls sideways").first
        expect(box).to_have_attribute("tabindex", "0")
        box.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("() => document.activeElement.scrollLeft > 0")


def test_sizes_are_steps_of_the_scale_and_lines_are_as_long_as_is_easy_to_read(visit, tiny_site):
    page = visit((tiny_site / "chapter/memory.html").as_uri())
    sizes = page.evaluate(
        "[...document.querySelectorAll('body *:not(math *, script, sup)')].filter(e => e.innerText?.trim())"
        ".map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    allowed = [*SCALE, *(0.88 * size for size in SCALE)]
    odd = {size for size in sizes if all(abs(size - step) > 0.1 for step in allowed)}
    assert odd == set()
    # Average letters of English are about 0.89 of the digit whose width is the unit ch.
    measure = page.evaluate(
        "(() => { const p = document.querySelector('main p:not(.label)');"
        "const ruler = document.createElement('span');"
        "ruler.textContent = 'the reader can tell whether the measure suits the eye that comes back '.repeat(3);"
        "ruler.style.cssText = 'position:absolute;white-space:pre'; p.append(ruler);"
        "const letter = ruler.getBoundingClientRect().width / ruler.textContent.length; ruler.remove();"
        "return p.getBoundingClientRect().width / letter })()"
    )
    assert 66 <= measure <= 72


@pytest.mark.parametrize("theme", THEMES)
def test_code_colours_can_be_read(visit, tiny_site, theme):
    page = visit((tiny_site / "chapter/memory.html").as_uri(), theme=theme)
    page.add_script_tag(path=AXE)
    ratios = page.evaluate(
        """() => {
          const ratio = (a, b) => { const [x, y] = [a, b].map(c => c.getRelativeLuminance()).sort((p, q) => q - p);
            return (x + 0.05) / (y + 0.05); };
          const colour = text => { const c = new axe.commons.color.Color(); c.parseString(text); return c; };
          return [...document.querySelectorAll("code span[class]")].map(span => ratio(
            colour(getComputedStyle(span).color),
            colour(getComputedStyle(span.closest("div.sourceCode")).backgroundColor)));
        }"""
    )
    assert len(ratios) > 10
    assert min(ratios) >= 4.5


def test_paper_is_light_and_shows_what_is_folded(visit, tiny_site):
    page = visit((tiny_site / "chapter/memory.html").as_uri(), theme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    expect(page.locator("body")).to_have_class("quarto-light")
    expect(page.get_by_text("Inside the tip.")).to_be_visible()
    for name in (".side", ".toc", ".copy-code", ".prev-next"):
        expect(page.locator(name).first).to_be_hidden()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    expect(page.locator("body")).to_have_class("quarto-dark")
    expect(page.get_by_text("Inside the tip.")).to_be_hidden()


ASKING = """<table background="http://asked.invalid/table"><tr><td>x</td></tr></table>
<script>new Image().src = 'http://asked.invalid/image'; fetch('http://asked.invalid/fetch').catch(() => {});
addEventListener('load', () => { document.title = 'asked' })</script>"""


@pytest.mark.parametrize("from_disk", [True, False])
def test_a_page_that_asks_elsewhere_gets_no_answer_and_sends_no_request(
    browser, tiny_site, tmp_path, from_disk
):
    book = tmp_path / "book"
    shutil.copytree(tiny_site, book)
    path = book / "index.html"
    path.write_text(
        path.read_text(encoding="utf-8").replace("</main>", ASKING + "</main>"), "utf-8"
    )
    page = browser.new_page()
    sent = []
    page.route(
        "http://asked.invalid/**", lambda route: (sent.append(route.request.url), route.abort())
    )
    with served(book) as address:
        page.goto(path.as_uri() if from_disk else address + "/index.html")
        expect(page).to_have_title("asked")
        page.wait_for_load_state("networkidle")
    assert sent == []
    assert page.evaluate("document.styleSheets.length") > 0
    page.close()
