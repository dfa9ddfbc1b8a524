"""The two first widgets and what all share in a page: numbers, address, clipboard, play, colours."""

# ruff: noqa: E501 - a line of script is easier to read whole

from __future__ import annotations

import io
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import matplotlib.image
import pytest
from playwright.sync_api import Browser, Page, expect
from visiting import THEMES
from widget_pages import Pages, mount_of, write_pages

from shardwise.memory import fewest_devices, zero_memory_breakdown, zero_memory_per_device
from shardwise_widgets import MemoryBudget, RingAllReduce
from shardwise_widgets.base import built

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PERIOD = 900  # milliseconds from one step of a play to the next


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("a page")
    write_pages(
        folder, "page", [mount_of(MemoryBudget()), mount_of(RingAllReduce(devices=4, step=0))]
    )
    return folder


@pytest.fixture
def open_page(browser: Browser, site: Path) -> Iterator[Callable[..., Page]]:
    """Open the page in a context of its own; anything but a file, and any error, fails the test."""
    pages = Pages(browser, site)

    def visit(theme: str = "light", query: str = "", **options: Any) -> Page:
        return pages("page", theme, query, **options)

    yield visit
    pages.close()


def memory(page: Page) -> Any:
    return page.locator('figure[data-widget="MemoryBudget"]')


def ring(page: Page) -> Any:
    return page.locator('figure[data-widget="RingAllReduce"]')


def text_of(figure: Any) -> str:
    """All that a figure's drawing and sentence say, with ordinary spaces."""
    drawn = figure.locator(".sw-drawing").text_content() + figure.locator("output").text_content()
    return str(drawn).replace("\u00a0", " ")


def written(size: float) -> str:
    """A size as the widgets write it, computed apart from them."""
    unit, scale = ("GB", 1e9) if size >= 1e9 else ("MB", 1e6)
    return f"{float(f'{size / scale:.3g}'):g} {unit}"


def test_it_is_drawn_at_once_and_by_no_request(open_page: Any) -> None:
    page = open_page()
    for figure in (memory(page), ring(page)):
        expect(figure).to_have_attribute("data-ready", "")
        assert figure.locator("svg.sw-svg").count() == 1
    assert written(zero_memory_per_device(7.5e9, 64, 0)) in text_of(memory(page))


def test_without_a_script_the_first_frame_stands(open_page: Any) -> None:
    page = open_page(java_script_enabled=False)
    expect(memory(page).locator("svg.sw-svg")).to_be_visible()
    expect(memory(page).get_by_role("slider").first).to_be_hidden()
    expect(ring(page).locator("output")).to_contain_text("4 devices in a ring")


@pytest.mark.parametrize("way", ["click", "key"])
def test_what_is_done_before_they_live_is_not_lost(browser: Browser, site: Path, way: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script("window.requestAnimationFrame = () => 0")  # as if nothing was painted yet
    page.goto((site / "page-light.html").as_uri())
    expect(page.locator("figure[data-ready]")).to_have_count(0)
    button = ring(page).get_by_role("button", name="Next step")
    expect(ring(page).locator("output")).to_contain_text("4 devices in a ring")
    if way == "click":
        button.dispatch_event("click")  # `click` waits for a frame
    else:
        button.focus()
        page.keyboard.press("Enter")
    expect(ring(page).get_by_role("slider", name="Step")).to_have_js_property("value", "1")
    expect(page.locator("figure[data-ready]")).to_have_count(2)
    context.close()


def test_the_memory_budget_by_keyboard(open_page: Any) -> None:
    page = open_page()
    figure = memory(page)

    def press(control: Any, *keys: str) -> str:
        control.focus()
        for key in keys:
            page.keyboard.press(key)
        return text_of(figure)

    params = figure.get_by_role("slider", name="Parameters")
    assert "2 T parameters" in press(params, "End")
    assert "0.1 B parameters" in press(params, "Home")
    assert "0.106 B parameters" in press(params, "ArrowRight")
    assert params.get_attribute("aria-valuetext").startswith("0.106")
    press(params, "End")

    assert written(zero_memory_per_device(2e12, 64, 3)) in press(
        figure.get_by_role("radio", name="0"), "ArrowRight", "ArrowRight", "ArrowRight"
    )
    devices = figure.get_by_role("slider", name="Devices")
    assert "on 4,096 devices" in press(devices, "End")
    assert written(zero_memory_per_device(2e12, 4096, 3)) in text_of(figure)
    assert "on 1 device:" in press(devices, "Home")

    fewest = fewest_devices(2e12, 3, 192e9)
    assert f"at stage 3: {fewest}." in press(
        figure.get_by_role("combobox", name="GPU memory"), "End"
    )
    recipes = figure.get_by_role("combobox", name="Bytes per parameter")
    fewest = fewest_devices(2e12, 3, 192e9, recipe="2+4+12")
    assert f"at stage 3: {fewest}." in press(recipes, "ArrowDown")
    press(recipes, "Home")
    fewest = fewest_devices(2e12, 3, 192e9, reserved_bytes=2e9)
    activations = figure.get_by_role("slider", name="Activations")
    assert f"at stage 3: {fewest}." in press(activations, "ArrowRight", "ArrowRight")


def test_the_ring_by_keyboard(open_page: Any) -> None:
    page = open_page()
    figure = ring(page)
    step = figure.get_by_role("slider", name="Step")
    said = figure.locator("output")
    step.focus()
    page.keyboard.press("ArrowRight")
    expect(said).to_contain_text("Step 1 of 6, reduce-scatter")
    page.keyboard.press("End")
    expect(said).to_contain_text("Every device holds the whole sum.")
    expect(said).to_contain_text("16 of 16 cells")
    page.keyboard.press("Home")
    expect(said).to_contain_text("Start")

    for name, sentence in (
        ("Next step", "Step 1 of 6"),
        ("Last step", "Step 6 of 6"),
        ("Previous step", "Step 5 of 6"),
        ("First step", "Start"),
    ):
        figure.get_by_role("button", name=name).focus()
        page.keyboard.press("Enter")
        expect(said).to_contain_text(sentence)
    for key, sentence in (("ArrowRight", "Step 1"), ("End", "Step 6"), ("ArrowLeft", "Step 5")):
        page.keyboard.press(key)  # the focus is on a button
        expect(said).to_contain_text(sentence)
    page.keyboard.press("Home")

    figure.get_by_role("slider", name="Devices").focus()
    page.keyboard.press("End")
    expect(said).to_contain_text("8 devices in a ring")
    step.focus()
    page.keyboard.press("End")
    expect(said).to_contain_text("Step 14 of 14, all-gather")
    assert figure.locator(".sw-ring-done").count() == 64 + 1  # the legend shows one


def test_the_address_opens_a_state_and_follows_it(open_page: Any) -> None:
    page = open_page(query="?ring=6,7&memory=7e10,100,3,141,2-0-8,2.5#sec")
    expect(ring(page).locator("output")).to_contain_text("Step 7 of 10, all-gather")
    said = memory(page).locator("output")
    expect(said).to_contain_text("ZeRO stage 3 on 100\u00a0devices")
    fewest = fewest_devices(70e9, 3, 141e9, recipe="2+0+8", reserved_bytes=2.5e9)
    expect(said).to_contain_text(f"at stage 3: {fewest}.")

    ring(page).get_by_role("slider", name="Step").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(re.compile(r"\?memory=7e10,100,3,141,2-0-8,2\.5&ring=6,6#sec$"))
    page.reload()
    expect(ring(page).locator("output")).to_contain_text("Step 6 of 10, all-gather")


def test_the_link_is_copied_or_said(open_page: Any) -> None:
    page = open_page()
    page.evaluate(
        "Object.defineProperty(navigator, 'clipboard', { configurable: true,"
        " value: { writeText: async (text) => { window.copied = text } } })"
    )
    ring(page).get_by_role("slider", name="Step").press("ArrowRight")
    button = ring(page).get_by_role("button", name="Copy link")
    button.press("Enter")
    expect(ring(page).get_by_role("status").last).to_have_text("The link is copied.")
    assert page.evaluate("window.copied").endswith("page-light.html?ring=4,1")
    page.evaluate(
        """() => {
          Object.defineProperty(navigator, 'clipboard', { value: { writeText: () => Promise.reject() } });
          document.addEventListener('copy', () => { window.copied = document.activeElement.value });
        }"""
    )
    ring(page).get_by_role("slider", name="Step").press("ArrowRight")
    button.press("Enter")
    expect(ring(page).get_by_role("status").last).to_have_text("The link is copied.")
    assert page.evaluate("window.copied").endswith("page-light.html?ring=4,2")
    expect(button).to_be_focused()
    assert page.locator("textarea").count() == 0
    page.evaluate("document.execCommand = () => false")
    button.press("Enter")
    expect(ring(page).locator(".sw-message")).to_contain_text("Copy this: file:")
    expect(ring(page).locator(".sw-message")).to_contain_text("page-light.html?ring=4,2")


def clipboard(page: Page, *, works: bool) -> None:
    page.evaluate(
        """(works) => {
          const writeText = () => (works ? Promise.resolve() : Promise.reject());
          Object.defineProperty(navigator, 'clipboard', { configurable: true, value: { writeText } });
          document.execCommand = () => works;
        }""",
        works,
    )


def into_figure(page: Page) -> None:
    """Put the ring into a figure with an id, as the book does, below a screen of text."""
    page.evaluate(
        """() => {
          const widget = document.querySelector('figure[data-widget="RingAllReduce"]');
          const box = document.createElement('div');
          box.innerHTML = '<div style="height: 3000px"></div><div id="fig-ring"></div>';
          widget.replaceWith(box);
          box.lastChild.append(widget);
        }"""
    )


def test_the_copied_link_opens_at_the_figure(open_page: Any, site: Path, tmp_path: Path) -> None:
    page = open_page(query="#after")
    into_figure(page)
    clipboard(page, works=False)
    ring(page).get_by_role("slider", name="Step").press("ArrowRight")
    ring(page).get_by_role("button", name="Copy link").press("Enter")
    expect(ring(page).locator(".sw-message")).to_contain_text("page-light.html?ring=4,1#fig-ring")
    assert page.evaluate("location.href").endswith("?ring=4,1#after")  # the reader stays

    for name in ("look.css", "widgets.css"):
        (tmp_path / name).write_text(built(name), encoding="utf-8")
    text = (site / "page-light.html").read_text(encoding="utf-8")
    start, end = (
        '<figure class="shardwise-widget" data-widget="RingAllReduce"',
        '<button id="after"',
    )
    text = text.replace(start, f'<div style="height: 3000px"></div><div id="fig-ring">{start}')
    (tmp_path / "page.html").write_text(text.replace(end, f"</div>{end}"), encoding="utf-8")
    page.goto((tmp_path / "page.html").as_uri() + "?ring=4,1#fig-ring")
    expect(ring(page).locator("output")).to_contain_text("Step 1 of 6")
    expect(ring(page).locator(".sw-drawing")).to_be_in_viewport()
    assert abs(page.evaluate("document.getElementById('fig-ring').getBoundingClientRect().y")) < 2


def test_what_went_well_is_said_for_a_while_and_what_did_not_stays(open_page: Any) -> None:
    page = open_page()
    freeze(page)
    clipboard(page, works=True)
    button = ring(page).get_by_role("button", name="Copy link")
    line = ring(page).locator(".sw-message")
    button.press("Enter")
    expect(line).to_have_text("The link is copied.")
    page.clock.run_for(2000)
    expect(line).to_have_text("The link is copied.")
    button.press("Enter")  # a second copy has its own while
    page.clock.run_for(3000)
    expect(line).to_have_text("The link is copied.")
    page.clock.run_for(3000)
    expect(line).to_have_text("")

    button.press("Enter")
    expect(line).to_have_text("The link is copied.")
    clipboard(page, works=False)
    button.press("Enter")
    expect(line).to_contain_text("Copy this")
    page.clock.run_for(60_000)
    expect(line).to_contain_text("Copy this")


def test_a_widget_that_is_taken_away_leaves_no_timer(open_page: Any) -> None:
    page = open_page()
    clipboard(page, works=True)
    page.evaluate(
        """() => {
          const [begin, end] = [window.setTimeout, window.clearTimeout];
          window.pending = new Set();
          window.setTimeout = (f, ms) => { const id = begin(f, ms); pending.add(id); return id; };
          window.clearTimeout = (id) => { pending.delete(id); end(id); };
          const figure = document.querySelector('figure[data-widget="RingAllReduce"]');
          window.remove = shardwiseWidgets.mount(figure);
        }"""
    )
    ring(page).get_by_role("button", name="Copy link").press("Enter")
    expect(ring(page).locator(".sw-message")).to_have_text("The link is copied.")
    assert page.evaluate("pending.size") == 1
    page.evaluate("remove()")
    assert page.evaluate("pending.size") == 0


def freeze(page: Page) -> None:
    """From here on, time passes only when a test says so."""
    page.clock.install(time=0)
    page.clock.pause_at(3_600_000)


def test_play_ends_at_the_end_and_starts_over(open_page: Any) -> None:
    page = open_page(query="?ring=2,0")
    freeze(page)
    figure = ring(page)
    figure.get_by_role("button", name="Play").press("Enter")
    expect(figure.get_by_role("button", name="Pause")).to_be_visible()
    expect(figure.locator("output")).to_contain_text("Step 1 of 2")
    page.clock.run_for(PERIOD)
    expect(figure.locator("output")).to_contain_text("Step 2 of 2")
    expect(figure.get_by_role("button", name="Play")).to_be_visible()
    figure.get_by_role("button", name="Play").press("Enter")
    expect(figure.locator("output")).to_contain_text("Start")
    figure.get_by_role("button", name="Pause").press("Enter")
    expect(figure.get_by_role("button", name="Play")).to_be_visible()


@pytest.mark.parametrize("leave", ["focus", "scroll"])
def test_play_stops_when_the_reader_turns_away(open_page: Any, leave: str) -> None:
    page = open_page(query="?ring=8,0")
    freeze(page)
    figure = ring(page)
    figure.get_by_role("button", name="Play").press("Enter")
    expect(figure.get_by_role("button", name="Pause")).to_have_count(1)
    page.clock.run_for(PERIOD)
    expect(figure.locator("output")).to_contain_text("Step 2 of 14")
    if leave == "focus":
        page.locator("#after").focus()
    else:
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(figure.get_by_role("button", name="Play")).to_have_count(1)
    page.clock.run_for(10 * PERIOD)
    expect(figure.locator("output")).to_contain_text("Step 2 of 14")


def test_playing_announces_each_half_and_the_end_and_stepping_everything(open_page: Any) -> None:
    page = open_page()
    freeze(page)
    figure = ring(page)
    page.evaluate(
        """() => {
          const said = document.querySelector('figure[data-widget="RingAllReduce"] output');
          window.heard = [];
          new MutationObserver((changes) => {
            if (changes.some(({ type }) => type === 'childList') && said.ariaLive === 'polite') {
              heard.push(said.textContent.match(/^(Step \\d|Start)/)[0]);
            }
          }).observe(said, { childList: true, attributes: true });
        }"""
    )
    figure.get_by_role("button", name="Play").press("Enter")
    for step in range(2, 7):
        page.clock.run_for(PERIOD)
        expect(figure.locator("output")).to_contain_text(f"Step {step} of 6")
    expect(figure.get_by_role("button", name="Play")).to_have_count(1)
    assert page.evaluate("heard") == ["Step 1", "Step 4", "Step 6"]
    for key in ("ArrowLeft", "ArrowLeft", "Home"):
        page.keyboard.press(key)
    expect(figure.locator("output")).to_contain_text("Start")
    assert page.evaluate("heard.slice(3)") == ["Step 5", "Step 4", "Start"]


def test_the_drawing_is_not_read_twice(open_page: Any) -> None:
    page = open_page(query="?ring=4,3")
    for figure in (memory(page), ring(page)):
        label = figure.locator("svg.sw-svg").get_attribute("aria-label")
        assert 0 < len(label) < 30
        assert not re.search(r"\d", label), "the numbers are in the texts of the drawing"
    expect(ring(page).get_by_role("img", name="finished")).to_have_count(4)


def channels(color: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", color))


def shares(page: Page, clip: dict[str, float]) -> dict[tuple[int, ...], float]:
    """The share of a part of the page that each colour has."""
    shot = page.screenshot(clip=clip, animations="disabled")
    pixels = (matplotlib.image.imread(io.BytesIO(shot))[..., :3] * 255).round().astype(int)
    colors = list(map(tuple, pixels.reshape(-1, 3).tolist()))
    return {color: count / len(colors) for color, count in Counter(colors).items()}


@pytest.mark.parametrize("theme", THEMES)
def test_every_segment_of_the_bar_is_painted_in_its_colour(open_page: Any, theme: str) -> None:
    page = open_page(theme, "?memory=7.5e9,64,1,80,2-2-12,30&ring=4,4")
    assert page.evaluate(REPEATED) == []
    ground = channels(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    segments = page.evaluate(
        """() => [...document.querySelectorAll('.sw-memory-part')].map((part) => {
          const box = part.getBoundingClientRect();
          const role = part.getAttribute('fill').match(/([a-z]+)\\)$/)[1];
          const at = document.querySelector(part.getAttribute('fill').slice(4, -1));
          const paint = document.querySelector('.sw-fill-' + role);
          return { role, kind: at.localName, paint: getComputedStyle(paint).fill,
                   x: box.x, y: box.y + scrollY, width: box.width, height: box.height };
        })"""
    )
    assert [one["role"] for one in segments] == [
        "parameters", "gradients", "optimizer", "activations",
    ]  # fmt: skip
    for one in segments:
        assert one["kind"] == "pattern", one
        if one["width"] < 40:
            continue  # the optimizer's, a sliver of 1.4 GB
        right = {"x": one["x"] + 27, "width": one["width"] - 29}  # beside the letter
        inside = {**right, "y": one["y"] + 2, "height": one["height"] - 4}
        painted = shares(page, inside)
        assert painted.get(channels(one["paint"]), 0) > 0.2, one  # the rest is texture
        assert painted.get(ground, 0) < 0.05, one
    wide = {one["role"]: one["width"] for one in segments}
    assert abs(wide["activations"] / wide["parameters"] - 2) < 0.05  # 30 GB and 15 GB
    kinds = "[...document.querySelectorAll('.sw-ring-done')].map((e) => e.getAttribute('fill'))"
    for fill in set(page.evaluate(kinds)):
        assert (
            page.evaluate("(id) => document.querySelector(id).localName", fill[4:-1]) == "pattern"
        )


# Ids that more than one element has.
REPEATED = """() => {
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
  return ids.filter((id, i) => ids.indexOf(id) < i);
}"""


def test_two_budgets_of_one_page_are_apart(browser: Browser, site: Path, tmp_path: Path) -> None:
    page_text = (site / "page-light.html").read_text(encoding="utf-8")
    more = "".join(mount_of(MemoryBudget(stage=stage)) for stage in (1, 2))
    for name in ("look.css", "widgets.css"):
        (tmp_path / name).write_text(built(name), encoding="utf-8")
    (tmp_path / "page.html").write_text(page_text.replace("<h1>", f"{more}<h1>"), "utf-8")
    for scripts in (False, True):
        context = browser.new_context(java_script_enabled=scripts)
        page = context.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        expect(memory(page)).to_have_count(3)
        assert page.evaluate(REPEATED) == []
        for place, stage in enumerate((1, 2, 0)):  # one group of radio buttons keeps one mark
            radio = memory(page).nth(place).locator("input[type=radio]").nth(stage)
            expect(radio).to_be_checked()
        if scripts:
            memory(page).nth(1).get_by_role("slider", name="Devices").press("End")
            expect(memory(page).nth(1).locator("output")).to_contain_text("4,096")
            for place in (0, 2):
                expect(memory(page).nth(place).locator("output")).to_contain_text(" on 64\u00a0")
            page.wait_for_url(re.compile(r"\?memory2=7\.5e9,4096,2,80,2-2-12,0$"))
        context.close()


def test_linked_widgets_share_what_they_can(browser: Browser, tmp_path: Path) -> None:
    mounts = [
        mount_of(RingAllReduce(devices=3, link="devices")),
        mount_of(MemoryBudget(devices=5, link="devices")),
        mount_of(RingAllReduce(devices=2)),
    ]
    write_pages(tmp_path, "page", mounts)
    pages = Pages(browser, tmp_path)
    page = pages("page")
    expect(ring(page).first.locator("output")).to_contain_text("5 devices in a ring")
    ring(page).first.get_by_role("slider", name="Devices").press("End")
    expect(memory(page).locator("output")).to_contain_text("on 8\u00a0devices")
    line = ring(page).first.locator(".sw-message")
    memory(page).get_by_role("slider", name="Devices").press("End")
    expect(line).to_contain_text("Memory budget has devices 4096, which isn")
    expect(line).to_contain_text("devices must be a whole number from 2 to 8, not 4096")
    expect(ring(page).first.locator("output")).to_contain_text("8 devices in a ring")
    memory(page).get_by_role("slider", name="Devices").press("Home")
    memory(page).get_by_role("slider", name="Devices").press("ArrowRight")
    expect(line).to_have_text("")
    expect(ring(page).first.locator("output")).to_contain_text("2 devices in a ring")
    expect(ring(page).nth(1).locator("output")).to_contain_text("Start: 2 devices")
    page = pages("page", query="?ring=7,3")
    expect(memory(page).locator("output")).to_contain_text("on 7\u00a0devices")
    expect(ring(page).first.locator("output")).to_contain_text("Step 3 of 12")
    pages.close()


def test_what_travels_moves_unless_the_reader_wants_no_motion(open_page: Any) -> None:
    for motion, moving in (("no-preference", True), ("reduce", False)):
        page = open_page(reduced_motion=motion)
        ring(page).get_by_role("button", name="Next step").press("Enter")
        expect(ring(page).locator("output")).to_contain_text("Step 1 of 6")
        durations = page.evaluate(
            "document.getAnimations().map((a) => a.effect.getComputedTiming().duration)"
        )
        assert bool(durations) == moving
        assert all(250 <= duration <= 400 for duration in durations)
        assert (ring(page).locator(".sw-ring-rider").count() == 4) == moving


STATES = (
    "?ring=2,1&memory=1e8,1,0,192,2-2-4,0",
    "?ring=4,3&memory=7.5e9,64,2,80,2-2-12,0",
    "?ring=8,9&memory=2e12,4096,3,24,2-6-12,20",
    "?ring=8,14&memory=2e12,1,0,24,2-6-12,192",
)


def test_numbers_can_be_selected_and_copied(open_page: Any) -> None:
    page = open_page(query=STATES[1])
    selected = page.evaluate(
        """() => [...document.querySelectorAll('.sw-svg')].map((svg) => {
          getSelection().selectAllChildren(svg);
          return getSelection().toString();
        })"""
    )
    budget, grid = (text.replace("\u00a0", " ") for text in selected)
    parts = zero_memory_breakdown(7.5e9, 64, 2)
    for number in (*map(written, parts.values()), "80 GB GPU", "stage 0: 120 GB"):
        assert number in budget, number
    run = json.loads(
        page.locator('figure[data-widget="RingAllReduce"] script').first.text_content()
    )
    sums = [str(sum(column)) for column in zip(*run["runs"]["4"]["start"], strict=True)]
    assert all(value in grid for value in sums)
