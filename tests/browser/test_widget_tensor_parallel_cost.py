"""The cost of tensor parallelism as a browser lays it out: no label meets another."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from drawings import drawn_page, meeting_labels

from shardwise_widgets import TensorParallelCost

if TYPE_CHECKING:
    from playwright.sync_api import Browser

EXTREMES = list(
    itertools.product((1, 8, 64), (1024, 6144, 16384), (1, 2048, 131072), ("A100", "H100"))
)


@pytest.mark.parametrize("width", [256, 288, 559, 560, 728])
def test_no_label_meets_another(browser: Browser, width: int) -> None:
    widgets = [TensorParallelCost(*state) for state in EXTREMES]
    with drawn_page(browser, widgets, "tensor-parallel-cost", width) as page:
        assert meeting_labels(page) == []
