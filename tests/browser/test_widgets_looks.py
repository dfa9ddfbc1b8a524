"""How every widget looks: texts have contrast and room, colours their place, layouts stay whole.

A layout is compared with a small picture of it in `looks/`, in which texts are left out, so that
no font decides. `SHARDWISE_LOOKS=write pytest tests/browser/test_widgets_looks.py` draws the
pictures anew; look at them before they are committed.
"""

# ruff: noqa: E501 - a line of script is easier to read whole

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect
from visiting import THEMES
from widget_pages import KINDS, Pages, figure

from shardwise_widgets import look

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOOKS = Path(__file__).parent / "looks"
CELL = 8  # pixels of a page that make one of a picture
CLOSE = 0.08  # share of the ink that may be elsewhere or of another colour


# For each text in a drawing: its colour, what it stands on, and where it is.
TEXTS = """() => [...document.querySelectorAll('.sw-svg text')].map((text) => {
  text.scrollIntoView({ block: 'center' });
  const box = text.getBoundingClientRect();
  const under = document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2)
    .filter((e) => e !== text && !text.contains(e) && e instanceof SVGGeometryElement && !/^rgba|transparent/.test(getComputedStyle(e).fill));
  const plain = (fill) => {
    const pattern = fill.startsWith('url') && document.querySelector(fill.slice(5, -2));
    return pattern && pattern.children.length === 1 ? getComputedStyle(pattern.firstElementChild).fill : fill;
  };
  const style = getComputedStyle(text);
  const halo = style.paintOrder.startsWith('stroke') && style.stroke !== 'none' && style.stroke;
  const ground = halo || under.map((e) => plain(getComputedStyle(e).fill)).find((fill) => fill !== 'none');
  const svg = text.ownerSVGElement.getBoundingClientRect();
  return {
    text: text.textContent, fill: getComputedStyle(text).fill,
    ground: ground ?? getComputedStyle(document.body).backgroundColor,
    figure: text.closest('figure').dataset.widget,
    box: [box.left - svg.left, box.top - svg.top, box.right - svg.left, box.bottom - svg.top],
    width: svg.width, select: getComputedStyle(text).userSelect,
  };
})"""


def channels(color: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", color)]


def luminance(color: str) -> float:
    parts = [part / 255 for part in channels(color)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def move_all(page: Page, key: str) -> None:
    """Put every control of every widget to one of its ends."""
    for name in KINDS:
        controls = figure(page, name).locator(
            ".sw-controls :is(input[type=range], select:not(.sw-speed))"
        )
        for i in range(controls.count()):
            controls.nth(i).press(key)
            expect(controls.nth(i)).to_be_focused()


@pytest.mark.parametrize("key", ["", "Home", "End"])
@pytest.mark.parametrize("theme", THEMES)
def test_every_drawn_text_has_contrast(pages: Pages, theme: str, key: str) -> None:
    page = pages("all", theme, reduced_motion="reduce")
    if key:
        move_all(page, key)
    texts = page.evaluate(TEXTS)
    assert len(texts) > 15 * len(KINDS)
    pale = []
    for text in texts:
        assert text["select"] != "none", text
        if not text["ground"].startswith("rgb("):
            pale.append(("on a texture", text))
            continue
        low, high = sorted((luminance(text["fill"]), luminance(text["ground"])))
        if (high + 0.05) / (low + 0.05) < 4.5:
            pale.append(((high + 0.05) / (low + 0.05), text))
    assert not pale, "\n".join(map(str, pale[:20]))


@pytest.mark.parametrize("key", ["", "Home", "End"])
@pytest.mark.parametrize("width", [320, 600, 1280])
def test_every_drawn_text_has_room(pages: Pages, width: int, key: str) -> None:
    page = pages("all", width=width, reduced_motion="reduce")
    if key:
        move_all(page, key)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    texts = page.evaluate(TEXTS)
    wrong = []
    for i, one in enumerate(texts):
        left, _, right, _ = one["box"]
        if left < -2 or right > one["width"] + 2:  # letters may overhang
            wrong.append(
                (one["figure"], one["text"], "leaves the drawing", left, right, one["width"])
            )
        for other in texts[i + 1 :]:
            if one["figure"] != other["figure"]:
                continue
            overlap = [
                min(one["box"][k + 2], other["box"][k + 2]) - max(one["box"][k], other["box"][k])
                for k in (0, 1)
            ]
            if overlap[0] > 1 and overlap[1] > 6:  # boxes include the leading
                wrong.append((one["figure"], one["text"], "meets", other["text"]))
    assert not wrong, "\n".join(map(str, wrong[:40]))


def picture(page: Page, name: str) -> NDArray[np.float64]:
    """A small picture of a widget's controls and drawing without any text."""
    page.add_style_tag(
        content="""* { color: transparent !important; caret-color: transparent !important }
        svg text { fill: transparent !important; stroke: transparent !important }
        .sw-label { height: 21px; overflow: hidden } .sw-option-text, .sw-select { overflow: hidden }
        .sw-said, .sw-asked, .sw-try, .sw-foot { display: none !important }"""
    )
    shot = figure(page, name).locator(".sw-root").screenshot(animations="disabled")
    image = Image.open(io.BytesIO(shot)).convert("RGB")
    size = (image.width // CELL, image.height // CELL)
    return np.asarray(image.resize(size, Image.Resampling.BOX), dtype=np.float64)


def ink(picture: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far each pixel is from the ground, spread a little: a shift by a pixel is no other layout."""
    distance = np.abs(picture - picture[1, 1])
    padded = np.pad(distance, ((1, 1), (1, 1), (0, 0)))
    height, width = distance.shape[:2]
    return sum(padded[y : y + height, x : x + width] for y in range(3) for x in range(3)) / 9.0


def apart(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The share of two pictures' ink that is not the same; 1 where their sizes differ."""
    if np.abs(np.subtract(one.shape, other.shape)).max() > 1:
        return 1.0
    height, width = np.minimum(one.shape, other.shape)[:2]
    a, b = ink(one[:height, :width]), ink(other[:height, :width])
    ground = float(np.abs(one[1, 1] - other[1, 1]).max())
    return 1.0 if ground > 8 else float(np.abs(a - b).sum() / (a + b).sum())


def looked_at(name: str, width: int) -> NDArray[np.float64]:
    return np.asarray(Image.open(LOOKS / f"{name}-{width}.png").convert("RGB"), dtype=np.float64)


@pytest.mark.parametrize("width", [360, 792])
@pytest.mark.parametrize("name", KINDS)
def test_the_layout_is_the_one_that_was_looked_at(pages: Pages, name: str, width: int) -> None:
    page = pages(name, width=width, reduced_motion="reduce")
    now = picture(page, name)
    if os.environ.get("SHARDWISE_LOOKS") == "write":
        LOOKS.mkdir(exist_ok=True)
        small = Image.fromarray(now.round().astype(np.uint8)).quantize(64)
        small.save(LOOKS / f"{name}-{width}.png", optimize=True)
    assert apart(now, looked_at(name, width)) < CLOSE


BREAKS = {
    "a drawing that is not painted": ".sw-svg rect, .sw-svg path { fill: none !important; stroke: none !important }",
    "parts in a heap": ".sw-svg rect { x: 0; }",
    "controls one below the other": ".sw-field { flex-basis: 100% !important }",
    "a wrong column": ".sw-drawing { width: 70% }",
    "the wrong theme": ".sw-root { --sw-page: #14181d; background: #14181d }",
}


@pytest.mark.parametrize("broken", BREAKS)
@pytest.mark.parametrize("name", ["MemoryBudget", "RingAllReduce"])
def test_a_broken_layout_is_seen(pages: Pages, name: str, broken: str) -> None:
    page = pages(name, width=792, reduced_motion="reduce")
    page.add_style_tag(content=BREAKS[broken])
    assert apart(picture(page, name), looked_at(name, 792)) > 1.5 * CLOSE


def test_another_font_is_no_other_layout(pages: Pages) -> None:
    for name in ("MemoryBudget", "RingAllReduce"):
        page = pages(name, width=792, reduced_motion="reduce")
        page.add_style_tag(content=".sw-root, .sw-svg { font-family: monospace !important }")
        assert apart(picture(page, name), looked_at(name, 792)) < CLOSE


PAINTS = """() => [...document.querySelectorAll('.sw-svg :is(rect, path, circle, line, polyline, polygon, text, tspan)')]
  .filter((e) => e.getClientRects().length)
  .flatMap((e) => [getComputedStyle(e).fill, getComputedStyle(e).stroke].map((paint) => [paint, e.outerHTML.slice(0, 160)]))
  .filter(([paint]) => /^rgb\\(/.test(paint))"""


@pytest.mark.parametrize("theme", THEMES)
def test_drawings_have_the_palettes_colours_and_no_others(pages: Pages, theme: str) -> None:
    known = {
        tuple(int(paint[theme][use][i : i + 2], 16) for i in (1, 3, 5))
        for paint in look.palette().values()
        for use in ("fill", "on")
    }
    strange = [
        (paint, element)
        for paint, element in pages("all", theme).evaluate(PAINTS)
        if tuple(channels(paint)) not in known
    ]
    assert not strange, "\n".join(map(str, strange[:20]))
