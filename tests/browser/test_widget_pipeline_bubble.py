"""PipelineBubble in a browser: labels apart, and a prompt that is answered by keyboard."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

import pytest
from drawings import drawn_page, meeting_labels
from playwright.sync_api import Browser, expect

from shardwise.pipeline import bubble_fraction, microbatches_for_bubble
from shardwise_widgets import PipelineBubble
from shardwise_widgets.base import built
from shardwise_widgets.pipeline_bubble import TARGETS

if TYPE_CHECKING:
    from pathlib import Path

EXTREMES = [
    PipelineBubble(*state) for state in itertools.product((1, 2, 5, 64), (1, 8, 256), TARGETS)
]


@pytest.mark.parametrize("width", [256, 559, 560, 728])
def test_no_label_meets_another(browser: Browser, width: int) -> None:
    with drawn_page(browser, EXTREMES, "pipeline-bubble", width) as page:
        assert meeting_labels(page) == []


def test_the_fewest_microbatches_can_be_chosen(browser: Browser, tmp_path: Path) -> None:
    mount = re.search(r"````\{=html\}\n(.*?)\n````", PipelineBubble().book_markdown(), re.DOTALL)
    assert mount is not None
    (tmp_path / "page.html").write_text(
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Bubble</title>"
        f"<style>{built('look.css')}{built('widgets.css')}</style>"
        f"<main>{mount[1]}</main>{built('page.html')}",
        encoding="utf-8",
    )
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.get_by_role("slider", name="Stages P").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    fewest = microbatches_for_bubble(8, 0.1)
    expect(page.locator("output")).to_contain_text(f"at most 10\u00a0% takes {fewest}\u00a0micro")
    slider = page.get_by_role("slider", name="Micro-batches M")
    slider.focus()
    for _ in range(100):
        if slider.get_attribute("aria-valuetext") == str(fewest):
            break
        page.keyboard.press("ArrowRight")
    expect(page.locator(".sw-drawing .sw-large")).to_contain_text("10\u00a0% of the time idle")
    expect(page.locator('[data-key="idealpoint"]')).to_have_attribute(
        "aria-label", re.compile(f"^{100 * bubble_fraction(8, fewest, 'ideal'):.3g}\u00a0% of the")
    )
    page.close()
