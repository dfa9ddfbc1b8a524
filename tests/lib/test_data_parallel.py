"""Data-parallel gradients against a gradient worked out by loops in Python floats."""

# ruff: noqa: N806 - W is the chapter's letter

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise import ledger
from shardwise.communication import ring_all_reduce_bytes
from shardwise.distributed import (
    data_parallel_gradients,
    single_device_gradient,
    weighted_data_parallel_gradients,
)

ALL = [single_device_gradient, data_parallel_gradients, weighted_data_parallel_gradients]
SHARDED = ALL[1:]
property_test = settings(deadline=None, max_examples=100)


def batch(seed, sizes, num_inputs, num_outputs, dtype, device):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
        return drawn.clamp(-3, 3).to(dtype).to(device)

    xs = [normal(size, num_inputs) for size in sizes]
    ys = [normal(size, num_outputs) for size in sizes]
    return normal(num_outputs, num_inputs), xs, ys


def gradient_by_loops(weight, x, y):
    """Return (gradient, magnitude) of the mean squared error as two nested lists of floats.

    2/(B·out) Σ_b r_bo x_bi with residual r_bo = Σ_i W_oi x_bi - y_bo; the magnitude is the same
    with absolute values, which is what rounding errors scale with.
    """
    w, x, y = (t.detach().cpu().double().tolist() for t in (weight, x, y))
    outputs, inputs, samples = range(len(w)), range(len(w[0]) if w else 0), range(len(x))
    scale = 2 / (len(x) * len(w))
    terms = [[[w[o][i] * x[b][i] for i in inputs] + [-y[b][o]] for o in outputs] for b in samples]
    residual = [[math.fsum(terms[b][o]) for o in outputs] for b in samples]
    size = [[math.fsum(map(abs, terms[b][o])) for o in outputs] for b in samples]
    gradient = [
        [scale * math.fsum(residual[b][o] * x[b][i] for b in samples) for i in inputs]
        for o in outputs
    ]
    magnitude = [
        [scale * math.fsum(size[b][o] * abs(x[b][i]) for b in samples) for i in inputs]
        for o in outputs
    ]
    return gradient, magnitude


def assert_close(got, weight, x, y, num_devices, rounding_bound):
    gradient, magnitude = gradient_by_loops(weight, x, y)
    # residual: in products and sums; square, mean, chain rule, average or weight: 6; sums: B + N
    terms = weight.shape[1] + 1 + 6 + x.shape[0] + num_devices
    flat = [itertools.chain(*rows) for rows in (got.double().tolist(), gradient, magnitude)]
    for mine, want, scale in zip(*flat, strict=True):
        assert abs(mine - want) <= rounding_bound(weight.dtype, terms, scale)


@property_test
@given(
    seed=st.integers(0, 2**31),
    sizes=st.lists(st.integers(0, 6), min_size=1, max_size=5).filter(sum),
    num_inputs=st.integers(0, 4),
    num_outputs=st.integers(1, 4),
    dtype=st.sampled_from([torch.bfloat16, torch.float32, torch.float64]),
)
def test_all_forms_against_loops(
    device, bits, rounding_bound, seed, sizes, num_inputs, num_outputs, dtype
):
    W, xs, ys = batch(seed, sizes, num_inputs, num_outputs, dtype, device)
    x, y = torch.cat(xs), torch.cat(ys)
    before = [bits(t) for t in (W, *xs, *ys)]

    results = [
        (single_device_gradient(W, x, y), 1),
        (weighted_data_parallel_gradients(W, xs, ys), len(sizes)),
    ]
    if len(set(sizes)) == 1:
        results.append((data_parallel_gradients(W, xs, ys), len(sizes)))
    else:
        with pytest.raises(ValueError, match="use weighted_data_parallel_gradients"):
            data_parallel_gradients(W, xs, ys)

    for got, num_devices in results:
        assert (got.shape, got.dtype, got.device) == (W.shape, dtype, W.device)
        assert not got.requires_grad
        assert_close(got, W, x, y, num_devices, rounding_bound)
    assert [bits(t) for t in (W, *xs, *ys)] == before
    assert not any(t.requires_grad for t in (W, *xs, *ys))


def test_halves(device, rounding_bound):
    W, xs, ys = batch(3, [4, 4], 3, 2, torch.float16, device)
    got = data_parallel_gradients(W, xs, ys)
    assert got.dtype == torch.float16
    assert_close(got, W, torch.cat(xs), torch.cat(ys), 2, rounding_bound)


@pytest.mark.parametrize("function", ALL)
def test_the_weight_and_its_grad_are_left_alone(device, function):
    W, xs, ys = batch(0, [2, 2], 3, 2, torch.float32, device)
    plain = function(W, xs[0], ys[0]) if function is ALL[0] else function(W, xs, ys)
    leaf = torch.nn.Parameter(W.clone())
    leaf.grad = torch.full_like(W, 7.0)
    xs = [x.requires_grad_() for x in xs]
    with torch.no_grad():  # the caller's grad mode makes no difference
        arguments = (xs[0], ys[0]) if function is ALL[0] else (xs, ys)
        got = function(leaf, *arguments)
    assert torch.equal(got, plain)
    assert type(got) is torch.Tensor
    assert not got.requires_grad
    assert leaf.grad.unique().tolist() == [7.0]
    assert all(x.grad is None for x in xs)


@pytest.mark.parametrize("function", SHARDED)
def test_strides_make_no_difference(device, rounding_bound, function):
    W, xs, ys = batch(5, [4, 4, 4], 3, 2, torch.float64, device)
    got = function(
        W.T.contiguous().T,
        [torch.stack([x, x], 2)[..., 0] for x in xs],
        tuple(y.T.contiguous().T for y in ys),
    )
    assert_close(got, W, torch.cat(xs), torch.cat(ys), 3, rounding_bound)


@pytest.mark.parametrize("function", SHARDED)
@pytest.mark.parametrize("num_devices", [1, 2, 3, 5])
def test_it_communicates_once_and_only_the_gradient(device, function, num_devices):
    W, xs, ys = batch(0, [2] * num_devices, 5, 3, torch.float32, device)
    with ledger.record() as log:
        function(W, xs, ys)
    assert log.calls == ["ring_all_reduce"]
    assert log.total_bytes() == num_devices * ring_all_reduce_bytes(W.numel() * 4, num_devices)


def test_a_plain_average_of_uneven_shards_is_wrong(device, rounding_bound):
    """The reason for the rejection, with the sizes of the book."""
    W, xs, ys = batch(0, [1, 3, 8], 5, 3, torch.float64, device)
    whole = single_device_gradient(W, torch.cat(xs), torch.cat(ys))
    plain = sum(single_device_gradient(W, x, y) for x, y in zip(xs, ys, strict=True)) / 3
    assert (plain - whole).norm() > 0.1 * whole.norm()
    weighted = weighted_data_parallel_gradients(W, xs, ys)
    assert_close(weighted, W, torch.cat(xs), torch.cat(ys), 3, rounding_bound)


def test_nan_is_passed_on(device):
    W, xs, ys = batch(0, [2, 2], 3, 2, torch.float32, device)
    ys[1][0, 0] = math.nan
    got = data_parallel_gradients(W, xs, ys)
    assert got[0].isnan().all()
    assert got[1].isfinite().all()


W, X, Y = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4, 2)


def calls(weight, x, y):
    """Each function on these arguments, sharded ones with the bad shard second."""
    yield lambda: single_device_gradient(weight, x, y)
    for function in SHARDED:
        yield lambda function=function: function(weight, [X, x], [Y, y])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((None, X, Y), TypeError, r"W=None must be a torch.Tensor"),
        ((W, [[1.0]], Y), TypeError, r"x.*must be a torch.Tensor"),
        ((W, X, 4), TypeError, r"y.*=4 must be a torch.Tensor"),
        ((W.to_sparse(), X, Y), TypeError, r"W is sparse"),
        ((W[0], X, Y), ValueError, r"W has shape \(3,\): give a matrix"),
        ((W, X[0], Y), ValueError, r"x.* has shape \(3,\): give a matrix"),
        ((W, X, Y[None]), ValueError, r"y.* has shape \(1, 4, 2\): give a matrix"),
        ((W.long(), X, Y), TypeError, r"W has dtype torch.int64: gradients need a float"),
        ((W, X.bool(), Y), TypeError, r"x.* has dtype torch.bool"),
        (
            (W.to(torch.float8_e5m2), X, Y),
            TypeError,
            r"float8_e5m2: .* one of float16, bfloat16, float32, float64, as W\.to\(",
        ),
        ((W, X, Y.to(torch.complex64)), TypeError, r"y.* has dtype torch.complex64"),
        ((W, X.double(), Y), ValueError, r"x.* is torch.float64 on cpu, .*\.to\(W\)"),
        ((W, X, Y.to("meta")), ValueError, r"y.* is torch.float32 on meta"),
        ((W[:0], X, Y[:, :0]), ValueError, r"no outputs"),
        ((W, X[:, :2], Y), ValueError, r"don't fit W \(2, 3\): give x \(B, 3\) and y \(B, 2\)"),
        ((W, X, Y[:, :1]), ValueError, r"don't fit W"),
        ((W, X, Y[:3]), ValueError, r"don't fit W"),
    ],
)
def test_nonsense_is_refused(arguments, error, message):
    for call in calls(*arguments):
        with pytest.raises(error, match=message):
            call()


def test_empty_batches_are_refused():
    with pytest.raises(ValueError, match="x has no samples"):
        single_device_gradient(W, X[:0], Y[:0])
    for function in SHARDED:
        with pytest.raises(ValueError, match="the shards hold no samples"):
            function(W, [X[:0], X[:0]], [Y[:0], Y[:0]])


@pytest.mark.parametrize("function", SHARDED)
def test_lists_of_shards_are_checked(function):
    with pytest.raises(ValueError, match="1 x_shards and 2 y_shards: give one of each"):
        function(W, [X], [Y, Y])
    with pytest.raises(ValueError, match="x_shards is empty"):
        function(W, [], [])
    with pytest.raises(ValueError, match="y_shards is empty"):
        function(W, [X], [])
    with pytest.raises(TypeError, match="x_shards must be a list"):
        function(W, X, [Y])
    with pytest.raises(TypeError, match="y_shards must be a list"):
        function(W, [X], Y)
