"""The stages of ZeRO as a widget: its numbers are the library's, its collectives those of a run."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pytest
import torch
import traitlets
from node_models import node
from torch import nn

from shardwise import ledger
from shardwise.communication import zero_communication_elements
from shardwise.memory import RECIPES, zero_memory_breakdown, zero_memory_per_device
from shardwise.zero import ZeroTrainer
from shardwise_widgets import ZeroStages
from shardwise_widgets.memory_budget import MAX_DEVICES, MAX_PARAMS, MIN_PARAMS

PARTS = ("params", "grads", "optimizer")
GRID = [
    {"params": params, "devices": devices, "step": stage}
    for params, devices, stage in itertools.product(
        (10**8, 7_500_000_000, 405 * 10**9 + 1, 2 * 10**12), (1, 2, 3, 8, 64, 1000, 4096), range(4)
    )
]
MODEL = "import * as zero from './zero-stages/model.js';\n"


def test_the_limits_of_the_controls_are_those_of_the_traits() -> None:
    limits = node(
        """
        import { widget } from './zero-stages/index.js';
        const { params, devices, step } = widget.fields;
        const ends = ({ least, most }) => [least, most];
        const stops = (all) => [all.at(0), all.at(-1)];
        const given = [ends(params), ends(devices), ends(step)];
        const [all, many] = widget.controls.map((control) => control.stops);
        const output = [...given, stops(all), stops(many)];
        """
    )
    params, devices = [MIN_PARAMS, MAX_PARAMS], [1, MAX_DEVICES]
    assert limits == [params, devices, [0, 3], params, devices]


def test_bytes_on_a_device_and_bytes_sent_are_the_librarys() -> None:
    drawn = node(
        MODEL
        + """
        const output = input.map((state) => (
          { ...zero.kept(state), sent: zero.sentBytes(state), less: zero.saving(state) }
        ));
        """,
        GRID,
    )
    rounding = 2 * 2**-52  # a product beyond 2**53 and a quotient
    for entry, numbers in zip(GRID, drawn, strict=True):
        where = (entry["params"], entry["devices"], entry["step"])
        expected = zero_memory_breakdown(*where)
        assert {part: numbers[part] for part in PARTS} == {part: expected[part] for part in PARTS}
        assert numbers["total"] == pytest.approx(expected["total"], rel=rounding, abs=0)
        sent = 2 * zero_communication_elements(*where)
        assert numbers["sent"] == pytest.approx(sent, rel=rounding, abs=0)
        less = zero_memory_per_device(*where[:2], 0) / zero_memory_per_device(*where)
        assert numbers["less"] == pytest.approx(less, rel=3 * rounding, abs=0)


def test_bytes_per_parameter_are_those_of_the_default_recipe() -> None:
    ours = node(MODEL + "const output = zero.BYTES;")
    assert {part: ours[part] for part in PARTS} == {
        part: getattr(RECIPES["2+2+12"], part) for part in PARTS
    }


def operations_of_a_run(stage: int) -> list[str]:
    """What one layer's step communicates: reductions and gatherings, as the ledger has them."""
    trainer = ZeroTrainer([nn.Linear(4, 4)], num_devices=4, stage=stage)
    with ledger.record() as log:
        trainer.step([torch.ones(2, 4)] * 4, [torch.ones(2, 4)] * 4)
    steps = {transfer.step: transfer.op for transfer in log.transfers}
    trips = [steps[first] for first in range(0, len(steps), 3)]  # each takes N - 1 = 3 steps
    sent = {log.sent_by(rank) for rank in range(4)}
    elements = zero_communication_elements(trainer.num_parameters, 4, stage)
    assert sent == {2 * elements}, "the run sends what the formula says"
    return trips


@pytest.mark.parametrize("stage", range(4))
def test_the_collectives_are_those_of_a_run_in_its_order(stage: int) -> None:
    drawn = node(MODEL + "const output = zero.collectives(input);", stage)
    spelled = {
        "all-reduce": ["reduce_scatter", "all_gather"],
        "reduce-scatter": ["reduce_scatter"],
        "all-gather": ["all_gather"],
    }
    assert [trip for one in drawn for trip in spelled[one["op"]]] == operations_of_a_run(stage)
    assert [one["phase"] for one in drawn] == sorted(one["phase"] for one in drawn)
    for one in drawn:
        assert one["trips"] == len(spelled[one["op"]])
        assert (one["part"] == "params") == (one["op"] == "all-gather")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"params": 1e7}, "params=10000000.0 must be a whole number from 100000000 to"),
        ({"params": "7e9"}, "params='7e9' must be a number"),
        ({"devices": 0}, "devices=0 must be a whole number from 1 to 4096"),
        ({"devices": True}, "devices=True must be"),
        ({"step": 4}, "step=4 must be a whole number from 0 to 3"),
        ({"step": 1.5}, "step=1.5 must be"),
        ({"step": None}, "step=None must be a number"),
        ({"link": "stage"}, "link='stage' must name traits of ZeroStages: params, devices, step"),
    ],
)
def test_a_wrong_argument_is_named_with_its_range(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        ZeroStages(**arguments)


@pytest.mark.parametrize("change", [{"step": 9}, {"devices": 0, "step": 1}, {"params": "x"}])
def test_a_wrong_state_of_the_front_end_leaves_everything_as_it_was(change: dict[str, Any]) -> None:
    stages = ZeroStages(params=7e9, devices=16, step=2)
    with pytest.raises(traitlets.TraitError):
        stages.set_state(change)
    assert (stages.params, stages.devices, stages.step) == (7 * 10**9, 16, 2)


def test_the_book_gets_the_state_and_a_first_frame() -> None:
    text = ZeroStages(params=7.5e9, devices=64, step=3, link="devices").book_markdown()
    assert 'data-widget="ZeroStages" data-link="devices" aria-label="Stages of ZeRO"' in text
    state = re.search(r'<script type="application/json">(.*?)</script>', text)
    assert state is not None
    assert json.loads(state[1]) == {"params": 7_500_000_000, "devices": 64, "step": 3}
    assert "1.88\u00a0GB" in text
    assert text.count('<li class="sw-prompt">') == 3
    assert "![ZeRO stage 3, 7.5\u00a0B parameters on 64\u00a0devices." in text
