"""The cost of tensor parallelism as a widget: its numbers are the library's, over a grid."""

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
from shardwise.plan import Model, all_reduce_seconds, group_link
from shardwise.tensor_parallel import LayerWeights, layer_communication_elements, megatron_layer
from shardwise_widgets import TensorParallelCost
from shardwise_widgets.tensor_parallel_cost import (
    CLUSTERS,
    DEVICES,
    MAX_TOKENS,
    MAX_WIDTH,
    MIN_WIDTH,
    layer_cost,
)

GRID = [
    {"devices": devices, "d_model": d_model, "tokens": tokens, "cluster": cluster}
    for devices, d_model, tokens, cluster in itertools.product(
        DEVICES, (1024, 1600, 4096, 12288, 16384), (1, 256, 2048, 131072), CLUSTERS
    )
]
MODEL = "import * as model from './tensor-parallel-cost/model.js';\n"


def test_the_controls_reach_what_the_traits_allow() -> None:
    given = node(
        MODEL
        + """
        import { widget } from './tensor-parallel-cost/index.js';
        const { devices, d_model, tokens, cluster } = widget.fields;
        const ends = ({ least, most }) => [least, most];
        const all = [devices.of, ends(d_model), ends(tokens), cluster.of];
        const output = [...all, model.WIDTHS, model.TOKENS];
        """
    )
    widths, tokens = given[4:]
    assert given[:4] == [list(DEVICES), [MIN_WIDTH, MAX_WIDTH], [1, MAX_TOKENS], list(CLUSTERS)]
    assert (widths[0], widths[-1], tokens[-1]) == (MIN_WIDTH, MAX_WIDTH, MAX_TOKENS)
    for width in widths:
        assert TensorParallelCost(d_model=width).d_model == width


def test_what_is_drawn_is_the_count() -> None:
    drawn = node(
        MODEL
        + "const { grid, clusters } = input;\n"
        + "const output = grid.map((entry) => model.cost({ ...entry, clusters }));",
        {"grid": GRID, "clusters": TensorParallelCost().clusters},
    )
    for entry, numbers in zip(GRID, drawn, strict=True):
        devices, d_model, tokens = entry["devices"], entry["d_model"], entry["tokens"]
        expected = layer_cost(devices, d_model, tokens, CLUSTERS[entry["cluster"]])
        # N is a power of two, so that both are exact.
        assert numbers["params"] == expected["params"], entry
        assert numbers["bytes"] == expected["bytes"], entry
        assert numbers["bytes"] == 2 * layer_communication_elements(1, tokens, d_model, devices)
        seconds = {"compute": numbers["compute"], "all_reduces": numbers["allReduces"]}
        rounding = 8 * 2**-52  # of the products, quotients and sums on the two ways
        for name, value in seconds.items():
            assert value == pytest.approx(expected[name], rel=rounding, abs=0), (entry, name)
        whole = expected["compute"] + expected["all_reduces"]
        share = expected["all_reduces"] / whole
        assert numbers["share"] == pytest.approx(share, rel=0, abs=rounding)


def test_what_no_number_of_devices_goes_beyond_is_a_limit() -> None:
    clusters = TensorParallelCost().clusters
    state = {"d_model": 4096, "tokens": 2048, "cluster": "A100", "clusters": clusters}
    limit = node(MODEL + "const output = model.cost({ ...input, devices: Infinity });", state)
    model = Model(layers=1, hidden=4096, num_heads=1, vocab=1, seq_len=1)
    assert limit["params"] == model.layer_vector_params
    assert limit["bytes"] == 4 * 2 * (2 * 2048 * 4096)  # four times twice an activation
    assert limit["share"] == 1


def test_the_count_is_that_of_a_layer_that_runs() -> None:
    width, count, tokens = 8, 4, 6
    source = torch.Generator().manual_seed(5)

    def made(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=source)

    weights = LayerWeights(
        Wq=made(width, width),
        Wk=made(width, width),
        Wv=made(width, width),
        Wo=made(width, width),
        A=made(width, 4 * width),
        B=made(4 * width, width),
        attention_gain=made(width),
        attention_shift=made(width),
        mlp_gain=made(width),
        mlp_shift=made(width),
        bias_q=made(width),
        bias_k=made(width),
        bias_v=made(width),
        bias_o=made(width),
        bias_A=made(4 * width),
        bias_B=made(width),
    )
    x = made(1, tokens, width).requires_grad_()
    with ledger.record() as log:
        out = megatron_layer(x, weights, num_heads=4, num_devices=count)
        out.sum().backward()
    cost = layer_cost(count, width, tokens, CLUSTERS["A100"])
    assert log.sent_by(0) == 2 * cost["bytes"], "in 32 bits"
    assert log.calls.count("ring_all_reduce") == 4
    replicated = {"attention_gain", "attention_shift", "mlp_gain", "mlp_shift", "bias_o", "bias_B"}
    sizes = {name: getattr(weights, name).numel() for name in weights.__slots__}
    kept = sum(size if name in replicated else size // count for name, size in sizes.items())
    assert cost["params"] == kept


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_times_are_those_of_the_links_that_the_ring_has(cluster: str) -> None:
    hardware = CLUSTERS[cluster]
    for devices in DEVICES:
        cost = layer_cost(devices, 8192, 4096, hardware)
        message = 2 * 4096 * 8192
        one = all_reduce_seconds(message, devices, group_link(hardware, devices))
        assert cost["all_reduces"] == 4 * one
        assert cost["bytes"] == 4 * ring_all_reduce_bytes(message, devices)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"devices": 3}, "devices=3 must be one of 1, 2, 4, 8, 16, 32, 64"),
    ({"devices": True}, "devices=True must be one of"),
    ({"d_model": 1000}, "d_model=1000 must be a whole number from 1024 to 16384"),
    ({"d_model": 1025}, "d_model=1025 must be a multiple of 64"),
    ({"d_model": None}, "d_model=None must be a number"),
    ({"tokens": 0}, "tokens=0 must be a whole number from 1 to 131072"),
    ({"tokens": 2.5}, "tokens=2.5 must be a whole number"),
    ({"cluster": "B200"}, "cluster='B200' must be one of A100, H100"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[message for _, message in BAD])
def test_a_wrong_argument_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        TensorParallelCost(**arguments)
    cost = TensorParallelCost()
    before = {name: getattr(cost, name) for name in cost.shown}
    with pytest.raises(traitlets.TraitError, match=re.escape(message)):
        cost.set_state(arguments)
    assert {name: getattr(cost, name) for name in cost.shown} == before


def test_the_hardware_is_not_the_front_ends_to_set() -> None:
    with pytest.raises(traitlets.TraitError, match="clusters is read-only"):
        TensorParallelCost().set_state({"clusters": {}})


def test_a_page_brings_the_hardware() -> None:
    cost = TensorParallelCost(devices=16, d_model=8192, tokens=4096, cluster="H100")
    text = cost.book_markdown()
    state = json.loads(re.search(r'<script type="application/json">(.*?)</script>', text)[1])
    assert state == {name: getattr(cost, name) for name in cost.shown}
    assert state["clusters"]["H100"]["node"] == 8
