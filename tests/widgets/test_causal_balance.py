"""CausalBalance: its counts are the library's, and what is wrong is named."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from node_models import node

from shardwise.ring_attention import LAYOUTS, causal_block_work, causal_step_work, sequence_layout
from shardwise_widgets import CausalBalance
from shardwise_widgets.causal_balance import MAX_BLOCK, MAX_DEVICES, MIN_DEVICES

DEVICES = [*range(MIN_DEVICES, 13), 16, 31, MAX_DEVICES]
BLOCKS = [*range(1, 18), 32, 63, 128, MAX_BLOCK]
GRID = [
    {"devices": devices, "block": block, "layout": layout}
    for devices, block, layout in itertools.product(DEVICES, BLOCKS, LAYOUTS)
]


@pytest.fixture(scope="module")
def drawn() -> list[dict[str, Any]]:
    return node(
        """
        import { balance, lastOf } from './causal-balance/model.js';
        const output = input.map((state) => {
          const { runs, ...counts } = balance(state);
          const positions = runs.map((own) => own.flatMap(([first, count, stride]) =>
            Array.from({ length: count }, (_, i) => first + i * stride)));
          const lasts = runs.map((own) => lastOf(own.at(-1)));
          return { positions, lasts, ...counts };
        });
        """,
        GRID,
    )


def test_work_and_factors_are_the_librarys(drawn: list[dict[str, Any]]) -> None:
    for state, counts in zip(GRID, drawn, strict=True):
        expected = causal_block_work(
            num_devices=state["devices"], block_size=state["block"], layout=state["layout"]
        )
        assert {name: counts[name] for name in expected} == expected, state
        assert counts["most"] == max(expected["work"])
        assert counts["least"] == min(expected["work"])
        assert counts["mean"] == expected["total"] / state["devices"]


def test_positions_are_the_librarys(drawn: list[dict[str, Any]]) -> None:
    for state, counts in zip(GRID, drawn, strict=True):
        ids = sequence_layout(state["devices"] * state["block"], state["devices"], state["layout"])
        expected = [own.tolist() for own in ids]
        assert counts["positions"] == expected, state
        assert counts["lasts"] == [own[-1] for own in expected]


def test_the_ring_takes_that_much_longer_also_where_all_wait_after_each_step() -> None:
    for state in GRID:
        if state["devices"] > 12 or state["block"] > 17:
            continue
        options = {"num_devices": state["devices"], "block_size": state["block"]}
        steps = causal_step_work(**options, layout=state["layout"])
        work = causal_block_work(**options, layout=state["layout"])["work"]
        assert sum(map(max, steps)) == max(work), state


def test_the_limits_of_the_view_are_those_of_the_traits() -> None:
    fields = node(
        "import { widget } from './causal-balance/index.js';\nconst output = widget.fields;", None
    )
    assert fields == {
        "devices": {"kind": "whole", "least": MIN_DEVICES, "most": MAX_DEVICES},
        "block": {"kind": "whole", "least": 1, "most": MAX_BLOCK},
        "layout": {"kind": "one", "of": list(LAYOUTS)},
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"devices": 1}, "devices=1 must be a whole number from 2 to 32"),
        ({"devices": 33}, "devices=33 must be a whole number from 2 to 32"),
        ({"devices": "8"}, "devices='8' must be a number, not str"),
        ({"block": 0}, "block=0 must be a whole number from 1 to 256"),
        ({"block": 1.5}, "block=1.5 must be a whole number from 1 to 256"),
        ({"block": True}, "block=True must be a number, not bool"),
        ({"layout": "spiral"}, "layout='spiral' must be one of contiguous, striped, zigzag"),
        ({"layout": None}, "layout=None must be one of"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_changes(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        CausalBalance(**arguments)
    balance = CausalBalance()
    for act in (
        lambda: balance.set_state(arguments),
        lambda: setattr(balance, *next(iter(arguments.items()))),
    ):
        with pytest.raises((TypeError, ValueError), match=re.escape(message)):
            act()
    assert (balance.devices, balance.block, balance.layout) == (8, 16, "contiguous")


def test_the_book_gets_the_first_frame_with_its_numbers() -> None:
    text = CausalBalance(devices=4, block=2, layout="striped").book_markdown()
    assert '{"devices":4,"block":2,"layout":"striped"}' in text
    work = causal_block_work(num_devices=4, block_size=2, layout="striped")
    for pairs in work["work"]:
        assert f">{pairs}</text>" in text
    assert f"{work['slowdown']:.3f}\u00d7" in text
