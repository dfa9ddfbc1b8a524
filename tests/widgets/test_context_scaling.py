"""Context scaling as a widget: what ring attention holds, sends and waits, by the library."""

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
from shardwise.plan import Cluster, Device, Mesh, Model, dgx_a100, dgx_h100, step_time
from shardwise.ring_attention import overlap_block_size, ring_attention
from shardwise_widgets import ContextScaling
from shardwise_widgets.context_scaling import (
    HEAD_SIZES,
    MAX_DEVICES,
    MAX_HEADS,
    MAX_LAYERS,
    MAX_MEMORY,
    ring_layer_seconds,
    token_bytes,
)

CLUSTERS = {"A100": dgx_a100(8), "H100": dgx_h100(8)}
MODEL = "import * as context from './context-scaling/model.js';\n"
SHAPES = [(32, 32, 128), (32, 8, 128), (128, 8, 256), (8, 1, 64), (24, 3, 64)]
GRID = [
    {
        "devices": devices,
        "memory": memory,
        "heads": heads,
        "kv_heads": kv_heads,
        "head_size": head_size,
        "layers": layers,
    }
    for devices, memory, (heads, kv_heads, head_size), layers in itertools.product(
        (1, 2, 3, 8, 9, 32, 64), (0, 0.01, 0.07, 1, 64), SHAPES, (0, 1, 80)
    )
]


def shape_of(entry: dict[str, Any]) -> dict[str, int]:
    return {name: entry[name] for name in ("heads", "kv_heads", "head_size")}


@pytest.fixture(scope="module", params=CLUSTERS.values(), ids=list(CLUSTERS))
def cluster(request: pytest.FixtureRequest) -> Cluster:
    return request.param


@pytest.fixture(scope="module")
def drawn(cluster: Cluster) -> list[dict[str, Any]]:
    return node(
        MODEL
        + """
        const output = input.grid.map((entry) => {
          const state = { ...entry, hardware: input.hardware };
          return {
            parts: context.parts(state), block: context.block(state),
            seconds: context.seconds(state),
          };
        });
        """,
        {"grid": GRID, "hardware": ContextScaling(cluster=cluster).hardware},
    )


def test_the_view_counts_bytes_and_tokens_as_python_does(drawn: list[dict[str, Any]]) -> None:
    for entry, answer in zip(GRID, drawn, strict=True):
        assert answer["parts"] == token_bytes(**shape_of(entry), layers=entry["layers"])
        scaling = ContextScaling(**entry)
        assert answer["block"] == scaling.block
        assert scaling.context == entry["devices"] * scaling.block
        scaling.close()


def test_the_view_counts_seconds_as_python_does(
    cluster: Cluster, drawn: list[dict[str, Any]]
) -> None:
    for entry, answer in zip(GRID, drawn, strict=True):
        where = (cluster, entry["devices"], answer["block"])
        expected = ring_layer_seconds(*where, **shape_of(entry), training=entry["layers"] > 0)
        # A wait is a difference: it is as exact as what it is the difference of.
        exact = 16 * 2**-52 * (expected["compute"] + expected["communication"])
        assert answer["seconds"] == pytest.approx(list(expected.values()), rel=0, abs=exact), entry


@pytest.mark.parametrize("layers", [0, 1])
@pytest.mark.parametrize("devices", [2, 16])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_hiding_block_is_the_least_that_waits_for_nothing(
    shape: tuple[int, int, int], devices: int, layers: int
) -> None:
    heads, kv_heads, head_size = shape
    names = {"heads": heads, "kv_heads": kv_heads, "head_size": head_size}
    hardware = ContextScaling().hardware
    state = {**names, "devices": devices, "layers": layers, "hardware": hardware}
    least = node(MODEL + "const output = context.hidingBlock(input);", state)

    def waiting(block: int, count: int) -> float:
        ring = (dgx_a100(8), count, block)
        return ring_layer_seconds(*ring, **names, training=layers > 0)["waiting"]

    # The hop home is there in any case; what two steps more would add on the same link is not.
    more = devices + 2
    assert waiting(least, more) == waiting(least, devices)
    assert waiting(least - 1, more) > waiting(least - 1, devices)


def test_without_latency_the_hiding_block_is_the_librarys() -> None:
    hiding = node(
        MODEL
        + """
        const shape = { heads: 32, kv_heads: 32, head_size: 128, layers: 0 };
        const output = input.map(([flops, rate]) => {
          const hardware = ['none', flops, 8, 0, rate, 0, rate];
          return context.hidingBlock({ ...shape, devices: 2, hardware });
        });
        """,
        [[312e12, 300e9], [312e12, 12.5e9], [200e12, 20e9]],
    )
    assert hiding == [
        overlap_block_size(312e12, 300e9),
        overlap_block_size(312e12, 12.5e9),
        overlap_block_size(200e12, 20e9),
    ]


@pytest.mark.parametrize(("devices", "block"), [(2, 64), (8, 4096), (16, 512), (16, 32768)])
def test_waits_and_work_are_those_of_a_plan(cluster: Cluster, devices: int, block: int) -> None:
    heads, kv_heads, head_size = 32, 8, 128
    model = Model(
        layers=1,
        hidden=heads * head_size,
        num_heads=heads,
        kv_heads=kv_heads,
        vocab=64,
        seq_len=devices * block,
    )
    shape = {"heads": heads, "kv_heads": kv_heads, "head_size": head_size}
    ours = ring_layer_seconds(cluster, devices, block, **shape, training=True)
    mesh = Mesh(context=devices, data=cluster.num_devices // devices)
    planned = step_time(model, cluster, mesh, global_batch=mesh.data)
    assert ours["waiting"] == pytest.approx(planned.context, rel=1e-12)
    speed = cluster.device.peak_flops * cluster.device.efficiency
    forward = block * model.layer_core_flops / speed
    assert ours["compute"] == pytest.approx(3.5 * forward, rel=1e-12)


@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 4), (4, 2), (6, 1)])
def test_bytes_are_those_that_ring_attention_saves_and_sends(heads: int, kv_heads: int) -> None:
    devices, block, head_size = 3, 8, 16
    shape = {"heads": heads, "kv_heads": kv_heads, "head_size": head_size}
    tokens = devices * block
    q, k, v = (
        torch.randn(1, n, tokens, head_size, dtype=torch.bfloat16, requires_grad=True)
        for n in (heads, kv_heads, kv_heads)
    )
    saved: list[int] = []

    def note(tensor: torch.Tensor) -> torch.Tensor:
        saved.append(tensor.numel() * tensor.element_size())
        return tensor

    with ledger.record() as log:
        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            out = ring_attention(q, k, v, num_devices=devices)
        forward = log.sent_by(0) / (devices - 1)
        out.backward(torch.ones_like(out))
    kept = token_bytes(**shape, layers=1)
    assert sum(saved) == tokens * (kept["queries"] + kept["outputs"] + kept["keys"])
    assert forward == block * token_bytes(**shape)["flight"], "one block on its way"
    back = [transfer for transfer in log.transfers if transfer.op == "ring_attention_dkv"]
    travelling = forward + sum(t.num_bytes for t in back if t.source == 0) / devices
    assert 2 * travelling == block * kept["flight"], "what is in use, and what arrives"


def test_the_hardware_is_the_clusters(cluster: Cluster) -> None:
    name, speed, node_size, *links = ContextScaling(cluster=cluster).hardware
    assert name == cluster.device.name
    assert speed == cluster.device.peak_flops * cluster.device.efficiency
    assert node_size == cluster.devices_per_node
    assert links == [
        cluster.intra_latency,
        cluster.intra_bandwidth,
        cluster.inter_latency,
        cluster.inter_bandwidth,
    ]


def test_a_cluster_of_ones_own_is_timed_whatever_its_size() -> None:
    mine = Cluster(4, Device("mine", 1e14, 64e9, 1e12, 0.5), 4, 100e9, 10e9)
    scaling = ContextScaling(devices=5, cluster=mine)
    assert scaling.hardware[:3] == ["mine", 5e13, 4]
    assert "A layer on each mine" in scaling.book_markdown()
    with pytest.raises(TypeError, match=r"cluster='A100' must be a shardwise\.plan\.Cluster"):
        ContextScaling(cluster="A100")  # type: ignore[arg-type]


def test_the_limits_of_the_controls_are_those_of_the_traits() -> None:
    limits = node(
        MODEL
        + """
        import { widget } from './context-scaling/index.js';
        const { devices, memory, heads, kv_heads, head_size, layers } = widget.fields;
        const ends = ({ least, most }) => [least, most];
        const stops = [context.DEVICES, context.MEMORIES, context.HEADS, context.LAYERS];
        const output = [
          ...[devices, memory, heads, kv_heads, layers].map(ends),
          head_size.of, stops.map((all) => all.at(-1)),
        ];
        """
    )
    assert limits == [
        [1, MAX_DEVICES],
        [0, MAX_MEMORY],
        [1, MAX_HEADS],
        [1, MAX_HEADS],
        [0, MAX_LAYERS],
        list(HEAD_SIZES),
        [MAX_DEVICES, MAX_MEMORY, MAX_HEADS, MAX_LAYERS],
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"devices": 0}, "devices=0 must be a whole number from 1 to 64"),
        ({"devices": 65}, "devices=65 must be"),
        ({"devices": "8"}, "devices='8' must be a number"),
        ({"memory": 65}, "memory=65 must be a number from 0 to 64"),
        ({"memory": float("nan")}, "memory=nan must be"),
        ({"heads": 129}, "heads=129 must be a whole number from 1 to 128"),
        ({"kv_heads": 5}, "kv_heads=5 must divide heads=32"),
        ({"kv_heads": 64}, "kv_heads=64 must divide heads=32"),
        ({"heads": 12, "kv_heads": 0}, "kv_heads=0 must be a whole number from 1 to 128"),
        ({"kv_heads": "8"}, "kv_heads='8' must be a number"),
        ({"head_size": 100}, "head_size=100 must be one of 64, 128, 256"),
        ({"layers": -1}, "layers=-1 must be a whole number from 0 to 128"),
        ({"link": "hardware"}, "link='hardware' must name traits of ContextScaling: devices,"),
    ],
)
def test_a_wrong_argument_is_named_with_its_range(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        ContextScaling(**arguments)


@pytest.mark.parametrize(
    "state",
    [
        {"devices": 65},
        {"kv_heads": 5},
        {"heads": 24, "kv_heads": 5},
        {"kv_heads": 12, "heads": 30},
        {"hardware": []},
        {"memory": 2, "hardware": ["mine", 1, 1, 1, 1, 1, 1]},
    ],
)
def test_a_wrong_state_of_the_front_end_leaves_everything_as_it_was(state: dict[str, Any]) -> None:
    scaling = ContextScaling(kv_heads=16)
    before = scaling.book_state()
    with pytest.raises(traitlets.TraitError):
        scaling.set_state(state)
    assert scaling.book_state() == before


def test_keys_follow_the_heads_that_they_must_divide() -> None:
    scaling = ContextScaling(heads=32, kv_heads=16)
    scaling.heads = 40
    assert scaling.kv_heads == 10
    scaling.heads = 8
    assert scaling.kv_heads == 8
    scaling.set_state({"heads": 24, "kv_heads": 3})
    assert (scaling.heads, scaling.kv_heads) == (24, 3)


def test_the_book_gets_the_state_and_a_first_frame() -> None:
    scaling = ContextScaling(devices=32)
    text = scaling.book_markdown()
    state = re.search(r'<script type="application/json">(.*?)</script>', text)
    assert state is not None
    assert json.loads(state[1]) == scaling.book_state()
    assert "32 \u00d7 20,345 = 651,040" in text
    assert text.count('<li class="sw-prompt">') == 3
    assert "![32\u00a0devices in a ring attend to 651,040 tokens." in text
