"""Ring attention against an explicit masked softmax in float64, forward and backward."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise import ledger
from shardwise.ring_attention import (
    KERNELS,
    LAYOUTS,
    _tiles,
    absorb_block,
    causal_block_work,
    ring_attention,
)

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
property_test = settings(deadline=None, max_examples=100)


class Case(NamedTuple):
    """Inputs, and how to call the ring with them."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    grad: torch.Tensor
    key_mask: torch.Tensor | None
    causal: bool


def make_case(
    shape, *, heads=(1, 1), value_size=None, dtype=torch.float64, causal=False, masked=False,
    seed=0, device="cpu",
):  # fmt: skip
    batch, length, size = shape
    key_heads, group = heads
    generator = torch.Generator().manual_seed(seed)
    value_size = value_size or size

    def normal(*sizes):
        return torch.randn(sizes, generator=generator).to(dtype).to(device)

    mask = (torch.rand((batch, length), generator=generator) < 0.6).to(device) if masked else None
    return Case(
        normal(batch, key_heads * group, length, size),
        normal(batch, key_heads, length, size),
        normal(batch, key_heads, length, value_size),
        normal(batch, key_heads * group, length, value_size),
        mask,
        causal,
    )


class Reference(NamedTuple):
    """For output and gradients: the value, and what its terms add up to without their signs."""

    values: list[torch.Tensor]
    magnitudes: list[float]
    largest_logit: float


def visible(case):
    length = case.q.shape[2]
    seen = torch.ones(length, length, dtype=torch.bool)
    if case.causal:
        seen = torch.arange(length) <= torch.arange(length)[:, None]
    seen = seen.expand(case.q.shape[0], 1, length, length)
    return seen if case.key_mask is None else seen & case.key_mask.cpu()[:, None, None, :]


def reference(case, scale=None):
    """Softmax over the whole matrix, and its gradient written out; 0 where nothing is seen."""
    group = case.q.shape[1] // case.k.shape[1]
    q, k, v, grad = (x.detach().cpu().double() for x in case[:4])
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    seen = visible(case)
    logits = (q @ k.mT * scale).masked_fill(~seen, -torch.inf)
    top = logits.amax(-1, keepdim=True)
    weights = torch.exp(logits - top.masked_fill(top == -torch.inf, 0))
    total = weights.sum(-1, keepdim=True)
    p = weights / total.masked_fill(total == 0, 1)

    def gradients(q, k, v, grad, sign):
        dp = grad @ v.mT
        ds = p * (dp + sign * (p * dp).sum(-1, keepdim=True)) * scale
        dq, dk, dv = ds @ k, ds.mT @ q, p.mT @ grad
        heads = (case.k.shape[1], group)
        return [p @ v, dq, *(x.unflatten(1, heads).sum(2) for x in (dk, dv))]

    magnitudes = gradients(q.abs(), k.abs(), v.abs(), grad.abs(), 1)
    return Reference(
        gradients(q, k, v, grad, -1),
        [x.abs().max().item() if x.numel() else 0.0 for x in magnitudes],
        (q.abs() @ k.abs().mT * abs(scale)).max().item() if q.numel() else 0.0,
    )


def run(case, **options):
    """Return output, dQ, dK and dV of the ring."""
    leaves = [x.detach().clone().requires_grad_() for x in case[:3]]
    out = ring_attention(*leaves, causal=case.causal, key_mask=case.key_mask, **options)
    return [out.detach(), *torch.autograd.grad(out, leaves, case.grad)]


@pytest.fixture(scope="session")
def check(rounding_bound):
    """Compare within what rounding allows: of logits, of sums, and of the result to 16 bits."""

    def compare(case, got, num_devices, wanted):
        dtype = case.q.dtype
        wide = torch.float32 if dtype in {torch.bfloat16, torch.float16} else dtype
        length, size = case.q.shape[2], case.q.shape[3]
        group = case.q.shape[1] // case.k.shape[1]
        logit = rounding_bound(wide, size + 4, wanted.largest_logit)
        terms = group * length + 8 * num_devices + 2 * max(size, case.v.shape[3]) + 64
        rows = zip(got, wanted.values, wanted.magnitudes, strict=True)
        for name, (mine, value, magnitude) in zip(("out", "dq", "dk", "dv"), rows, strict=True):
            assert mine.dtype == dtype, name
            assert mine.shape == value.shape, name
            bound = rounding_bound(wide, terms, magnitude) + 6 * logit * magnitude
            if dtype != wide:  # the result, and the output that the backward pass reads
                bound += rounding_bound(dtype, 2, magnitude)
            error = (mine.cpu().double() - value).abs()
            assert not error.numel() or error.max() <= bound, (name, error.max(), bound)

    return compare


@st.composite
def cases(draw):
    kernel = draw(st.sampled_from(list(KERNELS)))
    length = draw(st.integers(1, 24))
    size = draw(st.integers(1, 5))
    shape = (draw(st.integers(0, 2)), length, size)
    options = {
        "num_devices": draw(st.integers(1, length)),
        "layout": draw(st.sampled_from(LAYOUTS)),
        "kernel": kernel,
    }
    keywords = {
        "heads": (draw(st.integers(1, 2)), draw(st.integers(1, 3))),
        "value_size": size if kernel == "sdpa" else draw(st.integers(1, 5)),
        "dtype": draw(st.sampled_from(DTYPES)),
        "causal": draw(st.booleans()),
        "masked": draw(st.booleans()),
        "seed": draw(st.integers(0, 2**31)),
    }
    tiles = draw(st.tuples(st.integers(1, 8), st.integers(1, 8), st.integers(1, 200)))
    return shape, keywords, options, tiles


@property_test
@given(drawn=cases())
def test_equals_the_whole_softmax_for_any_shape_layout_and_tiling(drawn, device, check):
    shape, keywords, options, tiles = drawn
    if device != "cpu":
        options["kernel"] = "streaming"
    case = make_case(shape, device=device, **keywords)
    with pytest.MonkeyPatch.context() as patch:
        names = ("TILE_ROWS", "STAIR_ROWS", "TILE_COLS", "TILE_SCORES")
        for name, size in zip(names, (tiles[0], *tiles), strict=True):
            patch.setattr(_tiles, name, size)
        patch.setattr("shardwise.ring_attention._merge.FEW_QUERIES", tiles[0])
        got = run(case, **options)
    check(case, got, options["num_devices"], reference(case))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("num_devices", [1, 2])
def test_blocks_of_several_tiles(num_devices, causal, kernel, device, check):
    if kernel == "sdpa" and device != "cpu":
        pytest.skip("a kernel for the CPU")
    case = make_case((1, 1100, 8), heads=(1, 2), dtype=torch.float32, causal=causal, device=device)
    got = run(case, num_devices=num_devices, layout="striped", kernel=kernel)
    check(case, got, num_devices, reference(case))


@pytest.mark.parametrize("scale", [0.0, -0.5, 2, 30.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_scale_is_a_factor_of_the_logits(scale, kernel, check):
    case = make_case((2, 11, 4), causal=True)
    check(case, run(case, num_devices=3, scale=scale, kernel=kernel), 3, reference(case, scale))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_gradcheck(layout, causal, masked, kernel, device):
    if kernel == "sdpa" and device != "cpu":
        pytest.skip("a kernel for the CPU")
    case = make_case((1, 5, 2), heads=(1, 2), masked=masked, causal=causal, device=device)
    leaves = [x.requires_grad_() for x in case[:3]]

    def ring(q, k, v):
        return ring_attention(
            q, k, v, num_devices=3, causal=causal, layout=layout, kernel=kernel,
            key_mask=case.key_mask,
        )  # fmt: skip

    assert torch.autograd.gradcheck(ring, leaves)


def test_a_second_derivative_is_refused():
    case = make_case((1, 4, 2))
    leaves = [x.requires_grad_() for x in case[:3]]
    out = ring_attention(*leaves, num_devices=2)
    (first,) = torch.autograd.grad(out.square().sum(), leaves[:1], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


def test_agrees_with_torch(check, device):
    case = make_case((2, 50, 16), heads=(2, 3), dtype=torch.float32, causal=True, device=device)
    leaves = [x.clone().requires_grad_() for x in case[:3]]
    torch_out = torch.nn.functional.scaled_dot_product_attention(
        *leaves, is_causal=True, enable_gqa=True
    )
    theirs = [torch_out.detach(), *torch.autograd.grad(torch_out, leaves, case.grad)]
    wanted = reference(case)
    check(case, theirs, 1, wanted)  # the reference is right
    check(case, run(case, num_devices=7, layout="zigzag"), 7, wanted)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_queries_that_see_nothing_get_zero_and_finite_gradients(layout, kernel, check, device):
    if kernel == "sdpa" and device != "cpu":
        pytest.skip("a kernel for the CPU")
    case = make_case((2, 12, 4), heads=(2, 2), causal=True, device=device)
    mask = torch.ones(2, 12, dtype=torch.bool, device=device)
    mask[0, :5] = False  # left padding: the first block that devices 0 and 1 see is all hidden
    mask[1] = False
    case = case._replace(key_mask=mask)
    got = run(case, num_devices=4, layout=layout, kernel=kernel)
    check(case, got, 4, reference(case))
    assert not got[0][0, :, :5].any()
    assert not any(x[1].any() for x in got)
    theirs = torch.nn.functional.scaled_dot_product_attention(
        *case[:3], attn_mask=visible(case).to(device), enable_gqa=True
    )
    assert not theirs[1].any()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_large_logits_stay_finite_and_pick_the_largest(dtype, kernel):
    positions = torch.arange(1.0, 9).to(dtype)
    q = torch.full((1, 1, 8, 1), 6e4, dtype=dtype)
    k = (positions * 4000).reshape(1, 1, 8, 1)
    case = Case(q, k, positions.reshape(1, 1, 8, 1), torch.ones_like(q), None, causal=True)
    for sign in (1, -1):
        got = run(case._replace(q=sign * q), num_devices=4, layout="striped", kernel=kernel)
        winners = positions if sign == 1 else torch.ones_like(positions)
        assert torch.equal(got[0].flatten(), winners)
        assert all(x.isfinite().all() for x in got)


@property_test
@given(drawn=cases(), spot=st.tuples(st.sampled_from("qk"), st.integers(0, 23)))
def test_nan_reaches_those_who_see_it_and_nobody_else(drawn, spot, device):
    shape, keywords, options, _ = drawn
    if device != "cpu":
        options["kernel"] = "streaming"
    case = make_case(shape, device=device, **keywords)
    name, position = spot[0], spot[1] % shape[1]
    changed = getattr(case, name).clone()
    changed[:, 0, position] = torch.nan
    case = case._replace(**{name: changed})
    out = ring_attention(*case[:3], causal=case.causal, key_mask=case.key_mask, **options)
    seen = visible(case)[:, 0]
    if name == "k":
        reached = seen[:, :, position]
    else:
        reached = seen.any(-1) & (torch.arange(shape[1]) == position)
    group = case.q.shape[1] // case.k.shape[1] if name == "k" else 1
    assert torch.equal(out[:, 0].isnan().all(-1).cpu(), reached)
    assert torch.equal(out[:, :group].isnan().any(-1).any(1).cpu(), reached)
    assert not out[:, group:].isnan().any()


@pytest.mark.parametrize("kernel", KERNELS)
def test_nan_in_a_value_stays_on_the_devices_that_compute_with_it(kernel):
    case = make_case((1, 8, 2), dtype=torch.float32, causal=True)
    v = case.v.clone()
    v[0, 0, 5] = torch.nan
    out = ring_attention(case.q, case.k, v, num_devices=4, causal=True, kernel=kernel)
    reached = out.isnan().any(-1).flatten().tolist()
    assert all(reached[5:])
    assert not any(reached[:4])  # row 4 shares the tile
    mask = torch.arange(8)[None] != 5
    hidden = ring_attention(case.q, case.k, v, num_devices=4, kernel=kernel, key_mask=mask)
    assert hidden.isfinite().all()


def test_infinite_logits_are_what_softmax_makes_of_them():
    q, v = torch.ones(1, 1, 4, 1), torch.arange(4.0).reshape(1, 1, 4, 1)
    k = torch.tensor([-torch.inf, 0, 0, torch.inf]).reshape(1, 1, 4, 1)
    out = ring_attention(q, k, v, num_devices=2, causal=True).flatten().tolist()
    assert out[:3] == [0.0, 1.0, 1.5]  # torch's softmax makes the first NaN, its attention 0
    assert out[3] != out[3]


@pytest.mark.parametrize("kernel", KERNELS)
def test_strides_expansion_and_aliases(kernel, bits, check):
    base = make_case((2, 10, 4), heads=(2, 1), dtype=torch.float32)
    q = base.q.transpose(1, 2).contiguous().transpose(1, 2)
    k = base.k[:, :1].expand(2, 2, 10, 4)
    v = torch.stack([base.v, base.v], -1)[..., 0]
    grad = torch.ones(()).expand(2, 2, 10, 4)
    case = Case(q, k, v, grad, torch.ones(10, dtype=torch.bool)[None, :].expand(2, 10), causal=True)
    before = [bits(x) for x in case[:5]]
    leaves = [q.requires_grad_(), k.requires_grad_(), v.requires_grad_()]
    out = ring_attention(
        *leaves, num_devices=3, causal=True, key_mask=case.key_mask, layout="zigzag", kernel=kernel
    )
    gradients = torch.autograd.grad(out, leaves, grad)
    check(case, [out.detach(), *gradients], 3, reference(case))
    assert [bits(x) for x in case[:5]] == before
    assert all(x.untyped_storage().data_ptr() != out.untyped_storage().data_ptr() for x in leaves)
    x = base.q.clone().requires_grad_()
    same = ring_attention(x, x, x, num_devices=4, kernel=kernel)
    parts = reference(Case(x, x, x, grad, None, causal=False)).values
    (total,) = torch.autograd.grad(same, x, grad)
    torch.testing.assert_close(total.double(), sum(parts[1:]), rtol=1e-4, atol=1e-4)


def test_accumulates_in_float32_under_autocast_too(bits, device):
    case = make_case((1, 40, 8), dtype=torch.float32, device=device)
    plain = run(case, num_devices=4)
    with torch.autocast(torch.device(device).type, dtype=torch.bfloat16):
        cast = run(case, num_devices=4)
    assert [bits(x) for x in plain] == [bits(x) for x in cast]


def test_sixteen_bit_errors_do_not_grow_with_the_ring():
    case = make_case((1, 64, 16), dtype=torch.bfloat16)
    wanted = reference(case).values[0]

    def error(num_devices):
        got = ring_attention(*case[:3], num_devices=num_devices)
        return (got.double() - wanted).abs().max().item()

    assert error(64) <= 1.01 * error(1)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_kernel_that_saw_nothing_says_so(kernel, dtype):
    out, lse = kernel.finish(kernel.start(torch.ones(1, 2, 1, 3, 4), 5, dtype))
    assert torch.equal(out, torch.zeros(1, 2, 1, 3, 5, dtype=dtype))
    assert torch.equal(lse, torch.full((1, 2, 1, 3, 1), -torch.inf, dtype=dtype))


def test_future_blocks_are_skipped(monkeypatch):
    pairs = []
    original = _tiles.absorb

    def spy(q, k, v, state, logits):
        rows, cols = q.shape[-2], k.shape[-2]
        pairs.append(sum(min(i + 1, cols) if logits.triangular else cols for i in range(rows)))
        original(q, k, v, state, logits)

    monkeypatch.setattr(_tiles, "absorb", spy)
    case = make_case((1, 24, 2))
    ring_attention(*case[:3], num_devices=6, causal=True)
    assert len(pairs) == 6 * 7 // 2
    assert sum(pairs) == causal_block_work(num_devices=6, block_size=4)["total"]


def test_the_seeds_snippets():
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 4, 96, 32) for _ in range(3))
    scale = 1.0 / q.size(-1) ** 0.5
    full = torch.softmax(q @ k.transpose(-2, -1) * scale, dim=-1) @ v
    ring = ring_attention(q, k, v, num_devices=8)
    assert torch.allclose(ring, full, atol=1e-5)
    tri = torch.triu(torch.ones(96, 96, dtype=torch.bool), diagonal=1)
    lowest = torch.finfo(q.dtype).min
    logits = (q @ k.transpose(-2, -1) * scale).masked_fill(tri, lowest)
    ring_causal = ring_attention(q, k, v, num_devices=8, causal=True)
    assert torch.allclose(ring_causal, torch.softmax(logits, dim=-1) @ v, atol=1e-5)
    assert callable(absorb_block)


def tensor(*shape, **kind):
    return torch.zeros(shape, **kind)


X = tensor(2, 2, 6, 4)
WRONG = [
    ({"q": [1.0]}, TypeError, "q=.*must be a torch.Tensor"),
    ({"k": None}, TypeError, "k=None must be a torch.Tensor"),
    ({"v": X.to_sparse()}, TypeError, "v is sparse"),
    ({"q": X.long()}, TypeError, r"q of torch.int64 has no softmax: convert it, as q.float\(\)"),
    ({"k": X.bool()}, TypeError, "k of torch.bool"),
    ({"v": X.to(torch.complex64)}, TypeError, "v of torch.complex64"),
    ({"q": X[0]}, ValueError, r"q has shape \(2, 6, 4\): give \(batch, heads, tokens, head size\)"),
    ({"q": tensor(2, 0, 6, 4)}, ValueError, "at least one head"),
    ({"k": tensor(2, 2, 6, 0)}, ValueError, "of size at least 1"),
    ({"k": X.double()}, ValueError, "k has dtype torch.float64, q has torch.float32"),
    ({"v": X.half()}, ValueError, "v has dtype torch.float16"),
    ({"v": X.to("meta")}, ValueError, "v has device meta, q has cpu"),
    ({"v": tensor(2, 2, 5, 4)}, ValueError, "k and v must agree in batch, heads and tokens"),
    ({"v": tensor(2, 1, 6, 4)}, ValueError, "k and v must agree"),
    ({"q": tensor(1, 2, 6, 4)}, ValueError, "q and k must agree in batch and head size"),
    ({"q": tensor(2, 2, 6, 3)}, ValueError, "q and k must agree"),
    ({"q": tensor(2, 3, 6, 4)}, ValueError, "the heads of k must divide those of q"),
    ({"q": tensor(2, 2, 5, 4)}, ValueError, "q has 5 tokens and k has 6: .* the same number"),
    (dict.fromkeys("qkv", tensor(2, 2, 0, 4)), ValueError, "q has 0 tokens"),
    ({"num_devices": 0}, ValueError, "num_devices=0 is out of range: give an integer from 1 to 6"),
    ({"num_devices": 7}, ValueError, "num_devices=7 is out of range"),
    ({"num_devices": 2.0}, TypeError, "num_devices=2.0 must be an int"),
    ({"num_devices": True}, TypeError, "num_devices=True must be an int"),
    ({"causal": 1}, TypeError, "causal=1 must be True or False"),
    ({"layout": "spiral"}, ValueError, "layout='spiral' is unknown: choose from contiguous, stri"),
    ({"layout": 3}, TypeError, "layout=3 must be one of"),
    ({"kernel": "flash"}, ValueError, "kernel='flash' is unknown: choose from streaming, sdpa"),
    ({"kernel": None}, TypeError, "kernel=None must be one of"),
    ({"scale": float("nan")}, ValueError, "scale=nan must be finite"),
    ({"scale": 10**400}, ValueError, "scale=10.*0 must be finite, and a float must hold it"),
    ({"scale": "1"}, TypeError, "scale='1' must be a number or None"),
    ({"scale": True}, TypeError, "scale=True must be a number or None"),
    ({"key_mask": torch.ones(2, 6)}, TypeError, "key_mask of torch.float32 must be bool"),
    ({"key_mask": [[True] * 6] * 2}, TypeError, "key_mask=.* must be a torch.Tensor"),
    ({"key_mask": torch.ones(2, 5).bool()}, ValueError, r"key_mask has shape \(2, 5\), which does"),
    ({"key_mask": torch.ones(1, 2, 6).bool()}, ValueError, "key_mask has shape"),
    ({"key_mask": torch.ones(2, 6).bool().to("meta")}, ValueError, "key_mask is on meta"),
    (
        {"kernel": "sdpa", "v": tensor(2, 2, 6, 3)},
        ValueError,
        "kernel='sdpa' takes CPU tensors whose q and v have one head size.*use kernel='streaming'",
    ),
    (
        {"kernel": "sdpa", **dict.fromkeys("qkv", X.to("meta"))},
        ValueError,
        "kernel='sdpa' takes CPU tensors",
    ),
]


@pytest.mark.parametrize(("wrong", "error", "message"), WRONG)
def test_bad_input_is_named(wrong, error, message):
    with ledger.record() as log, pytest.raises(error, match=message):
        ring_attention(**({"q": X, "k": X, "v": X, "num_devices": 2} | wrong))
    assert not log.calls


NONSENSE = [
    None,
    "x",
    b"",
    1,
    -1,
    0,
    2.5,
    10**30,
    float("inf"),
    [],
    {},
    [X],
    object(),
    X[0, 0],
    X > 0,
]


@property_test
@given(st.data())
def test_nonsense_is_never_answered_with_a_number(data):
    good = {
        "q": X, "k": X, "v": X, "num_devices": 2, "causal": True, "layout": "zigzag", "scale": 0.5,
        "kernel": "sdpa", "key_mask": torch.ones(2, 6, dtype=torch.bool),
    }  # fmt: skip
    fine = {"num_devices": [1], "scale": [None, 1, -1, 0, 2.5, 10**30], "key_mask": [None]}
    name = data.draw(st.sampled_from(list(good)))
    value = data.draw(st.sampled_from(NONSENSE))
    if any(value is ok for ok in fine.get(name, [])):
        return
    with pytest.raises((TypeError, ValueError), match=name):
        ring_attention(**(good | {name: value}))
