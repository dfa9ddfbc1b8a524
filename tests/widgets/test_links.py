"""Widgets that share traits by name, and keep no one alive for it."""

from __future__ import annotations

import gc
import re
import weakref
from typing import Any

import pytest
from ipywidgets import Widget

from shardwise_widgets import MemoryBudget, RingAllReduce
from shardwise_widgets.base import ShardwiseWidget


@pytest.fixture(autouse=True)
def alone() -> None:
    """Close what other tests of this process left open: a link joins all that live."""
    Widget.close_all()
    gc.collect()


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("device", "link='device' must name traits of RingAllReduce: devices, step"),
        ("devices;step", "link='devices;step' must name traits"),
        ("", "link='' must name traits"),
        ("devices,", "link='devices,' must name traits"),
        ("steps", "link='steps' must name traits"),
        (1, "link=1 must be a text such as 'devices'"),
        (["devices"], "link=['devices'] must be a text"),
        (True, "link=True must be a text"),
    ],
)
def test_a_wrong_link_is_named(link: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        RingAllReduce(link=link)


def test_a_shared_trait_has_one_value() -> None:
    first, second = RingAllReduce(devices=3, link="devices"), RingAllReduce(devices=3)
    third = MemoryBudget(devices=6, link="devices, stage")
    assert (first.devices, second.devices) == (6, 3)
    assert first.steps["devices"] == 6
    first.devices = 2
    assert (third.devices, second.devices) == (2, 3)
    fourth = MemoryBudget(devices=2, stage=3, link="stage")
    assert third.stage == 3
    fourth.set_state({"stage": 1, "devices": 8})
    assert (third.stage, third.devices) == (1, 2)
    for widget in (first, third, fourth):
        widget.close()


def test_what_the_other_cannot_show_it_says_and_does_not_take() -> None:
    ring, budget = RingAllReduce(link="devices"), MemoryBudget(devices=4, link="devices")
    budget.devices = 64
    assert (ring.devices, ring.step) == (4, 0)
    assert ring.note == (
        "MemoryBudget has devices 64, which isn't shown here: "
        "devices=64 must be a whole number from 2 to 8"
    )
    budget.devices = 8
    assert (ring.devices, ring.note) == (8, "")
    for widget in (ring, budget):
        widget.close()


def test_who_is_closed_shares_no_more() -> None:
    ring, budget = RingAllReduce(link="devices"), MemoryBudget(devices=4, link="devices")
    ring.close()
    budget.devices = 8
    ring.devices = 3
    assert (ring.devices, budget.devices) == (3, 8)
    budget.close()


def test_a_link_keeps_nobody_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHARDWISE_BOOK", "1")  # ipywidgets itself keeps what has a channel open
    kept = RingAllReduce(link="devices")
    gone = [weakref.ref(RingAllReduce(devices=n, link="devices,step")) for n in range(2, 8)]
    gc.collect()
    assert [ref() for ref in gone] == [None] * 6
    kept.devices = 5
    assert len(ShardwiseWidget._links._groups["devices"]) == 1


def test_a_page_is_told_the_link() -> None:
    page = RingAllReduce(link="devices, step").book_markdown()
    assert (
        '<figure class="shardwise-widget" data-widget="RingAllReduce" data-link="devices,step" '
        in page
    )
    assert "data-link" not in RingAllReduce().book_markdown()
