"""Gradient accumulation: data parallelism in turn, and the whole batch's gradient."""

# ruff: noqa: N803, N806 - W is the chapter's letter

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise import ledger
from shardwise.data_parallel.accumulation import accumulate_gradients
from shardwise.distributed import data_parallel_gradients

property_test = settings(deadline=None, max_examples=50)


def batch(seed, sizes, num_inputs, num_outputs, dtype, device):
    generator = torch.Generator().manual_seed(seed)

    def uniform(*shape):
        drawn = torch.rand(shape, generator=generator, dtype=torch.float64) * 2 - 1
        return drawn.to(dtype).to(device)

    xs = [uniform(size, num_inputs) for size in sizes]
    ys = [uniform(size, num_outputs) for size in sizes]
    return uniform(num_outputs, num_inputs), xs, ys


def whole_batch_gradient(W, xs, ys):
    """Return 2/(B·out) Σ_b (W x_b - y_b) x_bᵀ in float64, one sample after the other."""
    W = W.double()
    samples = [(x, y) for pair in zip(xs, ys, strict=True) for x, y in zip(*pair, strict=True)]
    total = torch.zeros_like(W)
    for x, y in samples:
        total += torch.outer(W @ x.double() - y.double(), x.double())
    return total * (2 / (len(samples) * W.shape[0]))


@property_test
@given(
    seed=st.integers(0, 2**31),
    sizes=st.lists(st.integers(0, 4), min_size=1, max_size=5).filter(sum),
    num_inputs=st.integers(0, 4),
    num_outputs=st.integers(1, 4),
    dtype=st.sampled_from([torch.bfloat16, torch.float16, torch.float32, torch.float64]),
)
def test_it_is_the_whole_batch_and_data_parallel(
    device, bits, rounding_bound, seed, sizes, num_inputs, num_outputs, dtype
):
    W, xs, ys = batch(seed, sizes, num_inputs, num_outputs, dtype, device)
    before = [bits(t) for t in (W, *xs, *ys)]
    got = accumulate_gradients(W, xs, ys)
    assert (got.shape, got.dtype, got.device) == (W.shape, dtype, W.device)
    assert before == [bits(t) for t in (W, *xs, *ys)]
    # residual: in products and sums; square, mean, chain rule, weight, cast: 6; samples and parts.
    # In [-1, 1] a residual is at most in + 1, and each sample's share of the gradient 2/out of it.
    terms = num_inputs + 1 + 6 + sum(sizes) + len(sizes)
    bound = rounding_bound(dtype, terms, 2 * (num_inputs + 1) / num_outputs)
    assert ((got - whole_batch_gradient(W, xs, ys)).abs() <= bound).all()
    if len(set(sizes)) == 1:
        parallel = data_parallel_gradients(W, xs, ys)
        assert ((got - parallel).double().abs() <= 2 * bound).all()


def test_uneven_parts_are_weighted():
    W, xs, ys = batch(0, [1, 3, 8], 5, 3, torch.float64, "cpu")
    whole = whole_batch_gradient(W, xs, ys)
    parts = [whole_batch_gradient(W, [x], [y]) for x, y in zip(xs, ys, strict=True)]
    assert (sum(parts) / 3 - whole).norm() > 0.1 * whole.norm()
    assert (accumulate_gradients(W, xs, ys) - whole).norm() < 1e-10 * whole.norm()


def test_many_small_bf16_parts_are_not_lost(device):
    """1000 parts of one sample each: a sum in bf16 stops growing half-way."""
    W = torch.zeros(1, 1, dtype=torch.bfloat16, device=device)
    ones = [torch.ones(1, 1, dtype=torch.bfloat16, device=device)] * 1000
    assert accumulate_gradients(W, ones, ones).item() == -2
    naive = torch.zeros_like(W)
    for _ in ones:
        naive -= 2 / 1000
    assert naive.item() == -1


def test_halves_do_not_overflow_on_the_way(device):
    W = torch.zeros(1, 1, dtype=torch.float16, device=device)
    x = [torch.full((1, 1), 100.0, dtype=torch.float16, device=device)] * 8
    y = [torch.full((1, 1), 200.0, dtype=torch.float16, device=device)] * 8
    assert accumulate_gradients(W, x, y).item() == -40000


def test_it_communicates_nothing_and_leaves_the_leaf_alone(device):
    W, xs, ys = batch(0, [2, 1], 3, 2, torch.float32, device)
    leaf = torch.nn.Parameter(W.clone())
    leaf.grad = torch.full_like(W, 7.0)
    with ledger.record() as log, torch.no_grad():
        got = accumulate_gradients(leaf, tuple(x.requires_grad_() for x in xs), ys)
    assert log.calls == []
    assert type(got) is torch.Tensor
    assert not got.requires_grad
    assert leaf.grad.unique().tolist() == [7.0]
    assert all(x.grad is None for x in xs)


def test_nan_is_passed_on(device):
    W, xs, ys = batch(0, [2, 2], 3, 2, torch.float32, device)
    ys[1][0, 0] = math.nan
    got = accumulate_gradients(W, xs, ys)
    assert got[0].isnan().all()
    assert got[1].isfinite().all()


W, X, Y = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4, 2)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((None, [X], [Y]), TypeError, r"W=None must be a torch.Tensor"),
        ((W.long(), [X], [Y]), TypeError, r"W has dtype torch.int64: gradients need a float"),
        ((W, X, [Y]), TypeError, r"x_microbatches must be a list"),
        ((W, [X], None), TypeError, r"y_microbatches must be a list"),
        ((W, [], []), ValueError, r"x_microbatches is empty"),
        ((W, [X], [Y, Y]), ValueError, r"1 x_microbatches and 2 y_microbatches: give one of each"),
        ((W, [X, 3], [Y, Y]), TypeError, r"x_microbatches\[1\]=3 must be a torch.Tensor"),
        ((W, [X, X[0]], [Y, Y]), ValueError, r"x_microbatches\[1\] has shape \(3,\)"),
        ((W, [X], [Y.double()]), ValueError, r"y_microbatches\[0\] is torch.float64"),
        ((W, [X], [Y[:3]]), ValueError, r"don't fit W \(2, 3\)"),
        ((W, [X[:0]], [Y[:0]]), ValueError, r"microbatches hold no samples: give at least one"),
    ],
)
def test_nonsense_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        accumulate_gradients(*arguments)
