"""Special to RingAttention in a browser: blocks travel, and tiles are asked by arrow keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Browser, Page, expect

from shardwise_widgets import RingAttention
from shardwise_widgets.base import built

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BLOCKS = """() => [0, 1, 2, 3].map((block) => {
  const { x, y } = document.querySelector(`[data-key="kv${block}"]`).getBoundingClientRect();
  return [x, y];
})"""
SETTLED = "() => document.getAnimations().every(({ playState }) => playState === 'finished')"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = RingAttention(devices=4, step=1, causal=True).book_markdown()
    mount = re.search(r"````\{=html\}\n(.*?)\n````", text, re.DOTALL)
    assert mount is not None
    file = tmp_path_factory.mktemp("attention") / "page.html"
    file.write_text(
        f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Ring</title>
<style>{built("look.css")}{built("widgets.css")}</style></head>
<body><main>{mount[1]}</main>{built("page.html")}</body></html>""",
        encoding="utf-8",
    )
    return file


@pytest.fixture
def visit(browser: Browser, page_file: Path) -> Iterator[Callable[..., Page]]:
    contexts, wrong = [], []

    def open_page(query: str = "", **options: Any) -> Page:
        context = browser.new_context(viewport={"width": 800, "height": 1000}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(page_file.as_uri() + query)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


def test_blocks_travel_along_the_ring_to_where_they_stay(visit: Callable[..., Page]) -> None:
    page = visit()
    before = page.evaluate(BLOCKS)
    page.get_by_role("button", name="Next step").click()
    rides = page.evaluate(
        """() => document.querySelector('figure').getAnimations({ subtree: true })
          .map((ride) => [ride.animationName, ride.effect.getTiming().duration])"""
    )
    assert [name for name, _ in rides].count("sw-att-ride") == 4
    assert all(250 <= duration <= 400 for _, duration in rides)
    page.wait_for_function(SETTLED)
    ridden = page.evaluate(BLOCKS)
    # Each block stands where its right neighbour's stood.
    for block, place in enumerate(ridden):
        assert place == pytest.approx(before[(block + 1) % 4], abs=1)
    still = visit("?attention=4,2,1,contiguous")
    assert ridden == [pytest.approx(place, abs=0.1) for place in still.evaluate(BLOCKS)]


def test_what_is_absorbed_appears_when_the_block_has_arrived(visit: Callable[..., Page]) -> None:
    page = visit()
    page.get_by_role("button", name="Next step").click()
    shown = page.evaluate(
        """() => document.getAnimations()
          .filter(({ animationName }) => animationName === 'sw-att-arrive')
          .map((arrival) => {
            arrival.pause();
            return [100, 349].map((time) => {
              arrival.currentTime = time;
              return Number(getComputedStyle(arrival.effect.target).opacity);
            });
          })"""
    )
    # A sector for each device, and a tile.
    assert len(shown) == 8
    assert all(early == 0 and late > 0.9 for early, late in shown)


def test_a_reader_who_wants_no_motion_sees_steps(visit: Callable[..., Page]) -> None:
    page = visit(reduced_motion="reduce")
    page.get_by_role("button", name="Next step").click()
    expect(page.locator("output")).to_contain_text("Step 2 of 4")
    assert page.locator(".sw-att-rider").count() == 0
    assert page.evaluate("document.getAnimations().length") == 0


def test_tiles_are_asked_by_arrow_keys(visit: Callable[..., Page]) -> None:
    page = visit("?attention=4,3,1,contiguous")
    page.locator('[data-key="t0,0"]').focus()
    for key, tile in (("ArrowRight", "t0,1"), ("ArrowDown", "t1,1"), ("ArrowDown", "t2,1")):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.dataset.key") == tile
    expect(page.locator(".sw-asked")).to_have_text(
        "Queries of device 2 (tokens 8 to 11) by KV1 (tokens 4 to 7): step 2, done; "
        "16 of 16 pairs, as no query sees a later key."
    )


def test_every_layout_and_mask_is_drawn_without_a_kernel(visit: Callable[..., Page]) -> None:
    page = visit("?attention=8,3,1,contiguous")
    headline = page.locator(".sw-drawing .sw-large")
    said = page.locator(".sw-drawing")
    expect(headline).to_contain_text("of 528 pairs done")
    expect(said).to_contain_text("busiest now: 16 pairs")
    for layout, busiest in (("striped", 10), ("zigzag", 8)):
        page.get_by_role("radio", name=layout).check(force=True)
        expect(said).to_contain_text(f"busiest now: {busiest} pairs")
    page.get_by_role("checkbox", name="causal mask").uncheck()
    expect(headline).to_contain_text("of 1,024 pairs done")
