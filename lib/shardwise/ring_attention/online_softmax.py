"""Softmax attention, one block of keys at a time: the inner loop of ring attention.

A device keeps three things for each of its queries: the largest logit so far m, the sum of the
exponentials ell, and the not yet divided output o. Blocks may arrive in any order. All work is done
in tiles of bounded size, so that nothing of the size (L/P)² is ever held.

Shapes: B batch, H query heads, K key/value heads, G = H/K, n queries, c keys, d and e head sizes.
"""

from __future__ import annotations

import torch

from shardwise._checks import flag
from shardwise._precision import without_autocast
from shardwise.ring_attention import _tiles
from shardwise.ring_attention._checks import (
    check_apart,
    check_block,
    check_floats,
    check_kind,
    check_mask,
    check_state,
    check_sums,
    softmax_scale,
    wide,
)

State = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def start_softmax(q: torch.Tensor, v: torch.Tensor) -> State:
    """Return the state (m, ell, o) of queries that have not seen a key yet: -inf, 0 and 0.

    Args:
        q: (B, H, n, d) queries.
        v: (B, K, c, e) any block of the values, for their head size.

    Returns:
        m and ell of shape (B, H, n) and o of shape (B, H, n, e), in float32 where `q` has 16 bits,
        else in the dtype of `q`.

    Raises:
        TypeError: if an argument is no dense tensor of floats.
        ValueError: if one does not have four dimensions, or they differ in dtype or device.

    Example:
        >>> m, ell, o = start_softmax(torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 5, 4))
        >>> m.shape, o.shape
        (torch.Size([1, 2, 3]), torch.Size([1, 2, 3, 4]))

    Source: Milakov and Gimelshein, arXiv:1805.02867, algorithm 3.
    """
    shape, size = check_floats("q", q).shape[:3], check_floats("v", v).shape[3]
    check_kind("v", v, q)
    zeros = torch.zeros((*shape, size), dtype=wide(q.dtype), device=q.device)
    return zeros.new_full(shape, -torch.inf), zeros.new_zeros(shape), zeros


@torch.no_grad()
def absorb_block(  # noqa: PLR0913 - a block, a state and the mask
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    m: torch.Tensor,
    ell: torch.Tensor,
    o: torch.Tensor,
    *,
    scale: float | None = None,
    causal: bool = False,
    mask: torch.Tensor | None = None,
) -> State:
    """Fold one block of keys and values into the running softmax of the queries, in place.

    With logits s = scale · q kᵀ and m' = max(m, max_j s_j), for each query:
    ell ← ell·exp(m - m') + Σ_j exp(s_j - m'),  o ← o·exp(m - m') + Σ_j exp(s_j - m')·v_j,  m ← m'.

    A block in which the mask hides every key of a query leaves its state alone. Scores are formed
    in tiles of about 2²⁰ at most.
    A logit of +inf or NaN makes its query NaN, as softmax does. A hidden key does nothing, but
    a NaN or Inf in its value may: 0·NaN is NaN. Not differentiable: `ring_attention` is.

    Args:
        q: (B, H, n, d) queries, float16, bfloat16, float32 or float64.
        k: (B, K, c, d) keys of the block; K divides H, and head h of `q` reads head h·K // H.
        v: (B, K, c, e) their values.
        m: (B, H, n) largest logits so far, in float32 for 16-bit `q`; from `start_softmax`.
        ell: (B, H, n) sums of exponentials.
        o: (B, H, n, e) outputs, not yet divided.
        scale: factor of the logits; None is 1/√d.
        causal: whether query i sees only keys 0 … i of the block: right for a device's own block.
        mask: bool, broadcasts to (B, H, n, c), True where a query may see a key; None hides none.

    Returns:
        `(m, ell, o)`, the same tensors; `finish_softmax` turns them into the output.

    Raises:
        TypeError: if an argument has the wrong type or dtype.
        ValueError: if shapes, dtypes or devices don't fit together, the scale is not finite, or the
            state shares memory with something else.

    Example:
        >>> q, k, v = torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 4, 2), torch.ones(1, 1, 4, 2)
        >>> m, ell, o = absorb_block(q, k, v, *start_softmax(q, v))
        >>> m.item(), ell.item(), o.tolist()
        (0.0, 4.0, [[[[4.0, 4.0]]]])

    Source: Liu, Zaharia and Abbeel, "Ring Attention", arXiv:2310.01889, section 3; the update is
    Milakov and Gimelshein, "Online normalizer calculation for softmax", arXiv:1805.02867.
    """
    check_block(q, k, v)
    check_state(q, v, m, ell, o)
    check_apart({"m": m, "ell": ell, "o": o}, {"q": q, "k": k, "v": v})
    if mask is not None:
        shape = (*q.shape[:3], k.shape[2])
        check_mask("mask", mask, shape, q)
        mask = mask.expand(shape)
    logits = (softmax_scale(scale, q.shape[3]), flag("causal", causal))
    groups = (k.shape[1], q.shape[1] // k.shape[1])
    before = m.mul(_tiles.LOG2_E).clamp_(min=torch.finfo(m.dtype).min)
    after = before.clone()
    states = (q, after.unsqueeze(-1), ell.unsqueeze(-1), o)
    views = [torch.unflatten(x, 1, groups) for x in states]
    seen = None if mask is None else torch.unflatten(mask, 1, groups)
    with without_autocast(q.device):
        _tiles.absorb(views[0], k, v, tuple(views[1:]), _tiles.Logits(*logits, seen))
    m.copy_(torch.where(after <= before, m, after * _tiles.LN_2))
    return m, ell, o


def finish_softmax(
    m: torch.Tensor, ell: torch.Tensor, o: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the attention output o/ell and the log of the softmax's denominator, m + log ell.

    A query that saw no key gets 0 and -inf.

    Args:
        m: (…) largest logits.
        ell: (…) sums of exponentials.
        o: (…, e) outputs, not yet divided.

    Returns:
        (…, e) outputs and (…) log-sum-exp; the state stays as it is.

    Raises:
        TypeError: if an argument is no dense tensor of floats.
        ValueError: if shapes, dtypes or devices don't fit together.

    Example:
        >>> q, k, v = torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 4, 2), torch.ones(1, 1, 4, 2)
        >>> out, lse = finish_softmax(*absorb_block(q, k, v, *start_softmax(q, v)))
        >>> out.tolist(), round(lse.exp().item(), 4)
        ([[[[1.0, 1.0]]]], 4.0)

    Source: Liu, Zaharia and Abbeel, "Ring Attention", arXiv:2310.01889, section 3.
    """
    check_sums(m, ell, o)
    state = (m.mul(_tiles.LOG2_E).unsqueeze(-1), ell.unsqueeze(-1), o.clone())
    out, lse = _tiles.finish(state)
    return out, lse.squeeze(-1)
