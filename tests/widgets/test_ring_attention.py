"""RingAttention shows what the real ring did, pair by pair, and names what is wrong."""

from __future__ import annotations

import itertools
import json
import math
import re
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from node_models import node

from shardwise import ledger
from shardwise.ring_attention import (
    KERNELS,
    LAYOUTS,
    causal_step_work,
    ring_attention,
    sequence_layout,
)
from shardwise_widgets import RingAttention
from shardwise_widgets.attention_run import record_run, sample
from shardwise_widgets.ring_attention import MAX_DEVICES, MIN_DEVICES

RINGS = list(itertools.product(range(MIN_DEVICES, MAX_DEVICES + 1), (False, True), LAYOUTS))


@pytest.fixture(scope="module")
def runs() -> dict[str, dict[str, Any]]:
    """What a page brings: the recording of every ring that the controls reach."""
    return RingAttention().book_state()["runs"]


@pytest.fixture(scope="module")
def drawn(runs: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What the view makes of the recordings."""
    return node(
        """
        import * as model from './ring-attention/model.js';
        const upTo = (n) => Array.from({ length: n }, (_, i) => i);
        const output = Object.fromEntries(Object.entries(input).map(([key, run]) => {
          const all = upTo(run.devices);
          const steps = [...all, run.devices];
          return [key, {
            tiles: all.map((p) => all.map((j) => ({
              step: model.stepOf(run, p, j),
              keys: model.shares(run, p, j).map((share) => share * run.ids[j].length),
              kinds: steps.map((step) => model.kindOf(run, p, j, step)),
            }))),
            done: steps.map((step) => all.map((p) => model.pairsIn(run, step, ['now', 'done'], p))),
            sent: steps.map((step) => all.map((p) => model.sentBy(run, step, p))),
          }];
        }));
        """,
        runs,
    )


def key_of(devices: int, causal: bool, layout: str) -> str:
    return f"{devices},{int(causal)},{layout}"


def numbered(length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries and keys that say their own position, so that a kernel can tell which it gets."""
    positions = torch.arange(length, dtype=torch.float64).reshape(1, 1, length, 1)
    return positions, positions.clone(), positions.clone()


@pytest.mark.parametrize(("devices", "causal", "layout"), RINGS)
def test_tiles_are_what_the_kernel_was_given_pair_by_pair(
    devices: int, causal: bool, layout: str, drawn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, calls = KERNELS["streaming"], []

    def absorb(q: Any, k: Any, v: Any, state: Any, logits: Any) -> None:
        rows, keys = (x.flatten().int().tolist() for x in (q, k))
        calls.append(
            {
                (i, j)
                for a, i in enumerate(rows)
                for b, j in enumerate(keys)
                if not logits.triangular or b <= a
            }
        )
        kernel.absorb(q, k, v, state, logits)

    spy = SimpleNamespace(start=kernel.start, absorb=absorb, finish=kernel.finish)
    monkeypatch.setitem(KERNELS, "streaming", spy)
    ring_attention(*numbered(4 * devices), num_devices=devices, causal=causal, layout=layout)

    ids = [own.tolist() for own in sequence_layout(4 * devices, devices, layout)]
    owner = {position: device for device, own in enumerate(ids) for position in own}
    computed: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for pairs in calls:
        (tile,) = {(owner[i], owner[j]) for i, j in pairs}
        computed.setdefault(tile, set()).update(pairs)
    tiles = drawn[key_of(devices, causal, layout)]["tiles"]
    for p, j in itertools.product(range(devices), repeat=2):
        skipped = "skipped" in tiles[p][j]["kinds"]
        assert skipped == ((p, j) not in computed)
        if not skipped:
            seen = zip(ids[p], tiles[p][j]["keys"], strict=True)
            shape = {(i, key) for i, count in seen for key in ids[j][: round(count)]}
            assert shape == computed[p, j], (p, j)
    # A device's order of blocks is that of the steps.
    for device in range(devices):
        steps = [tiles[p][j]["step"] for p, j in computed if p == device]
        assert steps == sorted(steps)


@pytest.mark.parametrize(("devices", "causal", "layout"), RINGS)
def test_steps_and_bytes_are_the_ledgers(
    devices: int, causal: bool, layout: str, runs: Any, drawn: Any
) -> None:
    with ledger.record() as log:
        ring_attention(*sample(devices), num_devices=devices, causal=causal, layout=layout)
    run, view = (
        runs[key_of(devices, causal, layout)],
        drawn[key_of(devices, causal, layout)],
    )
    for transfer in log.transfers:
        assert run["held"][transfer.step][transfer.source] == transfer.chunk
        assert run["held"][transfer.step + 1][transfer.destination] == transfer.chunk
    assert len(run["held"]) == log.num_steps + 1 == devices
    assert view["sent"][0] == view["sent"][1] == [0] * devices
    assert view["sent"][-1] == [log.sent_by(rank) for rank in range(devices)]
    assert sum(view["sent"][-1]) == log.total_bytes()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("devices", range(MIN_DEVICES, MAX_DEVICES + 1))
def test_pairs_of_each_step_are_the_librarys(devices: int, layout: str, drawn: Any) -> None:
    expected = causal_step_work(num_devices=devices, block_size=4, layout=layout)
    done = drawn[key_of(devices, True, layout)]["done"]
    for (before, after), work in zip(itertools.pairwise(done), expected, strict=True):
        assert [b - a for a, b in zip(before, after, strict=True)] == work


@pytest.mark.parametrize(("devices", "causal", "layout"), RINGS)
def test_the_running_maximum_is_that_of_the_logits_seen(
    devices: int, causal: bool, layout: str, runs: Any
) -> None:
    q, k, _ = sample(devices)
    logits = (q[0, 0] @ k[0, 0].mT).double() / math.sqrt(q.shape[-1])
    run = runs[key_of(devices, causal, layout)]
    ids = [own.tolist() for own in sequence_layout(4 * devices, devices, layout)]
    assert run["ids"] == ids
    for device, own in enumerate(ids):
        row = own[-1]
        seen: list[int] = []
        for held, top, sums in zip(run["held"], run["top"], run["sums"], strict=True):
            seen += [j for j in ids[held[device]] if not causal or j <= row]
            scores = logits[row, seen]
            assert top[device] == pytest.approx(scores.max().item(), abs=1e-3)
            total = (scores - scores.max()).exp().sum().item()
            assert sums[device] == pytest.approx(total, rel=1e-3)


def test_the_recorded_error_is_that_of_the_ring_against_full_attention() -> None:
    q, k, v = sample(8)
    full = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    expected = (ring_attention(q, k, v, num_devices=8) - full).abs().max().item()
    run = record_run(q, k, v, num_devices=8)
    assert run["error"] == expected
    assert 0 < run["error"] < 1e-5


def test_your_own_run_is_shown_and_run_again_by_the_controls() -> None:
    torch.manual_seed(3)
    q = torch.randn(1, 2, 21, 4, dtype=torch.float64, requires_grad=True)
    k, v = torch.randn(2, 1, 1, 21, 4, dtype=torch.float64)
    ring = RingAttention.from_run(q, k, v, num_devices=3, causal=True, layout="zigzag", scale=0.5)
    assert (ring.devices, ring.step, ring.causal, ring.layout) == (3, 0, True, "zigzag")
    own = record_run(q, k, v, num_devices=3, causal=True, layout="zigzag", scale=0.5)
    assert ring.steps == own
    assert own["bytes"] == [2 * 7 * 4 * 8] * 3
    assert own["error"] < 1e-13
    ring.set_state({"devices": 5, "step": 5, "layout": "contiguous"})
    assert ring.steps["tokens"] == 21
    assert ring.steps["bytes"] == [2 * n * 4 * 8 for n in (5, 4, 4, 4, 4)]
    assert ring.step == 5
    ring.devices = 2
    assert (ring.step, ring.steps["devices"]) == (2, 2)
    assert {run["tokens"] for run in ring.book_state()["runs"].values()} == {21}
    before = ring.steps["top"]
    q.data.zero_()
    ring.causal = False
    ring.causal = True
    assert ring.steps["top"] == before, "the widget has a copy"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_values_of_another_size_and_16_bits_are_recorded(dtype: torch.dtype) -> None:
    q, k = torch.randn(2, 1, 3, 9, 4).to(dtype)
    v = torch.randn(1, 3, 9, 2).to(dtype)
    run = RingAttention.from_run(q, k, v, num_devices=2).steps
    assert run["bytes"] == [n * 3 * (4 + 2) * dtype.itemsize for n in (5, 4)]
    assert math.isfinite(run["error"])


def own(**changes: Any) -> dict[str, Any]:
    q, k, v = torch.randn(3, 1, 1, 8, 4)
    return {"q": q, "k": k, "v": v, "num_devices": 2} | changes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (own(q=[1.0]), "q must be a tensor, not list"),
        (own(v=None), "v must be a tensor, not NoneType"),
        (own(num_devices=1), "num_devices=1 must be a whole number from 2 to 8"),
        (own(num_devices="2"), "num_devices='2' must be a number"),
        (own(layout="spiral"), "layout='spiral' is unknown: choose from contiguous"),
        (own(causal=1), "causal=1 must be True or False"),
        (own(q=torch.randn(1, 1, 7, 4)), "q has 7 tokens: give 8 to 4096"),
        (own(q=torch.randn(1, 1, 5000, 4)), "q has 5000 tokens: give 8 to 4096"),
        (own(k=torch.randn(1, 1, 9, 4)), "k and v must agree"),
        (own(q=torch.randn(8, 4)), "q has shape (8, 4): give (batch, heads, tokens, head size)"),
        (own(q=torch.ones(1, 1, 8, 4, dtype=torch.int64)), "q of torch.int64 has no softmax"),
        (own(q=torch.full((1, 1, 8, 4), math.nan)), "no NaN, infinity or logit beyond the range"),
        (
            own(**dict.fromkeys("qk", torch.full((1, 1, 8, 4), 1e30))),
            "no NaN, infinity or logit beyond the range",
        ),
        (own(scale="x"), "scale"),
        (
            dict.fromkeys("qkv", torch.randn(0, 1, 8, 4)) | {"num_devices": 2},
            "give at least one batch",
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_wrong_tensors_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        RingAttention.from_run(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"devices": 1}, "devices=1 must be a whole number from 2 to 8"),
        ({"devices": 9}, "devices=9 must be a whole number from 2 to 8"),
        ({"devices": None}, "devices=None must be a number"),
        ({"step": 5}, "step=5 must be a whole number from 0 to 4"),
        ({"step": -1}, "step=-1 must be a whole number"),
        ({"step": "1"}, "step='1' must be a number"),
        ({"causal": 1}, "causal=1 must be True or False"),
        ({"causal": None}, "causal=None must be True or False"),
        ({"layout": "spiral"}, "layout='spiral' must be one of contiguous, striped, zigzag"),
        ({"devices": 8, "layout": 3}, "layout=3 must be one of"),
        ({"devices": 2, "step": 3}, "step=3 must be a whole number from 0 to 2"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_changes(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        RingAttention(**arguments)
    ring = RingAttention()
    before = {name: getattr(ring, name) for name in (*ring.shown, "steps")}
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        ring.set_state(arguments)
    assert {name: getattr(ring, name) for name in before} == before


def test_the_front_end_cannot_set_the_recording() -> None:
    ring = RingAttention()
    with pytest.raises(ValueError, match="steps is read-only"):
        ring.set_state({"step": 1, "steps": {}})
    assert ring.step == 0
    assert ring.steps["devices"] == 4


def test_one_recording_for_several_traits_set_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ring, recorded = RingAttention(), []
    record = ring._record
    monkeypatch.setattr(
        ring, "_record", lambda *options: recorded.append(options) or record(*options)
    )
    ring.set_state({"devices": 6, "step": 6, "causal": True, "layout": "striped"})
    assert recorded == [(6, True, "striped")]
    assert ring.step == 6


def test_a_page_brings_every_ring_that_its_controls_reach(runs: dict[str, Any]) -> None:
    assert list(runs) == [key_of(*ring) for ring in RINGS]
    state = RingAttention(devices=3, step=2, causal=True, layout="zigzag").book_state()
    assert (state["devices"], state["step"], state["causal"], state["layout"]) == (
        3,
        2,
        True,
        "zigzag",
    )
    text = json.dumps(runs, separators=(",", ":"), allow_nan=False)
    assert len(text) < 40_000, "a page carries it"


def test_the_book_gets_the_first_frame() -> None:
    text = RingAttention(devices=4, step=2, causal=True).book_markdown()
    assert "after step 2 of 4: device 0 holds block 3" in text
    assert "Step 2 of 4: each device gets the block of its left neighbour" in text


def test_the_limits_of_the_view_are_those_of_the_traits() -> None:
    fields = node(
        "import { widget } from './ring-attention/index.js';\nconst output = widget.fields;", None
    )
    assert fields == {
        "devices": {"kind": "whole", "least": MIN_DEVICES, "most": MAX_DEVICES},
        "step": {"kind": "whole", "least": 0, "most": MAX_DEVICES},
        "causal": {"kind": "yes"},
        "layout": {"kind": "one", "of": list(LAYOUTS)},
    }
