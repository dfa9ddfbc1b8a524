# ruff: noqa: PLR0913, PLR0917 - strategies as arguments
"""A whole layer, with and without a split sequence: one device's results, and what it moves."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import fields
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

from shardwise import ledger
from shardwise.tensor_parallel import (
    LayerWeights,
    column_parallel_forward,
    layer_communication_elements,
    layer_communication_elements_exact,
    megatron_layer,
    sequence_parallel_layer,
    single_device_layer,
    vocab_parallel_cross_entropy,
    vocab_parallel_embedding,
)

NAMES = [field.name for field in fields(LayerWeights)]
property_test = settings(deadline=None, max_examples=40)


def make_layer(seed, shape, *, heads, kv_heads, biased=True, dtype=torch.float64, device="cpu"):
    """Leaves: x and every parameter of a layer."""
    generator = torch.Generator().manual_seed(seed)
    h, d = shape[-1], 2

    def leaf(*size, around=0.0):
        tensor = torch.rand(size, generator=generator, dtype=torch.float64) * 2 - 1
        return (around + tensor / 2).to(dtype).to(device).requires_grad_()

    biases = (heads * d, kv_heads * d, kv_heads * d, h, 7, h)
    weights = LayerWeights(
        leaf(h, heads * d),
        leaf(h, kv_heads * d),
        leaf(h, kv_heads * d),
        leaf(heads * d, h),
        leaf(h, 7),
        leaf(7, h),
        leaf(h, around=1.0),
        leaf(h),
        leaf(h, around=1.0),
        leaf(h),
        *(leaf(size) if biased else None for size in biases),
    )
    return leaf(*shape), weights


def parameters(weights):
    return [p for name in NAMES if (p := getattr(weights, name)) is not None]


def detached(x, weights):
    """The same numbers as leaves of their own, in float64 on the CPU."""

    def leaf(t):
        return None if t is None else t.detach().cpu().double().requires_grad_()

    return leaf(x), LayerWeights(*(leaf(getattr(weights, name)) for name in NAMES))


def slow_norm(x, gain, shift):
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * gain + shift


def slow_layer(x, w, heads, kv_heads, causal):
    """The layer from its formulas, one head after the other; no function of the library."""

    def bias(name):
        return 0 if getattr(w, name) is None else getattr(w, name)

    y = slow_norm(x, w.attention_gain, w.attention_shift)
    q, k, v = y @ w.Wq + bias("bias_q"), y @ w.Wk + bias("bias_k"), y @ w.Wv + bias("bias_v")
    out, mask = [], torch.full((x.shape[-2],) * 2, -math.inf, dtype=x.dtype).triu(1)
    for head in range(heads):
        mine, shared = (slice(2 * i, 2 * i + 2) for i in (head, head * kv_heads // heads))
        scores = torch.einsum("...id,...jd->...ij", q[..., mine], k[..., shared]) / math.sqrt(2)
        shares = (scores + mask if causal else scores).softmax(-1)
        out.append(torch.einsum("...ij,...jd->...id", shares, v[..., shared]))
    x = x + torch.cat(out, -1) @ w.Wo + bias("bias_o")
    u = slow_norm(x, w.mlp_gain, w.mlp_shift) @ w.A + bias("bias_A")
    return x + (u * (1 + torch.special.erf(u / math.sqrt(2))) / 2) @ w.B + bias("bias_B")


def tensor_layer(x, weights, heads, count, causal, kv_heads):
    return megatron_layer(x, weights, heads, count, causal=causal, num_kv_heads=kv_heads)


def sequence_layer(x, weights, heads, count, causal, kv_heads):
    parts = x.tensor_split(count, dim=-2)
    out = sequence_parallel_layer(parts, weights, heads, causal=causal, num_kv_heads=kv_heads)
    return torch.cat(out, dim=-2)


SPLIT_LAYERS = [tensor_layer, sequence_layer]


def layer_bound(rounding_bound, dtype, x, weights, gradients=()):
    """Rounding of one layer, or of its gradients.

    The terms are those of its longest sums. The magnitude is the product of what a rounding error
    may grow by on its way: the two LayerNorms divide by the deviation of what they normalise (at
    least the smallest of the inputs here), each matrix multiplies by at most its largest row sum.
    """
    h = x.shape[-1]
    terms = 2 * x.shape[-2] + 8 * h + 64
    deviation = x.detach().double().var(-1, unbiased=False).add(1e-5).sqrt().min().item()
    growth = 1.0
    for pair in (("Wv", "Wo"), ("A", "B")):
        blocks = [
            getattr(weights, name).detach().double().abs().sum(0).max().item() for name in pair
        ]
        growth *= 1 + blocks[0] * blocks[1] / min(1.0, deviation)
    sizes = [t.detach().double().abs().max().item() for t in (x, *gradients) if t.numel()]
    return rounding_bound(dtype, terms, growth * max(1.0, *sizes) * math.sqrt(h))


@pytest.mark.parametrize("layer", SPLIT_LAYERS)
@property_test
@given(
    data=st.data(),
    seed=st.integers(0, 2**31),
    lead=st.lists(st.integers(1, 2), max_size=2),
    length=st.integers(1, 5),
    kv_heads=st.integers(1, 4),
    group=st.integers(1, 2),
    biased=st.booleans(),
    causal=st.booleans(),
)
def test_layer_and_gradients_are_those_of_one_device(
    layer, device, rounding_bound, data, seed, lead, length, kv_heads, group, biased, causal
):
    heads = kv_heads * group
    limit = length if layer is sequence_layer else kv_heads
    counts = [n for n in range(1, kv_heads + 1) if kv_heads % n == 0 and n <= limit]
    count = data.draw(st.sampled_from(counts))
    x, weights = make_layer(
        seed, (*lead, length, 6), heads=heads, kv_heads=kv_heads, biased=biased, device=device
    )
    before = [t.detach().clone() for t in (x, *parameters(weights))]
    x64, weights64 = detached(x, weights)
    exact = slow_layer(x64, weights64, heads, kv_heads, causal)
    bound = layer_bound(rounding_bound, torch.float64, x, weights)
    single = single_device_layer(x, weights, heads, causal=causal, num_kv_heads=kv_heads)
    split = layer(x, weights, heads, count, causal, kv_heads)
    for result in (single, split):
        assert result.shape == exact.shape
        assert (result.cpu() - exact).abs().max() <= bound
    if count == 1:
        assert torch.equal(single, split)

    upstream = torch.linspace(-1, 1, exact.numel(), dtype=torch.float64).reshape(exact.shape)
    leaves64 = [x64, *parameters(weights64)]
    expected = torch.autograd.grad(exact, leaves64, upstream)
    got = torch.autograd.grad(split, [x, *parameters(weights)], upstream.to(device))
    bound = layer_bound(rounding_bound, torch.float64, x, weights, expected) * exact.numel()
    for mine, theirs in zip(got, expected, strict=True):
        assert (mine.cpu() - theirs).abs().max() <= bound
    after = (x, *parameters(weights))
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("layer", SPLIT_LAYERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_other_precisions(layer, device, dtype):
    """Splitting must not cost accuracy: the error stays within a few times that of one device."""
    x, weights = make_layer(0, (2, 6, 8), heads=4, kv_heads=4, dtype=dtype, device=device)
    exact = slow_layer(*detached(x, weights), 4, 4, causal=True)
    errors = [
        (result.detach().cpu().double() - exact).abs().max().item()
        for result in (
            single_device_layer(x, weights, 4, causal=True),
            layer(x, weights, 4, 4, True, None),
        )
    ]
    assert layer(x, weights, 4, 4, True, None).dtype == dtype
    assert 0 < errors[1] <= 8 * max(errors[0], torch.finfo(dtype).eps)


@pytest.mark.parametrize("layer", SPLIT_LAYERS)
def test_gradcheck(layer):
    x, weights = make_layer(1, (3, 4), heads=2, kv_heads=2)

    def function(x, *values):
        return layer(x, LayerWeights(*values), 2, 2, True, None)

    inputs = (x, *(getattr(weights, name) for name in NAMES))
    assert torch.autograd.gradcheck(function, inputs, fast_mode=True)
    assert torch.autograd.gradgradcheck(function, inputs, fast_mode=True)


# What travels


def recorded(function):
    with ledger.record() as log:
        function().sum().backward()
    return log


@pytest.mark.parametrize("num_devices", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_four_all_reduces(device, num_devices, dtype):
    x, weights = make_layer(0, (2, 6, 6), heads=12, kv_heads=12, dtype=dtype, device=device)
    log = recorded(lambda: megatron_layer(x, weights, 12, num_devices))
    assert log.calls == ["ring_all_reduce"] * 4
    sent = layer_communication_elements(2, 6, 6, num_devices) * dtype.itemsize
    assert [log.sent_by(rank) for rank in range(num_devices)] == [sent] * num_devices
    assert [log.received_by(rank) for rank in range(num_devices)] == [sent] * num_devices


def test_four_all_reduces_of_sizes_that_do_not_divide():
    x, weights = make_layer(0, (1, 5, 5), heads=3, kv_heads=3)
    log = recorded(lambda: megatron_layer(x, weights, 3, 3))
    mean = layer_communication_elements_exact(1, 5, 5, 3)
    assert mean.denominator != 1
    assert log.total_bytes() == 3 * mean * 8


@pytest.mark.parametrize(("early_stop", "reduces"), [(False, 6), (True, 5)])
def test_full_recomputation_makes_six(early_stop, reduces):
    """Six, unless recomputation ends once nothing more is needed: before its last all-reduce."""
    x, weights = make_layer(0, (2, 6, 6), heads=3, kv_heads=3)
    with set_checkpoint_early_stop(early_stop):
        log = recorded(
            lambda: checkpoint(lambda x: megatron_layer(x, weights, 3, 3), x, use_reentrant=False)
        )
    assert log.calls == ["ring_all_reduce"] * reduces
    if not early_stop:
        sent = layer_communication_elements(2, 6, 6, 3, recompute=True) * 8
        assert log.sent_by(0) == sent


@pytest.mark.parametrize("num_devices", [1, 2, 3, 4])
@pytest.mark.parametrize("biased", [False, True])
def test_four_gathers_and_four_scatters_of_the_same_volume(device, num_devices, biased):
    x, weights = make_layer(0, (2, 7, 6), heads=12, kv_heads=12, biased=biased, device=device)
    log = recorded(lambda: sequence_layer(x, weights, 12, num_devices, True, None))
    assert Counter(log.calls) == {"all_gather": 4, "reduce_scatter": 4, "ring_all_reduce": 1}
    blocks = num_devices * layer_communication_elements_exact(2, 7, 6, num_devices)
    vectors = 2 * (num_devices - 1) * 6 * (6 if biased else 4)
    assert log.total_bytes() == (blocks + vectors) * 8


def test_a_shard_of_the_weights_is_all_that_a_device_sees():
    """Column-parallel weights with a poisoned shard spoil what that device computes, no more."""
    x, weights = make_layer(0, (1, 3, 6), heads=2, kv_heads=2)
    poisoned = weights.A.detach().clone()
    poisoned[:, -1] = math.nan
    first, second = column_parallel_forward(x, poisoned, 2)
    assert first.isfinite().all()
    assert second[..., -1].isnan().all()


def test_published_volume():
    """Narayanan et al. 2021, section 3.2: 8bsh(t-1)/t elements for each layer and device."""
    for b, s, h, t in ((1, 2048, 12288, 8), (4, 2048, 20480, 8), (2, 1, 3, 7), (1, 1, 1, 1)):
        assert layer_communication_elements_exact(b, s, h, t) == Fraction(
            8 * b * s * h * (t - 1), t
        )
        assert layer_communication_elements(b, s, h, t) == 8 * b * s * h * (t - 1) / t


# A whole model


def test_a_model_learns_as_on_one_device(rounding_bound):
    """Embedding, two layers, tied head and loss: the same parameters after several steps."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(11, (4, 2, 5), generator=generator)
    table = torch.randn(11, 6, generator=generator, dtype=torch.float64) / 2

    def train(embed, layer, loss):
        leaf = table.clone().requires_grad_()
        layers = [make_layer(seed, (1, 1, 6), heads=4, kv_heads=4)[1] for seed in (1, 2)]
        everything = [leaf, *(p for weights in layers for p in parameters(weights))]
        optimizer = torch.optim.SGD(everything, lr=0.05)
        losses = []
        for batch in ids:
            x = embed(batch, leaf)
            for weights in layers:
                x = layer(x, weights)
            value = loss(x[:, :-1], leaf, batch[:, 1:])
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            losses.append(value.item())
        return losses, everything

    whole = train(
        lambda batch, leaf: leaf[batch],
        lambda x, weights: slow_layer(x, weights, 4, 4, causal=True),
        lambda x, leaf, targets: torch.nn.functional.cross_entropy(
            (x @ leaf.T).flatten(0, 1), targets.flatten()
        ),
    )
    for layer in SPLIT_LAYERS:
        split = train(
            lambda batch, leaf: vocab_parallel_embedding(batch, leaf, 4),
            lambda x, weights, layer=layer: layer(x, weights, 4, 4, True, None),
            lambda x, leaf, targets: vocab_parallel_cross_entropy(
                column_parallel_forward(x, leaf.T, 4), targets
            ).mean(),
        )
        # four steps through two layers; an error may grow by each of them
        bound = rounding_bound(torch.float64, 1000, 1e4)
        assert split[0] == pytest.approx(whole[0], abs=bound)
        for mine, theirs in zip(split[1], whole[1], strict=True):
            assert (mine - theirs).abs().max() <= bound
