"""Every widget in a page from disk, with no network: drawn, asked, moved by keyboard, copied, left."""

# ruff: noqa: E501 - a line of script is easier to read whole

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Page, expect
from visiting import THEMES, WIDTHS, violations
from widget_pages import KINDS, Pages, figure, mount_of, shown, write_pages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

every = pytest.mark.parametrize("name", KINDS)


def test_all_are_drawn_at_once_and_by_no_request(pages: Pages) -> None:
    page = pages("all")
    for name in KINDS:
        expect(figure(page, name)).to_have_attribute("data-ready", "")
        assert figure(page, name).locator("svg.sw-svg").count() == 1
    assert page.evaluate(REPEATED_IDS) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


REPEATED_IDS = """() => {
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
  return ids.filter((id, i) => ids.indexOf(id) < i);
}"""

NONSENSE = r"\b(NaN|undefined|null|Infinity)\b"
KEYS = {
    "range": ("Home", "End", "ArrowLeft", "ArrowRight"),
    "select-one": ("Home", "End", "ArrowUp"),
    "radio": ("ArrowRight", "ArrowRight", "ArrowLeft"),
    "checkbox": ("Space", "Space", "Space"),
}


def press_all(page: Page, widget: Any) -> Iterator[tuple[Any, set[str]]]:
    """Go through the controls and press their keys; for each, what was shown meanwhile."""
    controls = widget.locator(".sw-controls :is(input, select:not(.sw-speed))")
    groups = set()
    for i in range(controls.count()):
        control = controls.nth(i)
        kind, group = (
            str(control.get_attribute("type") or "select-one"),
            control.get_attribute("name"),
        )
        if kind == "radio":
            if group in groups:
                continue  # one radio button stands for its group
            groups.add(group)
            control = widget.locator(f'input[name="{group}"]:checked')
        control.focus()
        views = set()
        for key in KEYS[kind]:
            page.keyboard.press(key)
            views.add(shown(widget))
        yield control, views


@every
def test_every_control_by_keyboard(pages: Pages, name: str) -> None:
    page = pages(name)
    widget = figure(page, name)
    widget.locator("summary").press("Enter")
    table = widget.locator(".sw-table table")
    tables = {str(table.inner_text())}
    count = 0
    for control, views in press_all(page, widget):
        count += 1
        assert len({without_ids(view) for view in views}) > 1, control.evaluate(
            "(element) => element.outerHTML"
        )
        assert not any(re.search(NONSENSE, view) for view in views)
        expect(widget.locator(".sw-message")).to_have_text("")
        tables.add(str(table.inner_text()))
    assert count >= 2
    assert len(tables) > 1, "the open table keeps up"
    assert not any(re.search(NONSENSE, text) for text in tables)


STEPPED = [name for name, kind in KINDS.items() if "step" in kind.class_trait_names()]


@pytest.mark.parametrize("name", STEPPED)
def test_the_stepper_by_keyboard(pages: Pages, name: str) -> None:
    page = pages(name)
    widget = figure(page, name)
    slider = widget.locator(".sw-stepper input[type=range]")
    if not slider.count():
        pytest.skip("its steps are stages, chosen by another control")
    last = slider.get_attribute("max")
    slider.focus()
    page.keyboard.press("End")
    expect(slider).to_have_value(last)
    page.keyboard.press("Home")
    expect(slider).to_have_value("0")
    for button, value in (
        ("Next step", "1"),
        ("Last step", last),
        ("First step", "0"),
        ("Next step", "1"),
        ("Previous step", "0"),
    ):
        widget.get_by_role("button", name=button).focus()
        page.keyboard.press("Enter")
        expect(slider).to_have_value(value)
    for key, value in (("ArrowRight", "1"), ("End", last), ("Home", "0")):
        page.keyboard.press(key)  # the focus is on a button
        expect(slider).to_have_value(value)
    widget.get_by_role("combobox", name="Speed").select_option("4")
    widget.get_by_role("button", name="Play").press("Enter")
    expect(slider).not_to_have_value("0")
    widget.get_by_role("button", name=re.compile("Pause|Play")).press("Enter")
    assert slider.get_attribute("aria-valuetext")


@every
def test_what_is_drawn_can_be_asked(pages: Pages, name: str) -> None:
    page = pages(name)
    widget = figure(page, name)
    marks = widget.locator("[data-key]")
    said = page.evaluate(
        """() => [...document.querySelectorAll('[data-key]')].map((mark) => ({
          key: mark.dataset.key, text: mark.ariaLabel, role: mark.getAttribute('role'),
          nested: !!mark.querySelector('[data-key]'), box: mark.getBoundingClientRect().width,
        }))"""
    )
    assert len(said) >= 3
    assert len({mark["key"] for mark in said}) == len(said)
    for mark in said:
        assert mark["role"] == "img", mark
        assert not mark["nested"], mark
        assert 8 <= len(mark["text"]) <= 320, mark
    assert any(re.search(r"\d", mark["text"]) for mark in said)

    expect(widget.locator(".sw-asked")).to_contain_text("ask what it is")
    assert widget.locator('[data-key][tabindex="0"]').count() == 1
    first = widget.locator('[data-key][tabindex="0"]')
    first.focus()
    visited = []
    for key in ("Home", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "End"):
        page.keyboard.press(key)
        at = page.evaluate("document.activeElement.dataset.key")
        visited.append(at)
        mark = widget.locator(f'[data-key="{at}"]')
        expect(widget.locator(".sw-asked")).to_have_text(str(mark.get_attribute("aria-label")))
        assert widget.locator("svg .sw-mark").count() == 1
        assert mark.get_attribute("tabindex") == "0"
    assert visited[0] == said[0]["key"]
    assert visited[-1] == said[-1]["key"]
    assert len(set(visited)) > 1
    wide = next(i for i, mark in enumerate(said) if mark["box"] > 4)
    marks.nth(wide).dispatch_event("pointerover")
    expect(widget.locator(".sw-asked")).to_have_text(said[wide]["text"])


@every
def test_the_address_follows_and_a_reset_brings_back(pages: Pages, name: str) -> None:
    page = pages(name, query="?x=1#after")
    widget = figure(page, name)
    opened = shown(widget)
    control = widget.locator(".sw-controls :is(input[type=range], select:not(.sw-speed))").first
    control.focus()
    page.keyboard.press("Home" if control.input_value() != "0" else "End")
    page.wait_for_url(re.compile(r"\?x=1&[a-z]+=[^&]+#after$"))
    moved = shown(widget)
    assert moved != opened
    page.reload()
    assert without_ids(shown(figure(page, name))) == without_ids(moved)
    widget.get_by_role("button", name="Reset").press("Enter")
    assert page.evaluate("location.search + location.hash") == "?x=1#after"
    assert without_ids(shown(widget)) == without_ids(opened)


def without_ids(text: str) -> str:
    """Leave out which mark is the stop of the Tab key."""
    return re.sub(
        r' tabindex="-?\d"| data-lm-suppress-shortcuts="true"|<rect[^>]*sw-mark.*?</rect>', "", text
    )


@every
def test_a_bad_address_is_said_and_ignored(pages: Pages, name: str) -> None:
    page = pages(name)
    opened = shown(figure(page, name))
    figure(page, name).get_by_role("button", name="Copy link").press("Enter")
    page.wait_for_url(re.compile(r"\?"))
    key, value = page.evaluate("location.search.slice(1)").split("=")
    count = value.count(",") + 1
    for text in ("", "x", "<b>", ",".join(["1e99"] * count), "0," * 50, "%20"):
        page.goto(page.url.split("?")[0] + f"?{key}={text}")
        expect(figure(page, name).locator(".sw-message")).to_contain_text("which is ignored")
        assert shown(figure(page, name)) == opened


@every
def test_damage_is_said_over_the_first_frame(pages: Pages, site: Path, name: str) -> None:
    fields = [
        trait for trait in KINDS[name].shown if not KINDS[name].class_traits()[trait].read_only
    ]
    damages = [{fields[0]: None}, {fields[0]: "<b>"}, {fields[-1]: -7}, {}]
    page = pages(name)
    for damage in [*damages, "broken"]:
        same, line, ready = page.evaluate(
            """([name, damage]) => {
              const figure = document.querySelector(`figure[data-widget="${name}"]`).cloneNode(true);
              const state = figure.querySelector('script');
              if (damage === 'broken') state.textContent = '{"devices": 4, ';
              else if (!Object.keys(damage).length) state.textContent = 'null';
              else state.textContent = JSON.stringify({ ...JSON.parse(state.textContent), ...damage });
              delete figure.dataset.ready;
              document.querySelector('main').append(figure);
              const before = figure.querySelector('.sw-drawing').innerHTML;
              shardwiseWidgets.mountAll();
              const result = [before === figure.querySelector('.sw-drawing').innerHTML, figure.querySelector('.sw-message').textContent, figure.dataset.ready];
              figure.remove();
              return result;
            }""",
            [name, damage],
        )
        assert same
        assert line.startswith("This widget doesn"), line
        assert ready is None


FRAME = "<script>window.frame = document.querySelector('.sw-svg')</script>"
STATE = re.compile(r'(?<=<script type="application/json">).*?(?=</script>)')


@every
def test_a_frame_stays_where_it_shows_the_pages_state(pages: Pages, site: Path, name: str) -> None:
    page_text = (
        (site / f"{name}-light.html").read_text("utf-8").replace("</figure>", f"</figure>{FRAME}")
    )
    trait = next(t for t in ("step", "devices", "stages") if t in KINDS[name].shown)
    other = json.dumps({**KINDS[name]().book_state(), trait: 2})
    write_pages(site, "other", [mount_of(KINDS[name](**{trait: 2}))])
    for state, stays in ((None, True), (other, False)):
        text = STATE.sub(lambda kept, state=state: state or kept[0], page_text)
        (site / "framed-light.html").write_text(text, "utf-8")
        page, same = pages("framed"), pages("other" if state else name)
        expect(figure(page, name)).to_have_attribute("data-ready", "")
        assert page.evaluate("frame === document.querySelector('.sw-svg')") is stays
        views = [without_ids(shown(figure(one, name))) for one in (page, same)]
        assert re.sub(r"frame\d+", "", views[0]) == re.sub(r"frame\d+", "", views[1])


@every
def test_a_script_that_sets_nonsense_changes_no_drawing(pages: Pages, name: str) -> None:
    page = pages(name)
    page.evaluate(SHARED_MODEL, name)
    widget = figure(page, name)
    drawn = shown(widget)
    state = page.evaluate("state")
    for trait, value in state.items():
        for nonsense in ("NaN", "'x'", "null", "{}", "[null]", "-1e9"):
            page.evaluate(f"model.set({json.dumps(trait)}, {nonsense})")
            # What a recording holds beyond what is drawn may change unseen; a drawing may not.
            assert not re.search(NONSENSE, shown(widget)), (trait, nonsense)
        page.evaluate(f"model.set({json.dumps(trait)}, {json.dumps(value)})")
    assert without_ids(shown(widget)) == without_ids(drawn)


SHARED_MODEL = """(name) => {
  const figure = document.querySelector(`figure[data-widget="${name}"]`);
  window.state = JSON.parse(figure.querySelector('script').textContent);
  const heard = new Map();
  window.alive = () => [...heard.values()].reduce((sum, set) => sum + set.size, 0);
  const traits = { ...state };
  window.model = {
    get: (trait) => traits[trait],
    set(trait, value) { traits[trait] = value; [...(heard.get('change:' + trait) ?? [])].forEach((f) => f()); },
    on: (event, f) => heard.set(event, (heard.get(event) ?? new Set()).add(f)),
    off: (event, f) => heard.get(event).delete(f),
    save_changes() {},
  };
  window.remove = shardwiseWidgets.mount(figure, model);
}"""


@every
def test_two_views_of_one_model_stay_in_step(pages: Pages, name: str) -> None:
    page = pages(name)
    page.evaluate(SHARED_MODEL, name)
    page.evaluate(
        """(name) => {
          const first = document.querySelector(`figure[data-widget="${name}"]`);
          const second = first.cloneNode(true);
          second.innerHTML = second.innerHTML.replaceAll(first.querySelector('.sw-root').dataset.id, 'second');
          first.after(second);
          shardwiseWidgets.mount(second, model);
        }""",
        name,
    )
    first, second = (page.locator(f'figure[data-widget="{name}"]').nth(i) for i in (0, 1))
    control = first.locator(".sw-controls :is(input[type=range], select:not(.sw-speed))").first
    opened = shown(second)
    control.focus()
    page.keyboard.press("Home" if control.input_value() != "0" else "End")
    assert shown(second) != opened
    trait = control.get_attribute("data-name")
    page.evaluate(
        "([trait, value]) => model.set(trait, value)", [trait, page.evaluate(f"state.{trait}")]
    )
    for a, b in ((first, second),):
        assert a.locator("output").text_content() == b.locator("output").text_content()
    assert second.locator(f'[data-name="{trait}"]').input_value() == control.input_value()


# The host and the stepper are everyone's: one widget comes and goes often, the others a few times.
TIMES = [(name, 200 if name == "RingAllReduce" else 12) for name in KINDS]
OFTEN = [pytest.param(name, 200, marks=pytest.mark.long) for name in KINDS]


@pytest.mark.parametrize(("name", "times"), [*TIMES, *OFTEN])
def test_mounts_and_removals_leave_nothing(pages: Pages, name: str, times: int) -> None:
    page = pages(name)
    page.evaluate(SHARED_MODEL, name)
    page.evaluate("remove()")
    page.evaluate(
        """(name) => {
          const figure = document.querySelector(`figure[data-widget="${name}"]`);
          window.cycle = async (times) => {
            for (let i = 0; i < times; i++) {
              const remove = shardwiseWidgets.mount(figure, model);
              const sliders = figure.querySelectorAll('input[type=range]');
              const slider = sliders[i % sliders.length];
              slider.value = i % 3;
              slider.dispatchEvent(new Event('input', { bubbles: true }));
              figure.querySelector('[data-step="play"]')?.click();
              figure.querySelector('[data-key]').dispatchEvent(new Event('pointerover', { bubbles: true }));
              await new Promise((resolve) => setTimeout(resolve));
              remove();
            }
          };
        }""",
        name,
    )
    client = page.context.new_cdp_session(page)
    client.send("Performance.enable")

    def measure() -> dict[str, float]:
        # What a frame still looks at is not garbage yet.
        page.evaluate("new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)))")
        client.send("HeapProfiler.collectGarbage")
        return {m["name"]: m["value"] for m in client.send("Performance.getMetrics")["metrics"]}

    page.evaluate("cycle(10)")
    before = measure()
    page.evaluate(f"cycle({times // 3 * 3})")
    after = measure()
    assert page.evaluate("alive()") == 0
    assert after["JSEventListeners"] <= before["JSEventListeners"]
    assert after["Nodes"] <= before["Nodes"] * 1.2 + 60
    assert after["JSHeapUsedSize"] <= before["JSHeapUsedSize"] + 300_000


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing(pages: Pages, theme: str, width: int) -> None:
    page = pages("all", theme, width=width)
    page.evaluate("document.querySelectorAll('.sw-table').forEach((box) => { box.open = true })")
    assert violations(page) == []


def test_every_stop_of_the_tab_key_has_a_name_and_shows_its_focus(pages: Pages) -> None:
    page = pages("all")
    seen = []
    while True:
        page.keyboard.press("Tab")
        at = page.evaluate(
            """() => {
              const element = document.activeElement;
              const box = element.closest('.sw-check') ?? element;
              const shown = element.matches('.sw-radio') ? element.nextElementSibling : element;
              const style = getComputedStyle(shown);
              return {
                id: element.id, name: element.ariaLabel ?? element.labels?.[0]?.textContent ?? element.textContent,
                outline: element.dataset.key ? !!element.ownerSVGElement.querySelector('.sw-mark') : style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2,
                keeps: element.hasAttribute('data-lm-suppress-shortcuts'), mark: !!element.dataset.key,
                height: element.matches('.sw-box') ? box.getBoundingClientRect().height : shown.getBoundingClientRect().height,
              };
            }"""
        )
        if at["id"] == "after":
            break
        seen.append(at)
        assert len(seen) < 300, "Tab goes round in circles"
    assert sum(at["mark"] for at in seen) == len(KINDS), "a drawing is one stop"
    for at in seen:
        assert at["name"].strip(), at
        assert at["outline"], at
        assert at["keeps"], at
        assert at["mark"] or at["height"] >= 40, at


@pytest.mark.parametrize("name", STEPPED)
def test_what_moves_does_so_briefly_and_only_for_who_wants_it(pages: Pages, name: str) -> None:
    for motion in ("no-preference", "reduce"):
        page = pages(name, reduced_motion=motion)
        widget = figure(page, name)
        if not widget.get_by_role("button", name="Next step").count():
            return
        widget.get_by_role("button", name="First step").press("Enter")
        durations = []
        for _ in range(3):
            widget.get_by_role("button", name="Next step").press("Enter")
            durations += page.evaluate(
                "document.getAnimations().map((a) => a.effect.getComputedTiming().activeDuration)"
            )
        assert bool(durations) == (motion != "reduce")
        assert all(200 <= duration <= 400 for duration in durations), durations


def test_print_leaves_the_drawing_and_no_controls(pages: Pages) -> None:
    page = pages("all")
    page.emulate_media(media="print")
    for name in KINDS:
        widget = figure(page, name)
        expect(widget.locator("svg.sw-svg")).to_be_visible()
        expect(widget.locator("output")).to_be_visible()
        for part in (".sw-controls", ".sw-foot", ".sw-asked"):
            expect(widget.locator(part)).to_be_hidden()


@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_out_of_sight_has_its_place_and_is_printed(pages: Pages, width: int) -> None:
    page = pages("all", width=width)
    skipped = "[...document.querySelectorAll('.sw-svg')].filter((e) => !e.checkVisibility({ contentVisibilityAuto: true })).length"
    heights = (
        "[...document.querySelectorAll('figure')].map((e) => e.getBoundingClientRect().height)"
    )
    page.wait_for_function(f"{skipped} > 4")
    before = page.evaluate(heights)
    printed = len(page.pdf())
    page.add_style_tag(content=".shardwise-widget .sw-drawing { content-visibility: visible }")
    page.wait_for_function(f"{skipped} === 0")
    assert page.evaluate(heights) == pytest.approx(before, abs=0.1)
    assert printed == pytest.approx(len(page.pdf()), rel=0.01)


@every
def test_without_scripts_the_frame_and_its_table_are_there(pages: Pages, name: str) -> None:
    page = pages(name, java_script_enabled=False)
    widget = page.locator("figure")
    expect(widget.locator("svg.sw-svg")).to_be_visible()
    expect(widget.locator(".sw-try")).to_be_visible()
    for part in (".sw-controls", ".sw-copy", ".sw-asked"):
        assert widget.locator(part).first.is_hidden(), part
    widget.locator("summary").click()
    table = widget.locator(".sw-table table")
    expect(table).to_be_visible()
    assert table.locator("tbody tr").count() >= 1
    assert re.search(r"\d", str(table.inner_text()))
