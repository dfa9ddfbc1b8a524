"""PipelineSchedule in a browser: labels apart, cells that grow with time, and dependencies."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

import pytest
from drawings import drawn_page, meeting_labels
from playwright.sync_api import Browser, expect

from shardwise.pipeline import pipeline_schedule
from shardwise_widgets import PipelineSchedule
from shardwise_widgets.base import built

if TYPE_CHECKING:
    from pathlib import Path

EXTREMES = [
    PipelineSchedule(policy, stages, microbatches, cost, step)
    for policy, stages, microbatches, cost, step in itertools.product(
        ("gpipe", "1f1b"), (1, 8), (1, 8, 32), (1, 3), (7, 512)
    )
] + [
    PipelineSchedule.from_schedule(
        pipeline_schedule(4, 6, "1f1b", forward_cost=[7, 900, 0.125, 33.3], latency=0.1), step=step
    )
    for step in (0, 5, 512)
]


def write_page(widget: PipelineSchedule, file: Path) -> None:
    mount = re.search(r"````\{=html\}\n(.*?)\n````", widget.book_markdown(), re.DOTALL)
    assert mount is not None
    file.write_text(
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Schedule</title>"
        f"<style>{built('look.css')}{built('widgets.css')}</style>"
        f"<main>{mount[1]}</main>{built('page.html')}",
        encoding="utf-8",
    )


@pytest.mark.parametrize("width", [256, 559, 560, 728])
def test_no_label_meets_another(browser: Browser, width: int) -> None:
    with drawn_page(browser, EXTREMES, "pipeline-schedule", width) as page:
        assert meeting_labels(page) == []


def test_cells_and_what_is_held_grow_up_to_the_line_of_now(browser: Browser) -> None:
    widgets = [PipelineSchedule("1f1b", 4, 8, 1.5, step=9)]
    with drawn_page(browser, widgets, "pipeline-schedule", 640, moving=True) as page:
        found = page.evaluate(
            """() => {
              const right = (element) => element.getBoundingClientRect().right;
              const motions = document.getAnimations();
              const at = (time) => {
                for (const motion of motions) motion.currentTime = time;
                return motions.map((motion) => right(motion.effect.target));
              };
              for (const motion of motions) motion.pause();
              const names = motions.map((motion) => motion.animationName);
              return { names, first: at(0), last: at(300) };
            }"""
        )
    line = found["names"].index("sw-schedule-move")
    assert found["names"].count("sw-schedule-grow") > 4
    for ends in (found["first"], found["last"]):
        assert ends == pytest.approx([ends[line]] * len(ends), abs=2.5), "nothing is ahead of now"
    assert found["last"][line] > found["first"][line] + 2


def test_the_frame_of_a_cell_that_begins_has_the_size_that_it_grows_to(
    browser: Browser, tmp_path: Path
) -> None:
    page = browser.new_page()
    write_page(PipelineSchedule("gpipe", backward_cost=1, step=3), tmp_path / "page.html")
    page.goto((tmp_path / "page.html").as_uri())
    page.locator('[data-key="F3-0"]').wait_for(state="detached")
    page.get_by_role("button", name="Next step").press("Enter")
    page.locator('[data-key="F3-0"]').hover(force=True)
    first = page.locator("rect.sw-mark").bounding_box()
    page.wait_for_function("document.getAnimations().every((m) => m.playState === 'finished')")
    page.locator('[data-key="F2-0"]').hover()
    page.locator('[data-key="F3-0"]').hover()
    assert page.locator("rect.sw-mark").bounding_box() == pytest.approx(first, abs=0.5)
    page.close()


NOTEBOOK = """async ([module, traits]) => {
  const source = URL.createObjectURL(new Blob([module], { type: 'text/javascript' }));
  const { default: widget } = await import(source);
  const heard = new Map();
  const model = {
    get: (trait) => traits[trait],
    set(trait, value) { traits[trait] = value; heard.get(`change:${trait}`)?.(); },
    on: (event, handler) => heard.set(event, handler),
    off: (event) => heard.delete(event),
    save_changes() {},
  };
  const writeText = async (text) => { window.copied = text; };
  Object.defineProperty(navigator, 'clipboard', { value: { writeText } });
  widget.render({ model, el: document.body });
}"""


def test_the_code_that_is_copied_makes_what_is_seen(browser: Browser) -> None:
    cells = pipeline_schedule(3, 4, "1f1b", backward_cost=2, latency=0.5)
    widget = PipelineSchedule.from_schedule(cells, step=4)
    page = browser.new_page()
    page.evaluate(NOTEBOOK, [built("PipelineSchedule.js"), widget.book_state()])

    def copied() -> PipelineSchedule:
        page.get_by_role("button", name="Copy code").press("Enter")
        expect(page.get_by_text("The code is copied.")).to_be_visible()
        code = str(page.evaluate("copied"))
        made = eval(code, {"PipelineSchedule": PipelineSchedule, "cells": cells})
        assert isinstance(made, PipelineSchedule)
        return made

    assert copied().book_state() == widget.book_state()
    page.get_by_role("button", name="Next step").press("Enter")
    assert copied().book_state() == {**widget.book_state(), "step": 5}
    page.get_by_role("radio", name="GPipe").press("Space")
    ours = copied()
    assert (ours.policy, ours.stages, ours.microbatches, ours.cells) == ("gpipe", 3, 4, [])
    page.close()


def test_a_cell_that_is_asked_points_at_what_it_needs(browser: Browser, tmp_path: Path) -> None:
    write_page(PipelineSchedule("1f1b", backward_cost=2), tmp_path / "page.html")
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    shown = page.locator("rect.sw-need")
    expect(shown).to_have_count(0)
    page.locator('[data-key="B1-1"]').hover()
    expect(page.locator(".sw-asked")).to_contain_text("It needs B1 of device 2 (ended at")
    expect(shown).to_have_count(2)
    page.locator('[data-key="B1-1"]').focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".sw-asked")).to_contain_text("on device 2")
    expect(shown.first).to_be_visible()
    page.locator('[data-key="B1-1"]').focus()
    for i, key in enumerate(("B1-2", "F1-1")):
        frame, cell = (
            one.bounding_box() for one in (shown.nth(i), page.locator(f'[data-key="{key}"]'))
        )
        assert frame is not None
        assert cell is not None
        assert [*frame.values()] == pytest.approx([*cell.values()], abs=3)
    expect(page.locator("path.sw-need")).to_have_count(1)
    page.locator('[data-key="F0-0"]').focus()
    expect(shown).to_have_count(0)
    page.close()
