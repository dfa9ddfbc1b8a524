"""The online softmax by itself: one block after another, in place and in bounded tiles."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from shardwise.ring_attention import (
    _tiles,
    absorb_block,
    finish_softmax,
    ring_attention,
    start_softmax,
)

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


def normal(seed, *shapes, dtype=torch.float64, device="cpu"):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(s, generator=generator).to(dtype).to(device) for s in shapes]


def whole(q, k, v, mask, scale=None):
    """Output and log-sum-exp from all the keys at once, in float64."""
    group = q.shape[1] // k.shape[1]
    q, k, v = (x.cpu().double() for x in (q, k, v))
    logits = (
        q @ k.repeat_interleave(group, 1).mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    )
    logits = logits.masked_fill(~mask.cpu(), -torch.inf)
    p = torch.softmax(logits, -1).nan_to_num(0)
    return p @ v.repeat_interleave(group, 1), torch.logsumexp(logits, -1)


@settings(deadline=None, max_examples=100)
@given(
    seed=st.integers(0, 2**31),
    heads=st.tuples(st.integers(1, 2), st.integers(1, 3)),
    num_queries=st.integers(0, 7),
    blocks=st.lists(st.integers(0, 7), min_size=1, max_size=5),
    dtype=st.sampled_from(DTYPES),
    scale=st.sampled_from([None, 0.0, -1.5, 3]),
)
def test_blocks_in_any_order_and_with_any_mask_make_the_softmax(
    seed, heads, num_queries, blocks, dtype, scale, rounding_bound, device
):
    key_heads, group = heads
    shapes = [(2, key_heads * group, num_queries, 3), (2, key_heads, sum(blocks), 3)]
    q, k, v = normal(seed, *shapes, (*shapes[1][:3], 2), dtype=dtype, device=device)
    (chance,) = normal(seed, (2, key_heads * group, num_queries, sum(blocks)), device=device)
    mask = chance > 0.5  # hides two keys of three: some first blocks, some whole rows
    state = start_softmax(q, v)
    pieces = list(zip(*(x.split(blocks, -2) for x in (k, v)), mask.split(blocks, -1), strict=True))
    for index in torch.randperm(len(pieces), generator=torch.Generator().manual_seed(seed)):
        keys, values, seen = pieces[index]
        returned = absorb_block(q, keys, values, *state, scale=scale, mask=seen)
        assert all(mine is theirs for mine, theirs in zip(returned, state, strict=True))
    kept = [x.clone() for x in state]
    out, lse = finish_softmax(*state)
    assert all(torch.equal(a, b) for a, b in zip(kept, state, strict=True))
    wanted, wanted_lse = whole(q, k, v, mask, scale)
    wide = state[2].dtype
    logit = rounding_bound(wide, 8 + 2 * len(blocks), 3 * 5 * 5 * max(1.0, abs(scale or 0)))
    bound = rounding_bound(wide, sum(blocks) + 64, 5.0) + 2 * 5 * logit
    for mine, theirs in ((out, wanted), (lse, wanted_lse)):
        assert mine.dtype == wide
        torch.testing.assert_close(mine.cpu().double(), theirs, rtol=0, atol=bound)


def test_a_block_of_ones_own_is_causal(device):
    q, k, v = normal(1, (1, 2, 5, 3), (1, 2, 5, 3), (1, 2, 5, 3), device=device)
    mask = torch.ones(5, 5, dtype=torch.bool, device=device).tril()
    ours = absorb_block(q, k, v, *start_softmax(q, v), causal=True)
    masked = absorb_block(q, k, v, *start_softmax(q, v), mask=mask)
    for mine, theirs in zip(ours, masked, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-14, atol=1e-14)
    both = absorb_block(q, k, v, *start_softmax(q, v), causal=True, mask=mask[:, :1])
    wanted, _ = whole(q, k, v, mask & mask[:, :1])
    torch.testing.assert_close(finish_softmax(*both)[0].cpu(), wanted, rtol=1e-14, atol=1e-14)


def test_a_hidden_block_changes_nothing(bits):
    q, k, v = normal(2, (1, 1, 3, 2), (1, 1, 4, 2), (1, 1, 4, 2))
    hidden = torch.zeros(4, dtype=torch.bool)
    m, ell, o = absorb_block(q, k, v, *start_softmax(q, v), mask=hidden)
    assert m.eq(-torch.inf).all()
    assert not ell.any()
    assert not o.any()
    late = absorb_block(q, k, v, m, ell, o)
    early = absorb_block(q, k, v, *start_softmax(q, v))
    assert [bits(x) for x in late] == [bits(x) for x in early]
    kept = [bits(x) for x in early]
    absorb_block(q, k, v, *early, mask=hidden)
    absorb_block(q, k[:, :, :0], v[:, :, :0], *early)
    assert [bits(x) for x in early] == kept


def test_the_update_is_the_one_of_the_text():
    q, k = torch.ones(1, 1, 1, 1), torch.tensor([2.0, 3.0]).reshape(1, 1, 2, 1)
    v = torch.tensor([10.0, 20.0]).reshape(1, 1, 2, 1)
    state = start_softmax(q, v)
    assert [x.item() for x in state] == [-torch.inf, 0, 0]
    absorb_block(q, k[:, :, :1], v[:, :, :1], *state, scale=1)
    assert [x.item() for x in state] == pytest.approx([2, 1, 10])
    absorb_block(q, k[:, :, 1:], v[:, :, 1:], *state, scale=1)
    decay = torch.exp(torch.tensor(-1.0)).item()
    assert [x.item() for x in state] == pytest.approx([3, 1 + decay, 20 + 10 * decay])


def test_state_may_be_views_and_inputs_keep_their_values_and_graph(bits):
    q, k, v = normal(3, (2, 4, 6, 3), (2, 2, 5, 3), (2, 2, 5, 3), dtype=torch.float32)
    wanted = absorb_block(q, k, v, *start_softmax(q, v))
    strided = [
        x.unsqueeze(-1).expand(*x.shape, 2).clone()[..., 0].transpose(0, 1).clone().transpose(0, 1)
        for x in start_softmax(q, v)
    ]
    leaves = [x.transpose(1, 2).contiguous().transpose(1, 2).requires_grad_() for x in (q, k, v)]
    absorb_block(*leaves, *strided)
    for mine, theirs in zip(strided, wanted, strict=True):
        torch.testing.assert_close(mine, theirs)
        assert not mine.requires_grad
    assert [bits(x) for x in leaves] == [bits(x) for x in (q, k, v)]


def test_autocast_does_not_reach_the_state(bits):
    q, k, v = normal(4, (1, 1, 9, 8), (1, 1, 9, 8), (1, 1, 9, 8), dtype=torch.float32)
    plain = absorb_block(q, k, v, *start_softmax(q, v))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = absorb_block(q, k, v, *start_softmax(q, v))
    assert [bits(x) for x in plain] == [bits(x) for x in cast]


class LargestTensor(TorchDispatchMode):
    """Notes the size of the largest tensor that any operation returned, and of all products."""

    numel, products = 0, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        tensors = result if isinstance(result, (tuple, list)) else [result]
        sizes = [x.numel() for x in tensors if isinstance(x, torch.Tensor) and not x._is_view()]
        self.numel = max(self.numel, *sizes, 0)
        if func is torch.ops.aten.bmm.default:
            self.products += sum(sizes)
        return result


@pytest.mark.parametrize("heads", [1, 16])
def test_memory_is_bounded_by_a_tile_and_not_by_the_square_of_the_block(heads):
    q, k, v = normal(5, *[(1, heads, 3000, 1)] * 3, dtype=torch.float32)
    with LargestTensor() as largest:
        absorb_block(q, k, v, *start_softmax(q, v))
    tile = _tiles.TILE_ROWS * _tiles.TILE_COLS
    assert largest.numel <= max(_tiles.TILE_SCORES, heads * 3000)
    assert largest.numel >= tile
    leaves = [x.requires_grad_() for x in (q, k, v)]
    with LargestTensor() as largest:
        ring_attention(*leaves, num_devices=2, causal=True).sum().backward()
    assert largest.numel <= max(_tiles.TILE_SCORES, heads * 3000)


def test_little_of_a_triangle_is_computed_for_nothing():
    q, k, v = normal(6, *[(1, 1, 3000, 1)] * 3, dtype=torch.float32)
    with LargestTensor() as largest:
        absorb_block(q, k, v, *start_softmax(q, v), causal=True)
    assert largest.numel == _tiles.STAIR_ROWS * _tiles.TILE_COLS
    assert 3000**2 / 2 < largest.products < 0.65 * 3000**2


Q, M = torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 3)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"q": 1}, TypeError, "q=1 must be a torch.Tensor"),
        ({"k": Q[0]}, ValueError, r"k has shape \(2, 3, 4\)"),
        ({"v": Q.int()}, TypeError, "v of torch.int32 has no softmax"),
        ({"m": None}, TypeError, "m=None must be a torch.Tensor"),
        ({"m": Q}, ValueError, r"m has .* but these queries need .*start_softmax\(q, v\)"),
        ({"ell": M.double()}, ValueError, "ell has"),
        ({"o": M}, ValueError, "o has"),
        ({"o": Q.to("meta")}, ValueError, "o has"),
        ({"o": Q.clone().requires_grad_()}, ValueError, "o requires grad, but is updated in place"),
        ({"scale": float("inf")}, ValueError, "scale=inf must be finite"),
        ({"causal": None}, TypeError, "causal=None must be True or False"),
        ({"mask": torch.ones(3, 3)}, TypeError, "mask of torch.float32 must be bool"),
        ({"mask": torch.ones(3, 2).bool()}, ValueError, r"mask has shape \(3, 2\), which does not"),
        ({"mask": torch.ones(3, 3).bool().to("meta")}, ValueError, "mask is on meta, q on cpu"),
    ],
)
def test_bad_input_is_named(wrong, error, message):
    good = {"q": Q, "k": Q, "v": Q, "m": M.clone(), "ell": M.clone(), "o": Q.clone()}
    with pytest.raises(error, match=message):
        absorb_block(**(good | wrong))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: start_softmax(M, Q), ValueError, r"q has shape \(1, 2, 3\)"),
        (lambda: start_softmax(Q, 5), TypeError, "v=5 must be a torch.Tensor"),
        (
            lambda: start_softmax(Q, Q.double()),
            ValueError,
            "v has dtype torch.float64, q has torch",
        ),
        (lambda: start_softmax(Q, Q.to("meta")), ValueError, "v has device meta, q has cpu"),
        (lambda: finish_softmax(M, M, M), ValueError, "m, ell and o must share dtype and device"),
        (lambda: finish_softmax(M, M.double(), Q), ValueError, "m, ell and o must share"),
        (lambda: finish_softmax(M, M, torch.tensor(1.0)), ValueError, "m, ell and o must share"),
        (lambda: finish_softmax(M.int(), M, Q), TypeError, "m of torch.int32 is no state"),
        (lambda: finish_softmax(M, "ell", Q), TypeError, "ell='ell' must be a torch.Tensor"),
    ],
)
def test_bad_state_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
