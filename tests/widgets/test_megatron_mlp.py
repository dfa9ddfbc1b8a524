"""The split MLP as a widget: what it shows is what `megatron_mlp` computes and sends."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pytest
import torch
import traitlets
from node_models import node

from shardwise import ledger
from shardwise.communication import ring_all_reduce_bytes
from shardwise.tensor_parallel import megatron_mlp, single_device_mlp
from shardwise_widgets import MegatronMLP
from shardwise_widgets._megatron_run import Trace, number, split_mlp
from shardwise_widgets.megatron_mlp import (
    LAST_STEP,
    MAX_DEVICES,
    MIN_DEVICES,
    example_runs,
    record_runs,
)

DEVICES = range(MIN_DEVICES, MAX_DEVICES + 1)
SHAPES = ((1, 1, 4), (3, 90, 7))  # tokens, d_model, d_ff


def tensors(
    tokens: int = 5, d_model: int = 6, d_ff: int = 10, dtype: torch.dtype = torch.float32
) -> list[torch.Tensor]:
    source = torch.Generator().manual_seed(tokens + d_ff)
    shapes = ((tokens, d_model), (d_model, d_ff), (d_ff, d_model))
    return [torch.randn(shape, generator=source).to(dtype) for shape in shapes]


def tensor_of(run: dict[str, Any], name: str) -> dict[str, Any]:
    both = (one for place in run["places"] if isinstance(place, list) for one in place)
    return next(one for one in both if one["name"] == name)


@pytest.mark.parametrize("num_devices", DEVICES)
def test_the_pieces_compute_what_the_block_computes_bit_by_bit(num_devices: int) -> None:
    x, up, down = (tensor.requires_grad_() for tensor in tensors())
    split = split_mlp(Trace(num_devices), x, up, down)
    z = megatron_mlp(x, up, down, num_devices)
    gradients = torch.autograd.grad(z, (x, up, down), z.detach())
    assert torch.equal(split["Z"], z)
    for name, gradient in zip(("dX", "dA", "dB"), gradients, strict=True):
        assert torch.equal(split[name], gradient), name


@pytest.mark.parametrize("num_devices", DEVICES)
def test_what_travels_is_what_the_block_sends(num_devices: int) -> None:
    x, up, down = (tensor.requires_grad_() for tensor in tensors())
    run = record_runs(x, up, down)[str(num_devices)]
    with ledger.record() as there:
        z = megatron_mlp(x, up, down, num_devices)
    with ledger.record() as back:
        z.backward(torch.ones_like(z))
    for step, log in ((5, there), (11, back)):
        sent = run["steps"][step]["sent"]
        assert sent == [log.sent_by(rank) for rank in range(num_devices)]
        assert sum(sent) / num_devices == ring_all_reduce_bytes(4 * x.numel(), num_devices)
    local = [step["sent"] for at, step in enumerate(run["steps"]) if at not in {5, 11}]
    assert local == [[0] * num_devices] * 10


@pytest.mark.parametrize("num_devices", DEVICES)
def test_parts_and_first_elements_are_those_of_the_shards(num_devices: int) -> None:
    x, up, down = tensors()
    run = record_runs(x, up, down)[str(num_devices)]
    hidden = torch.nn.functional.gelu(x @ up)
    for name, whole in (("Aᵢ", up), ("Bᵢ", down), ("Yᵢ", hidden)):
        found = tensor_of(run, name)
        covered = torch.zeros_like(whole)
        for (row, column, rows, columns), first in zip(found["parts"], found["first"], strict=True):
            covered[row : row + rows, column : column + columns] += 1
            assert first == number(whole[row, column].item()), name
        assert torch.equal(covered, torch.ones_like(whole)), "the parts make up the whole, once"
    z = tensor_of(run, "Z")
    assert z["parts"] == [[0, 0, 5, 6]] * num_devices
    assert set(z["first"]) == {number(megatron_mlp(x, up, down, num_devices)[0, 0].item())}


def test_the_sentences_of_the_sums_have_their_numbers() -> None:
    run = record_runs(torch.ones(3, 2), torch.ones(2, 6), torch.ones(6, 2))["4"]
    z, parts = tensor_of(run, "Z")["first"][0], tensor_of(run, "Zᵢ")["first"]
    assert f"of the first element, {' + '.join(parts)} = {z}." in run["steps"][5]["says"]
    assert "b·s·h · 4 B = 36 B on average." in run["steps"][5]["says"]
    sent = run["steps"][5]["sent"]
    assert len(set(sent)) > 1, "six elements don't cut into four equal chunks"
    assert sum(sent) == 4 * 36
    one = single_device_mlp(torch.ones(3, 2), torch.ones(2, 6), torch.ones(6, 2))
    assert run["difference"]["Z"] <= 6 * torch.finfo(torch.float32).eps * one.max().item()


def test_the_controls_reach_what_the_traits_allow() -> None:
    fields = node(
        "import { widget } from './megatron-mlp/index.js';\nconst output = widget.fields;"
    )
    assert fields == {
        "devices": {"kind": "one", "of": list(DEVICES)},
        "step": {"kind": "whole", "least": 0, "most": LAST_STEP},
    }


def test_every_step_of_every_run_is_drawn_and_asked_by_its_recording() -> None:
    states = [
        {"devices": n, "step": step, "steps": runs}
        for runs in (
            example_runs(),
            record_runs(*tensors(1, 1, 4)),
            record_runs(*tensors(3, 90, 7)),
        )
        for n, step in itertools.product(DEVICES, range(LAST_STEP + 1))
    ]
    drawn = node(
        """
        import { widget } from './megatron-mlp/index.js';
        import { alt } from './megatron-mlp/words.js';
        import { soundState, viewOf } from './shared/state.js';
        const output = input.map((given) => {
          const state = soundState(widget, (trait) => given[trait]);
          const view = [256, 560, 760].map((width) => viewOf(widget, state, { width, id: 'x' }));
          return { svg: view.map(({ drawing }) => drawing), said: view[0].said, alt: alt(state) };
        });
        """,
        states,
    )
    for state, shown in zip(states, drawn, strict=True):
        run = state["steps"][str(state["devices"])]
        step = run["steps"][state["step"]]
        assert shown["said"] == step["says"]
        assert step["says"] in shown["alt"]
        for svg in shown["svg"]:
            asked = re.findall(r'aria-label="([^"]*)" tabindex', svg)
            assert len(asked) == 2 + 6 * state["devices"] + 2
            made = [one for place in run["places"] if isinstance(place, list) for one in place]
            now = [one["name"] for one in made if one["step"] == state["step"]]
            for name in now:
                assert any(text.split(": ")[1].startswith(f"{name} = ") for text in asked), name


BAD = [
    ({"devices": 1}, "devices=1 must be a whole number from 2 to 4"),
    ({"devices": 2.5}, "devices=2.5 must be a whole number"),
    ({"devices": "3"}, "devices='3' must be a number"),
    ({"step": 12}, "step=12 must be a whole number from 0 to 11"),
    ({"step": None}, "step=None must be a number"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[message for _, message in BAD])
def test_a_wrong_argument_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        MegatronMLP(**arguments)
    mlp = MegatronMLP()
    with pytest.raises(traitlets.TraitError, match=re.escape(message)):
        mlp.set_state(arguments)
    assert (mlp.devices, mlp.step) == (2, 0)


def test_the_recording_is_not_the_front_ends_to_set() -> None:
    mlp = MegatronMLP()
    with pytest.raises(traitlets.TraitError, match="steps is read-only"):
        mlp.set_state({"steps": {}})
    assert mlp.steps == example_runs()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_the_readers_own_tensors_are_shown(dtype: torch.dtype) -> None:
    x, up, down = tensors(6, 4, 8, dtype)
    with torch.inference_mode():
        mlp = MegatronMLP.from_weights(x.view(2, 3, 4), up, down, num_devices=4, step=5)
    assert (mlp.devices, mlp.step) == (4, 5)
    run = mlp.steps["4"]
    assert run["itemsize"] == dtype.itemsize
    assert run["steps"][5]["sent"] == [36 * dtype.itemsize] * 4
    assert tensor_of(run, "X")["parts"][0] == [0, 0, 6, 4]
    assert all(tensor.grad is None and not tensor.requires_grad for tensor in (x, up, down))
    code = node(
        """
        import { code } from './megatron-mlp/words.js';
        const output = input.map((run) => code({ run, devices: 4, step: 5 }));
        """,
        [run, example_runs()["4"]],
    )
    assert code == [
        "MegatronMLP.from_weights(x, A, B, num_devices=4, step=5)",
        "MegatronMLP(devices=4, step=5)",
    ]


X, A, B = torch.ones(3, 4), torch.ones(4, 8), torch.ones(8, 4)
BAD_TENSORS: list[tuple[dict[str, Any], str]] = [
    ({"x": 3}, "x=3 must be a torch.Tensor"),
    ({"x": X.int()}, "x has dtype torch.int32: give floats"),
    ({"x": torch.ones(0, 4)}, "x has shape (0, 4): give at least one token"),
    ({"x": X * float("nan")}, "X holds values that are not finite: give smaller x"),
    ({"x": X * 1e38}, "Hᵢ holds values that are not finite"),
    ({"A": torch.ones(5, 8)}, "A has 5 rows where 4 inputs arrive"),
    ({"A": A[:, :3], "B": B[:3]}, "A has 3 columns: give at least 4, one for each device"),
    ({"B": torch.ones(7, 4)}, "B has 7 rows where 8 inputs arrive"),
    ({"num_devices": 5}, "num_devices=5 must be a whole number from 2 to 4"),
    ({"step": 12}, "step=12 must be a whole number from 0 to 11"),
]


@pytest.mark.parametrize(("change", "message"), BAD_TENSORS, ids=[text for _, text in BAD_TENSORS])
def test_tensors_that_are_no_mlp_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        MegatronMLP.from_weights(**{"x": X, "A": A, "B": B, **change})


def test_a_page_brings_the_run_of_every_number_of_devices() -> None:
    text = MegatronMLP(devices=3, step=8, link="devices").book_markdown()
    state = json.loads(re.search(r'<script type="application/json">(.*?)</script>', text)[1])
    assert state == {"devices": 3, "step": 8, "steps": example_runs()}
    assert 'data-link="devices"' in text
    assert "dBᵢ = Yᵢᵀ dZ" in text
