"""The split MLP as a browser lays it out: no label meets another or leaves the drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from drawings import drawn_page, meeting_labels

from shardwise_widgets import MegatronMLP

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SHAPES = [(1, 1, 4), (64, 8, 4096), (3000, 16, 64)]  # tokens, d_model, d_ff of a reader's tensors


def widgets() -> list[MegatronMLP]:
    book = [MegatronMLP(devices, step) for devices in (2, 3, 4) for step in (0, 2, 5, 8, 10, 11)]
    own = [
        MegatronMLP.from_weights(
            torch.ones(tokens, width), torch.ones(width, inner), torch.ones(inner, width), 4, step
        )
        for tokens, width, inner in SHAPES
        for step in (5, 8)
    ]
    return book + own


@pytest.mark.parametrize("width", [256, 288, 559, 560, 728])
def test_no_label_meets_another(browser: Browser, width: int) -> None:
    with drawn_page(browser, widgets(), "megatron-mlp", width) as page:
        assert meeting_labels(page) == []
