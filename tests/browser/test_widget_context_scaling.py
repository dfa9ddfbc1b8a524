"""Context scaling as a browser lays it out: no label meets another or leaves the drawing."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from drawings import drawn_page, meeting_labels

from shardwise_widgets import ContextScaling

if TYPE_CHECKING:
    from playwright.sync_api import Browser

EXTREMES = [
    (devices, memory, *shape, layers)
    for devices, memory, shape, layers in itertools.product(
        (1, 9, 64), (0, 0.01, 1, 64), ((1, 1, 64), (128, 128, 256), (32, 8, 128)), (0, 128)
    )
]


@pytest.mark.parametrize("width", [256, 559, 560, 728])
def test_no_label_meets_another(browser: Browser, width: int) -> None:
    widgets = [ContextScaling(*state) for state in EXTREMES]
    with drawn_page(browser, widgets, "context-scaling", width) as page:
        assert meeting_labels(page) == []
