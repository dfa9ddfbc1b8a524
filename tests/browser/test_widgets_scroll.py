"""What is too wide for its box says so at the edge where it goes on."""

# ruff: noqa: E501 - a line of script is easier to read whole

from __future__ import annotations

import io
import re
import shutil
from typing import TYPE_CHECKING, Any

import matplotlib.image
import pytest
from visiting import THEMES, WIDTHS, open_all

from shardwise_widgets.base import built

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Locator, Page

# Every kind of box that scrolls sideways, and the widths at which those of the tiny book have to.
BOXES = {
    "code": ("main div.sourceCode > pre", WIDTHS),
    "table": ("main div:has(> table)", (360,)),
    "figure": ("main .cell-output-display:has(> svg)", (360,)),
    "equation": ("main p:has(> math[display=block]) >> nth=1", WIDTHS),
}
CASES = [(selector, width) for selector, widths in BOXES.values() for width in widths]


def shades(box: Locator) -> tuple[bool, bool]:
    """Whether the left and the right edge of a box are painted in another colour than its middle."""
    image = matplotlib.image.imread(io.BytesIO(box.screenshot()))[..., :3]
    row = image[len(image) // 2]
    ground = row[len(row) // 2]
    left, right = row[5:15], row[-15:-2]  # an output has a line before it
    return bool(abs(left - ground).max() > 0.03), bool(abs(right - ground).max() > 0.03)


def opened(visit: Any, site: Path, width: int, theme: str) -> Page:
    page: Page = visit((site / "chapter/memory.html").as_uri(), width=width, theme=theme)
    open_all(page)
    page.add_style_tag(
        content="""main pre > code, main table > *, main .cell-output-display > svg, main math { opacity: 0 }
        main * { outline: none !important }"""
    )
    return page


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("selector", "width"), CASES)
def test_a_shade_says_where_it_goes_on(
    visit: Any, tiny_site: Path, selector: str, width: int, theme: str
) -> None:
    page = opened(visit, tiny_site, width, theme)
    box = page.locator(selector).first
    room = box.evaluate("(box) => box.scrollWidth - box.clientWidth")
    assert room > 40
    assert shades(box) == (False, True)
    box.evaluate("(box, left) => { box.scrollLeft = left }", room / 2)
    assert shades(box) == (True, True)
    box.evaluate("(box, left) => { box.scrollLeft = left }", room)
    assert shades(box) == (True, False)


@pytest.mark.parametrize("width", WIDTHS)
def test_what_fits_has_no_shade(visit: Any, tiny_site: Path, width: int) -> None:
    page = opened(visit, tiny_site, width, "light")
    fitting = 0
    for box in page.locator("main pre, main .cell-output-display:has(> svg)").all():
        if box.evaluate("(box) => box.scrollWidth <= box.clientWidth"):
            fitting += 1
            assert shades(box) == (False, False), box.inner_text()
    assert fitting > 1


@pytest.mark.parametrize("width", WIDTHS)
def test_the_copy_button_covers_no_code(visit: Any, tiny_site: Path, width: int) -> None:
    page = visit((tiny_site / "chapter/memory.html").as_uri(), width=width)
    open_all(page)
    covered = page.evaluate(
        """() => [...document.querySelectorAll('main .copy-code')].flatMap((button) => {
          const [icon, pre] = [button.getBoundingClientRect(), button.parentElement.querySelector('pre')];
          const [shown, range] = [pre.getBoundingClientRect(), document.createRange()];
          range.selectNodeContents(pre);
          return [...range.getClientRects()]
            .filter((line) => line.width > 0 && line.top < icon.bottom - 1 && line.bottom > icon.top
              && Math.min(line.right, shown.right) > icon.left + 1)
            .map((line) => [pre.textContent.slice(0, 30), line.top, icon.bottom, line.right, icon.left]);
        })"""
    )
    assert page.locator("main .copy-code").count() >= 3
    assert covered == []


@pytest.mark.parametrize("width", WIDTHS)
def test_the_commands_of_the_first_page_are_no_wider_than_its_widget(
    visit: Any, tiny_site: Path, tmp_path: Path, width: int
) -> None:
    site = tmp_path / "site"
    shutil.copytree(tiny_site, site)
    home = site / "index.html"
    blocks = (
        f'<style>{built("widgets.css")}</style><div class="shardwise-widget"><div class="sw-root">A widget</div></div>'
        '<div class="sourceCode"><pre><code>make solve</code></pre></div><pre><code>make grade</code></pre>'
    )
    text, count = re.subn(r"<p>Three pages\.</p>", blocks, home.read_text(encoding="utf-8"))
    assert count == 1
    home.write_text(text, encoding="utf-8")
    page = visit(home.as_uri(), width=width)
    limit = page.locator(".sw-root").bounding_box()["width"]
    boxes = page.locator("main div.sourceCode, main .code-box")
    assert boxes.count() == 2
    for box in boxes.all():
        assert box.bounding_box()["width"] <= limit
