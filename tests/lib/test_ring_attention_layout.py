"""Which tokens a device holds, what it may see of another's, and how much work that makes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise.ring_attention import (
    LAYOUTS,
    causal_block_work,
    causal_step_work,
    overlap_block_size,
    permute_sequence,
    ring_attention,
    sequence_layout,
    unpermute_sequence,
)
from shardwise.ring_attention.layout import device_runs, visible_parts

property_test = settings(deadline=None, max_examples=200)
dealt = st.integers(1, 24).flatmap(
    lambda length: st.tuples(st.just(length), st.integers(1, length), st.sampled_from(LAYOUTS))
)
even = st.fixed_dictionaries(
    {
        "num_devices": st.integers(1, 12),
        "block_size": st.integers(1, 12),
        "layout": st.sampled_from(LAYOUTS),
    }
)


@property_test
@given(dealt)
def test_every_token_has_one_device_and_none_is_empty(dealt):
    length, num_devices, layout = dealt
    shards = sequence_layout(length, num_devices, layout)
    assert len(shards) == num_devices
    assert torch.equal(torch.cat(shards).sort().values, torch.arange(length))
    sizes = [len(ids) for ids in shards]
    assert min(sizes) >= 1
    assert max(sizes) - min(sizes) <= (2 if layout == "zigzag" else 1)
    assert all(ids.dtype == torch.int64 and (ids.diff() > 0).all() for ids in shards)


def test_the_layouts_are_those_of_the_papers():
    assert [x.tolist() for x in sequence_layout(7, 3)] == [[0, 1, 2], [3, 4], [5, 6]]
    assert [x.tolist() for x in sequence_layout(7, 3, "striped")] == [[0, 3, 6], [1, 4], [2, 5]]
    assert [x.tolist() for x in sequence_layout(6, 3, "zigzag")] == [[0, 5], [1, 4], [2, 3]]
    pieces = torch.arange(11).tensor_split(6)
    wanted = [torch.cat([pieces[p], pieces[5 - p]]).tolist() for p in range(3)]
    assert [x.tolist() for x in sequence_layout(11, 3, "zigzag")] == wanted
    assert [x.tolist() for x in sequence_layout(3, 3, "zigzag")] == [[0], [1], [2]]


@property_test
@given(dealt, st.integers(0, 2))
def test_unpermute_undoes_permute(dealt, dim):
    length, num_devices, layout = dealt
    shape = [2, 2, 2]
    shape[dim] = length
    x = torch.arange(torch.Size(shape).numel(), dtype=torch.float64).reshape(shape).requires_grad_()
    shuffled = permute_sequence(x, num_devices, layout, dim=dim)
    order = torch.cat(sequence_layout(length, num_devices, layout))
    assert torch.equal(shuffled, x.index_select(dim, order))
    assert torch.equal(unpermute_sequence(shuffled, num_devices, layout, dim=dim), x)
    (gradient,) = torch.autograd.grad(shuffled, x, shuffled.detach())
    assert torch.equal(gradient, x)


def test_rotary_positions_travel_with_their_tokens():
    """Each device rotates its own tokens by their ids; the ring then sees the same logits."""
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 1, 10, 2, dtype=torch.float64) for _ in range(3))

    def rotate(x, ids):
        angle = ids.double() * 0.7
        turn = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], -1)
        return (turn.view(-1, 2, 2) @ x.unsqueeze(-1)).squeeze(-1)

    ids = sequence_layout(10, 3, "zigzag")
    sizes = [len(x) for x in ids]

    def on_devices(x):
        shards = permute_sequence(x, 3, "zigzag").split(sizes, -2)
        turned = [rotate(shard, mine) for shard, mine in zip(shards, ids, strict=True)]
        return unpermute_sequence(torch.cat(turned, -2), 3, "zigzag")

    whole = [rotate(x, torch.arange(10)) for x in (q, k)]
    options = {"num_devices": 3, "layout": "zigzag", "causal": True}
    ours = ring_attention(on_devices(q), on_devices(k), v, **options)
    assert torch.equal(ours, ring_attention(*whole, v, **options))


@property_test
@given(dealt, st.booleans())
def test_visible_parts_are_exactly_what_the_mask_leaves(dealt, causal):
    length, num_devices, layout = dealt
    runs, ids = device_runs(length, num_devices, layout), sequence_layout(*dealt)
    for queries, rows in zip(runs, ids, strict=True):
        for keys, cols in zip(runs, ids, strict=True):
            covered = torch.zeros(len(rows), len(cols), dtype=torch.int64)
            for part in visible_parts(queries, keys, causal=causal):
                piece = covered[part.rows, part.cols]
                assert piece.numel()
                ones = torch.ones_like(piece)
                piece += ones.tril() if part.triangular else ones
                assert part.pairs == (ones.tril() if part.triangular else ones).sum()
            wanted = (cols <= rows[:, None]) if causal else torch.ones_like(covered)
            assert torch.equal(covered, wanted.long())


@property_test
@given(even)
def test_work_is_the_count_of_visible_pairs(even):
    found = causal_block_work(**even)
    shards = sequence_layout(
        even["num_devices"] * even["block_size"], even["num_devices"], even["layout"]
    )
    work = [int((ids + 1).sum()) for ids in shards]
    assert found["work"] == work
    assert found["total"] == sum(work)
    assert found["imbalance"] == max(work) / min(work)
    assert found["slowdown"] == pytest.approx(max(work) / (sum(work) / len(work)), rel=1e-15)
    steps = causal_step_work(**even)
    assert len(steps) == even["num_devices"]
    assert [sum(device) for device in zip(*steps, strict=True)] == work


def test_the_seeds_numbers():
    contiguous = causal_block_work(num_devices=8, block_size=16, layout="contiguous")
    striped = causal_block_work(num_devices=8, block_size=16, layout="striped")
    assert contiguous["work"] == [136, 392, 648, 904, 1160, 1416, 1672, 1928]
    assert striped["work"] == [976, 992, 1008, 1024, 1040, 1056, 1072, 1088]
    assert f"{contiguous['imbalance']:.2f} {striped['imbalance']:.2f}" == "14.18 1.11"
    assert contiguous["total"] == striped["total"] == 128 * 129 // 2
    zigzag = causal_block_work(num_devices=8, block_size=16, layout="zigzag")
    assert zigzag["work"] == [1032] * 8
    assert zigzag["imbalance"] == zigzag["slowdown"] == 1.0


def test_closed_forms_of_the_docstring():
    for p in range(1, 7):
        for b in range(1, 9):
            layouts = {x: causal_block_work(num_devices=p, block_size=b, layout=x) for x in LAYOUTS}
            work = [layouts[x]["work"] for x in LAYOUTS]
            assert work[0] == [r * b * b + b * (b + 1) // 2 for r in range(p)]
            assert work[1] == [(r + 1) * b + p * b * (b - 1) // 2 for r in range(p)]
            if b % 2 == 0:
                assert work[2] == [(p * b * b + b) // 2] * p
    large = causal_block_work(num_devices=8, block_size=10**30, layout="contiguous")
    assert large["total"] == 8 * 10**30 * (8 * 10**30 + 1) // 2
    assert large["slowdown"] == pytest.approx(2 - 1 / 8)


def test_striped_attention_as_published():
    """Brandon et al., section 3: c(c-1)/2 pairs where i < j, else c(c+1)/2; at best 2 times."""
    c = 6
    for step, devices in enumerate(causal_step_work(num_devices=4, block_size=c, layout="striped")):
        for i, pairs in enumerate(devices):
            j = (i - step) % 4
            assert pairs == (c * (c - 1) // 2 if i < j else c * (c + 1) // 2)

    def ring_time(layout):
        return sum(map(max, causal_step_work(num_devices=64, block_size=2000, layout=layout)))

    assert ring_time("contiguous") / ring_time("striped") == pytest.approx(2, rel=0.01)


@pytest.mark.parametrize(
    ("flops", "bandwidth", "thousands"),
    [  # Liu et al., table 2: peak FLOP/s, bytes/s between neighbours, and F/B in 1000 tokens
        pytest.param(312e12, 300e9, 1.0, id="A100 NVLink"),
        pytest.param(312e12, 12.5e9, 24.96, id="A100 InfiniBand, printed as 24.5"),
        pytest.param(123e12, 112e9, 1.1, id="TPU v3"),
        pytest.param(196e12, 186e9, 1.1, id="TPU v5e"),
    ],
)
def test_overlap_block_size_as_published(flops, bandwidth, thousands):
    size = overlap_block_size(flops, bandwidth)
    digits = len(str(thousands).split(".")[1])
    assert round(size / 1000, digits) == thousands
    assert 4 * size**2 * bandwidth >= 4 * size * flops
    assert 4 * (size - 1) ** 2 * bandwidth < 4 * (size - 1) * flops


def test_published_shortest_sequence():
    assert round(6 * overlap_block_size(123e12, 112e9) / 1000, 1) == 6.6  # TPU v3, table 2: 6c
    assert overlap_block_size(0, 5) == overlap_block_size(1, 5) == 1


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sequence_layout(0, 1), ValueError, "seq_len=0 is out of range"),
        (lambda: sequence_layout(4.0, 1), TypeError, "seq_len=4.0 must be an int"),
        (lambda: sequence_layout(4, 5), ValueError, "num_devices=5 .* from 1 to 4"),
        (lambda: sequence_layout(4, 2, "zig"), ValueError, "layout='zig' is unknown"),
        (lambda: sequence_layout(4, 2, None), TypeError, "layout=None must be one of"),
        (lambda: permute_sequence([1, 2], 2), TypeError, "x=.* must be a torch.Tensor"),
        (lambda: permute_sequence(torch.ones(2), 2, dim=1), ValueError, "dim=1 is out of range"),
        (lambda: unpermute_sequence(torch.ones(2, 3), 3), ValueError, "num_devices=3"),
        (lambda: causal_block_work(num_devices=0, block_size=1), ValueError, "num_devices=0"),
        (lambda: causal_block_work(num_devices=2, block_size=0), ValueError, "block_size=0"),
        (lambda: causal_block_work(num_devices=2, block_size=True), TypeError, "block_size=True"),
        (
            lambda: causal_step_work(num_devices=2, block_size=2, layout="x"),
            ValueError,
            "layout='x' is unknown",
        ),
        (
            lambda: causal_block_work(num_devices=10**6 + 1, block_size=1),
            ValueError,
            "num_devices=1000001 is out of range: give an integer from 1 to 1000000",
        ),
        (
            lambda: causal_step_work(num_devices=2001, block_size=1),
            ValueError,
            "num_devices=2001 is out of range: give an integer from 1 to 2000",
        ),
        (lambda: sequence_layout(2**63, 1), ValueError, "seq_len=9223372036854775808 is out of"),
        (lambda: permute_sequence(torch.ones(2, 0), 1, dim=1), ValueError, "x has no tokens along"),
        (lambda: overlap_block_size(1e12, 0), ValueError, "bandwidth=0 moves nothing"),
        (lambda: overlap_block_size(-1, 1), ValueError, "flops=-1 must not be negative"),
        (lambda: overlap_block_size("1", 1), TypeError, "flops='1' must be a number"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
