# ruff: noqa: N803, N806, PLR0913, PLR0917 - the letters of the chapter; strategies as arguments
"""The split products and blocks against slow float64 references, on awkward inputs, as seeded."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise import ledger
from shardwise.tensor_parallel import (
    column_parallel_forward,
    column_parallel_shards,
    megatron_attention,
    megatron_mlp,
    ring_all_reduce,
    row_parallel_forward,
    row_parallel_shards,
    single_device_attention,
    single_device_mlp,
)

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.mT.contiguous().mT if x.ndim > 1 else x,
    "strided": lambda x: torch.stack([x, x + 1], dim=-1)[..., 0],
    "expanded": lambda x: x[:1].expand(x.shape),
    "leaf": lambda x: x.detach().requires_grad_(),
}
SAME_KERNELS = {"contiguous", "leaf"}  # for others torch may choose another one for a copy
GELU_SLOPE = 1.13  # the largest derivative of GeLU is 1.129
property_test = settings(deadline=None, max_examples=80)


class Maker:
    """Random tensors in [-1, 1] of one dtype, device and layout."""

    def __init__(self, seed, dtype, device, layout="contiguous"):
        self.generator = torch.Generator().manual_seed(seed)
        self.dtype, self.device, self.layout = dtype, device, LAYOUTS[layout]
        self.made = []

    def __call__(self, *shape):
        x = torch.rand(shape, generator=self.generator, dtype=torch.float64) * 2 - 1
        tensor = self.layout(x.to(self.dtype).to(self.device))
        self.made.append((tensor, tensor.detach().clone(), tensor._version))
        return tensor

    def unchanged(self):
        return all(
            torch.equal(tensor.detach(), copy)
            and tensor._version == version
            and (not tensor.is_leaf or tensor.grad is None)
            for tensor, copy, version in self.made
        )


def wide(*tensors):
    return [None if t is None else t.detach().cpu().double() for t in tensors]


def largest(tensor):
    return tensor.abs().max().item() if tensor.numel() else 0.0


def assert_close(actual, expected, bound):
    assert actual.shape == expected.shape
    assert largest(actual.detach().cpu().double() - expected) <= bound


def slow_mlp(x, A, B, a=None, b=None):
    """One hidden unit after the other."""
    z = torch.zeros(*x.shape[:-1], B.shape[1], dtype=x.dtype)
    for unit in range(A.shape[1]):
        u = (x * A[:, unit]).sum(-1) + (0 if a is None else a[unit])
        z = z + (u * (1 + torch.special.erf(u / math.sqrt(2))) / 2).unsqueeze(-1) * B[unit]
    return z if b is None else z + b


def slow_attention(x, weights, biases, heads, kv_heads, causal):
    """One head and one query after the other."""
    projected = [
        torch.einsum("...ld,de->...le", x, w) + (0 if b is None else b)
        for w, b in zip(weights[:3], biases[:3], strict=True)
    ]
    width = weights[0].shape[1] // heads
    out = torch.zeros(*x.shape[:-1], weights[3].shape[1], dtype=x.dtype)
    for head in range(heads):
        shared = head * kv_heads // heads
        q = projected[0][..., head * width : (head + 1) * width]
        k, v = (t[..., shared * width : (shared + 1) * width] for t in projected[1:])
        rows = []
        for i in range(x.shape[-2]):
            seen = i + 1 if causal else x.shape[-2]
            scores = (q[..., i : i + 1, :] * k[..., :seen, :]).sum(-1) / math.sqrt(width)
            shares = (scores - scores.amax(-1, keepdim=True)).exp()
            shares = shares / shares.sum(-1, keepdim=True)
            rows.append((shares.unsqueeze(-1) * v[..., :seen, :]).sum(-2))
        out = out + torch.stack(rows, dim=-2) @ weights[3][head * width : (head + 1) * width]
    return out if biases[3] is None else out + biases[3]


def mlp_bound(rounding_bound, dtype, num_devices, x, A, B, a, b):
    """Each term of the two sums, the bias, GeLU's own few operations, and the ring's additions."""
    hidden = x.abs() @ A.abs() + (0 if a is None else a.abs())
    total = GELU_SLOPE * hidden @ B.abs() + (0 if b is None else b.abs())
    return rounding_bound(dtype, sum(A.shape) + num_devices + 8, largest(total))


def attention_bound(rounding_bound, dtype, num_devices, x, weights, biases, heads):
    """Errors of the scores are relative errors of the shares (twice: in numerator and sum)."""
    inputs, width = weights[0].shape
    q, k, v = (
        largest(x.abs() @ w.abs() + (0 if bias is None else bias.abs()))
        for w, bias in zip(weights[:3], biases[:3], strict=True)
    )
    head_dim = width // heads
    scores = rounding_bound(dtype, 2 * inputs + head_dim + 6, q * k * math.sqrt(head_dim))
    shares = math.expm1(2 * scores) + rounding_bound(dtype, x.shape[-2] + 4, 1.0)
    mixed = v * shares * (1 + shares) + rounding_bound(dtype, inputs + 2, v)
    columns = largest(weights[3].abs().sum(0))
    out = columns * (v + mixed) + (0 if biases[3] is None else largest(biases[3]))
    return columns * mixed + rounding_bound(dtype, width + num_devices + 1, out)


# Shards


@property_test
@given(data=st.data(), rows=st.integers(1, 9), columns=st.integers(1, 9))
def test_shards_are_those_of_tensor_split_and_own_their_memory(device, data, rows, columns):
    make = Maker(0, torch.float32, device, data.draw(st.sampled_from(sorted(LAYOUTS))))
    weight = make(rows, columns)
    for cut, dim in ((row_parallel_shards, 0), (column_parallel_shards, 1)):
        count = data.draw(st.integers(1, weight.shape[dim]))
        shards = cut(weight, count)
        assert len(shards) == count
        assert all(shard.numel() for shard in shards)
        assert torch.equal(torch.cat(shards, dim=dim), weight)
        for shard, part in zip(shards, weight.tensor_split(count, dim=dim), strict=True):
            assert torch.equal(shard, part)
            assert shard.untyped_storage().nbytes() == part.numel() * 4
            assert shard.untyped_storage().data_ptr() != weight.untyped_storage().data_ptr()
    assert make.unchanged()


def test_gradients_flow_through_shards_to_the_weight():
    weight = torch.ones(3, 5, requires_grad=True)
    shards = column_parallel_shards(weight, 2)
    sum((rank + 1) * shard.sum() for rank, shard in enumerate(shards)).backward()
    assert weight.grad.tolist() == [[1, 1, 1, 2, 2]] * 3


# Products and blocks


@property_test
@given(
    data=st.data(),
    seed=st.integers(0, 2**31),
    lead=st.lists(st.integers(0, 3), max_size=2),
    inner=st.integers(1, 9),
    hidden=st.integers(1, 9),
    outer=st.integers(1, 5),
    dtype=st.sampled_from(FLOATS),
    layout=st.sampled_from(sorted(LAYOUTS)),
    biased=st.booleans(),
)
def test_the_mlp_and_its_products(
    device, rounding_bound, data, seed, lead, inner, hidden, outer, dtype, layout, biased
):
    make = Maker(seed, dtype, device, layout)
    x, A, B = make(*lead, inner), make(inner, hidden), make(hidden, outer)
    a, b = (make(hidden), make(outer)) if biased else (None, None)
    count = data.draw(st.integers(1, hidden))
    x64, A64, B64, a64, b64 = wide(x, A, B, a, b)

    shards = column_parallel_forward(x, A, count, bias=a)
    assert [s.shape[-1] for s in shards] == [s.shape[1] for s in A64.tensor_split(count, 1)]
    exact = x64 @ A64 + (0 if a is None else a64)
    size = largest(x64.abs() @ A64.abs() + (0 if a is None else a64.abs()))
    assert_close(torch.cat(shards, -1), exact, rounding_bound(dtype, inner + 1, size))

    y = make(*lead, hidden)
    product = row_parallel_forward(y.tensor_split(count, -1), B, bias=b)
    (y64,) = wide(y)
    size = largest(y64.abs() @ B64.abs() + (0 if b is None else b64.abs()))
    bound = rounding_bound(dtype, hidden + count + 1, size)
    assert_close(product, y64 @ B64 + (0 if b is None else b64), bound)

    z = megatron_mlp(x, A, B, num_devices=count, bias_A=a, bias_B=b)
    single = single_device_mlp(x, A, B, bias_A=a, bias_B=b)
    exact = slow_mlp(x64, A64, B64, a64, b64)
    bound = mlp_bound(rounding_bound, dtype, count, x64, A64, B64, a64, b64)
    for result in (z, single):
        assert (result.dtype, result.device) == (x.dtype, x.device)
        assert_close(result, exact, bound)
    if count == 1 and layout in SAME_KERNELS:
        assert torch.equal(z, single)
    assert make.unchanged()


@property_test
@given(
    data=st.data(),
    seed=st.integers(0, 2**31),
    lead=st.lists(st.integers(0, 2), max_size=2),
    length=st.integers(1, 5),
    inner=st.integers(1, 5),
    groups=st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3)),
    dtype=st.sampled_from(FLOATS),
    layout=st.sampled_from(sorted(LAYOUTS)),
    biased=st.booleans(),
    causal=st.booleans(),
)
def test_attention(
    device, rounding_bound, data, seed, lead, length, inner, groups, dtype, layout, biased, causal
):
    kv_heads, group, head_dim = groups
    heads = kv_heads * group
    make = Maker(seed, dtype, device, layout)
    x = make(*lead, length, inner)
    widths = (heads * head_dim, kv_heads * head_dim, kv_heads * head_dim)
    weights = [*(make(inner, width) for width in widths), make(widths[0], inner)]
    biases = [make(w.shape[1]) if biased else None for w in weights]
    count = data.draw(st.sampled_from([n for n in range(1, kv_heads + 1) if kv_heads % n == 0]))
    options = {
        "causal": causal,
        "num_kv_heads": kv_heads if group > 1 else data.draw(st.sampled_from([None, kv_heads])),
        **dict(zip(("bias_q", "bias_k", "bias_v", "bias_o"), biases, strict=True)),
    }
    split = megatron_attention(x, *weights, num_heads=heads, num_devices=count, **options)
    single = single_device_attention(x, *weights, num_heads=heads, **options)
    (x64,), weights64, biases64 = wide(x), wide(*weights), wide(*biases)
    exact = slow_attention(x64, weights64, biases64, heads, kv_heads, causal)
    bound = attention_bound(rounding_bound, dtype, count, x64, weights64, biases64, heads)
    for result in (split, single):
        assert (result.dtype, result.device) == (x.dtype, x.device)
        assert_close(result, exact, bound)
    if count == 1 and layout in SAME_KERNELS:
        assert torch.equal(split, single)
    assert make.unchanged()


@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_torchs_own(device, rounding_bound, causal):
    make = Maker(3, torch.float64, device)
    x, weights = make(2, 7, 8), [make(8, 8), make(8, 4), make(8, 4), make(8, 8)]
    q, k, v = ((x @ w).unflatten(-1, (-1, 2)).transpose(-3, -2) for w in weights[:3])
    theirs = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, is_causal=causal, enable_gqa=True
    )
    expected = wide(theirs.transpose(-3, -2).flatten(-2) @ weights[3])[0]
    ours = megatron_attention(x, *weights, 4, 2, causal=causal, num_kv_heads=2)
    bound = attention_bound(
        rounding_bound, torch.float64, 2, *wide(x), wide(*weights), [None] * 4, 4
    )
    assert_close(ours, expected, 2 * bound)


def test_large_scores_stay_finite(device):
    x = torch.tensor([[300.0, -300.0], [-300.0, 300.0]], dtype=torch.float16, device=device)
    eye = torch.eye(2, dtype=torch.float16, device=device)
    out = megatron_attention(x, eye, eye, eye, eye, num_heads=2, num_devices=2)
    assert torch.equal(out, x)


def test_a_sequence_without_positions_gives_none(device):
    x, eye = torch.zeros(2, 0, 4, device=device), torch.eye(4, device=device)
    assert megatron_attention(x, eye, eye, eye, eye, 4, 2, causal=True).shape == (2, 0, 4)


# Gradients


def test_gradcheck_of_the_mlp():
    make = Maker(1, torch.float64, "cpu", "leaf")
    inputs = [make(2, 3, 4), make(4, 5), make(5, 3), make(5), make(3)]

    def block(x, A, B, a, b):
        return megatron_mlp(x, A, B, 3, bias_A=a, bias_B=b)

    assert torch.autograd.gradcheck(block, inputs)
    assert torch.autograd.gradgradcheck(block, inputs)


@pytest.mark.parametrize("causal", [False, True])
def test_gradcheck_of_attention(causal):
    make = Maker(2, torch.float64, "cpu", "leaf")
    inputs = [make(1, 3, 4), make(4, 8), make(4, 4), make(4, 4), make(8, 4)]
    biases = [make(8), make(4), make(4), make(4)]

    def block(x, q, k, v, o, *biases):
        named = dict(zip(("bias_q", "bias_k", "bias_v", "bias_o"), biases, strict=True))
        return megatron_attention(x, q, k, v, o, 4, 2, causal=causal, num_kv_heads=2, **named)

    assert torch.autograd.gradcheck(block, [*inputs, *biases], fast_mode=True)
    assert torch.autograd.gradgradcheck(block, [*inputs, *biases], fast_mode=True)


@pytest.mark.parametrize("num_devices", [1, 2, 3, 5])
def test_gradients_are_those_of_one_device(device, rounding_bound, num_devices):
    make = Maker(4, torch.float64, device, "leaf")
    leaves = [make(2, 3, 4), make(4, 5), make(5, 4), make(5), make(4)]
    x, A, B, a, b = leaves
    upstream = make(2, 3, 4).detach()
    z = megatron_mlp(x, A, B, num_devices, bias_A=a, bias_B=b)
    got = torch.autograd.grad(z, leaves, upstream)
    copies = [leaf.detach().cpu().requires_grad_() for leaf in leaves]
    expected = torch.autograd.grad(slow_mlp(*copies), copies, upstream.cpu())
    # |x|, |A|, |B|, |upstream| ≤ 1: at most tokens·d·d_ff·d products, GeLU's slope on the way
    terms = 6 * (4 + 5 + 4) + num_devices
    for mine, theirs in zip(got, expected, strict=True):
        assert_close(mine, theirs, rounding_bound(torch.float64, terms, 6 * 4 * 5 * 4 * GELU_SLOPE))


# What travels


def run_and_record(function):
    with ledger.record() as log:
        result = function()
        forward = list(log.calls)
        result.sum().backward()
    return log, forward, log.calls[len(forward) :]


@pytest.mark.parametrize("num_devices", [1, 2, 3, 4])
def test_a_block_costs_one_all_reduce_each_way(device, num_devices):
    make = Maker(5, torch.float32, device, "leaf")
    x, eye = make(2, 5, 12), [make(12, 12) for _ in range(4)]
    one = ["ring_all_reduce"]
    volume = 2 * (num_devices - 1) * x.numel() * 4  # 2(N-1)/N · M from each of N
    for block in (
        lambda: megatron_mlp(x, eye[0], eye[1], num_devices),
        lambda: megatron_attention(x, *eye, 12, num_devices),
    ):
        log, forward, backward = run_and_record(block)
        assert forward == backward == one
        assert log.total_bytes() == 2 * volume


def test_columns_communicate_backward_only_and_rows_forward_only(device):
    make = Maker(6, torch.float32, device, "leaf")
    x, A = make(3, 4), make(4, 6)
    log, forward, backward = run_and_record(
        lambda: torch.cat(column_parallel_forward(x, A, 3), dim=-1)
    )
    assert (forward, backward) == ([], ["ring_all_reduce"])
    assert log.total_bytes() == 2 * 2 * x.numel() * 4
    shards = [part.detach().clone().requires_grad_() for part in x.tensor_split(2, -1)]
    log, forward, backward = run_and_record(lambda: row_parallel_forward(shards, A))
    assert (forward, backward) == (["ring_all_reduce"], [])
    assert log.total_bytes() == 2 * 3 * 6 * 4


def test_the_row_bias_counts_once():
    zero, bias = torch.zeros(1, 4), torch.tensor([8.0])
    shards = zero.tensor_split(4, -1)
    assert row_parallel_forward(shards, torch.ones(4, 1), bias=bias).tolist() == [[8.0]]
    assert megatron_mlp(zero, torch.ones(4, 4), torch.ones(4, 1), 4, bias_B=bias).item() == 8.0


# The seed's snippets


def test_seed_mlp_snippet(rounding_bound):
    torch.manual_seed(0)
    x = torch.randn(2, 6, 64)
    A = torch.randn(64, 256)
    B = torch.randn(256, 64)
    z_ref = single_device_mlp(x, A, B)
    bounds = {}
    for n in (1, 2, 4, 8):
        z_tp = megatron_mlp(x, A, B, num_devices=n)
        bounds[n] = (
            (z_tp - z_ref).abs().max(),
            2 * mlp_bound(rounding_bound, torch.float32, n, *wide(x, A, B), None, None),
        )
    assert bounds[1][0] == 0
    assert all(difference <= bound for difference, bound in bounds.values())


def test_seed_attention_snippet():
    torch.manual_seed(0)
    x = torch.randn(2, 8, 64)
    Wq, Wk, Wv, Wo = (torch.randn(64, 64) / 8 for _ in range(4))
    o_ref = single_device_attention(x, Wq, Wk, Wv, Wo, num_heads=8)
    o_tp = megatron_attention(x, Wq, Wk, Wv, Wo, num_heads=8, num_devices=4)
    assert torch.allclose(o_ref, o_tp, atol=1e-5, rtol=1e-5)  # as the seed compares them


def test_seed_exercise_4():
    torch.manual_seed(0)
    Y = torch.randn(3, 16)
    B = torch.randn(16, 8)
    y_shards = list(Y.chunk(4, dim=-1))
    partials = [ys @ bs for ys, bs in zip(y_shards, row_parallel_shards(B, 4), strict=True)]
    got = ring_all_reduce(partials)[0]
    assert torch.allclose(got, Y @ B, atol=1e-5)  # as the seed compares them
    assert torch.equal(got, row_parallel_forward(y_shards, B))
