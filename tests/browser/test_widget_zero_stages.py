"""The stages of ZeRO as a browser lays them out: no label meets another or leaves the drawing."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from drawings import drawn_page, meeting_labels

from shardwise_widgets import ZeroStages

if TYPE_CHECKING:
    from playwright.sync_api import Browser

EXTREMES = [
    (params, devices, step)
    for params, devices, step in itertools.product(
        (10**8, 7_500_000_000, 2 * 10**12), (1, 8, 64, 4096), range(4)
    )
]


@pytest.mark.parametrize("width", [256, 559, 560, 728])
def test_no_label_meets_another(browser: Browser, width: int) -> None:
    widgets = [ZeroStages(*state) for state in EXTREMES]
    with drawn_page(browser, widgets, "zero-stages", width) as page:
        assert meeting_labels(page) == []


def test_a_slice_shrinks_out_of_the_whole_copy(browser: Browser) -> None:
    widgets = [ZeroStages(devices=4, step=1)]
    with drawn_page(browser, widgets, "zero-stages", 640, moving=True) as page:
        ends = page.evaluate(
            """() => [...document.querySelectorAll(".sw-zero-shrink")].map((moving) => {
              const edges = (element) => {
                const { left, right } = element.getBoundingClientRect();
                return [left, right];
              };
              const [whole, slice] = moving.previousElementSibling.querySelectorAll("rect");
              const [motion] = moving.getAnimations();
              motion.pause();
              motion.currentTime = 0;
              const first = edges(moving);
              motion.currentTime = motion.effect.getTiming().duration;
              return { first, last: edges(moving), whole: edges(whole), slice: edges(slice) };
            })"""
        )
    assert len(ends) == 4
    for end in ends:
        assert end["first"] == pytest.approx(end["whole"], abs=1)
        assert end["last"] == pytest.approx(end["slice"], abs=1)
