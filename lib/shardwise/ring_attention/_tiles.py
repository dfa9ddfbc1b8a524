"""The streaming kernel of ring attention: online softmax and its gradient, tile by tile.

Nothing is checked here. Shapes: B batch, K key/value heads, G query heads for each of them,
n queries, c keys, d and e head sizes. Queries are (B, K, G, n, d), keys (B, K, c, d), values
(B, K, c, e), the state m, ell (B, K, G, n, 1) and o (B, K, G, n, e); a mask is bool and broadcasts
to (B, K, G, n, c). Inside, logits and m are in units of log 2, as exp2 takes half the time of exp.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

TILE_ROWS, TILE_COLS = 512, 512  # scores of one head: a megabyte in float32
TILE_SCORES = 1 << 20  # scores of all heads: few enough for a cache, enough to hide the interpreter
STAIR_ROWS = 128  # in a triangle: what is above the stairs is computed for nothing

LOG2_E, LN_2 = math.log2(math.e), math.log(2)
State = tuple[torch.Tensor, ...]
Triple = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
Tile = tuple[slice, slice, slice]  # of batch, key/value heads, queries


class Logits(NamedTuple):
    """How the logits of a block are formed.

    Attributes:
        scale: their factor.
        triangular: whether query i sees only keys 0 … i.
        mask: which keys may be seen, or None.
    """

    scale: float
    triangular: bool = False
    mask: torch.Tensor | None = None


def start(q: torch.Tensor, value_size: int, dtype: torch.dtype) -> State:
    """Return m = -inf, ell = 0 and o = 0."""
    o = q.new_zeros((*q.shape[:4], value_size), dtype=dtype)
    ell = o.new_zeros((*q.shape[:4], 1))
    return torch.full_like(ell, -torch.inf), ell, o


def finish(state: State) -> tuple[torch.Tensor, torch.Tensor]:
    """Divide o by ell in place; return it and the log-sum-exp, 0 and -inf for nothing seen."""
    m, ell, o = state
    unseen = ell == 0
    lse = m.mul(LN_2).add_(ell.log()).masked_fill_(unseen, -torch.inf)
    return o.div_(ell.masked_fill(unseen, 1)), lse


def absorb(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    state: State,
    logits: Logits,
) -> None:
    """Fold a block of keys and values into the state of the queries."""
    m, ell, o = state
    k, v = k.to(o.dtype), v.to(o.dtype)
    for tile in _row_tiles(q.shape, k.shape[2], logits):
        at = _index(tile)
        queries = _flat(q[at], o.dtype).mul(logits.scale * LOG2_E)
        for cols in _col_tiles(k.shape[2], tile, logits):
            where = (*tile[:2], cols)
            scores = _scores(queries, k[where], q[at].shape, (*tile, cols), logits)
            _fold(scores, v[where].flatten(0, 1), m[at], ell[at], o[at])


def _fold(
    scores: torch.Tensor, v: torch.Tensor, m: torch.Tensor, ell: torch.Tensor, o: torch.Tensor
) -> None:
    """Apply the update of `absorb_block` for one tile; `scores` is used up.

    The largest logit never goes below the lowest finite number: where all are -inf, exp(-inf - m)
    is then 0, and not the NaN that -inf + inf would give.
    """
    largest = torch.maximum(m, scores.amax(-1, keepdim=True))
    largest.clamp_(min=torch.finfo(m.dtype).min)
    decay = torch.exp2(m - largest)
    scores.sub_(largest).exp2_()
    ell.mul_(decay).add_(scores.sum(-1, keepdim=True))
    weighted = torch.bmm(scores.flatten(0, 1).flatten(1, 2), v)
    o.mul_(decay).add_(weighted.view(o.shape))
    m.copy_(largest)


def add_gradients(qkv: Triple, saved: Triple, grads: Triple, logits: Logits) -> None:
    """Add what this block contributes to dQ, dK and dV; `saved` is the output, its gradient, lse.

    P = exp(S - lse), dV += Pᵀ dO, dS = P ∘ (dO Vᵀ - rowsum(dO ∘ O)), dQ += scale · dS K,
    dK += scale · dSᵀ Q. A query that saw no key comes with lse = +inf, so that its P is 0.
    """
    (q, k, v), (out, grad_out, lse), (dq, dk, dv) = qkv, saved, grads
    dtype = dq.dtype
    k, v = k.to(dtype), v.to(dtype)
    for tile in _row_tiles(q.shape, k.shape[2], logits):
        at = _index(tile)
        queries, flow = _flat(q[at], dtype).mul(logits.scale * LOG2_E), _flat(grad_out[at], dtype)
        total = lse[at].mul(LOG2_E)
        delta = (flow * _flat(out[at], dtype)).sum(-1, keepdim=True)
        for cols in _col_tiles(k.shape[2], tile, logits):
            where = (*tile[:2], cols)
            scores = _scores(queries, k[where], q[at].shape, (*tile, cols), logits)
            weights = scores.sub_(total).exp2_().flatten(0, 1).flatten(1, 2)
            dv[where] += torch.bmm(weights.mT, flow).view(dv[where].shape)
            ds = torch.bmm(flow, v[where].flatten(0, 1).mT).sub_(delta).mul_(weights)
            dq[at] += torch.bmm(ds, k[where].flatten(0, 1)).mul_(logits.scale).view(dq[at].shape)
            dk[where] += torch.bmm(ds.mT, queries).mul_(LN_2).view(dk[where].shape)


def _scores(
    queries: torch.Tensor,
    keys: torch.Tensor,
    shape: torch.Size,
    tile: tuple[slice, slice, slice, slice],
    logits: Logits,
) -> torch.Tensor:
    """Return the logits of a tile as (B, K, G, n, c), -inf where a key is hidden."""
    batch, heads, rows, cols = tile
    scores = torch.bmm(queries, keys.flatten(0, 1).mT).view(*shape[:4], -1)
    if logits.triangular and cols.stop > rows.start + 1:
        first = max(rows.start, cols.start)  # all rows see the columns before it
        corner = scores[..., first - cols.start :]
        future = torch.ones(corner.shape[-2:], dtype=torch.bool, device=corner.device)
        corner.masked_fill_(future.triu_(rows.start - first + 1), -torch.inf)
    if logits.mask is not None:
        at = (batch, heads, slice(None), rows, cols)
        sizes = logits.mask.shape
        seen = logits.mask[
            tuple(a if n > 1 else slice(None) for a, n in zip(at, sizes, strict=True))
        ]
        scores.masked_fill_(~seen, -torch.inf)
    return scores


def _flat(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Join (B, K) to the batch and (G, n) to the rows of a matrix product."""
    return x.to(dtype).flatten(0, 1).flatten(1, 2)


def _index(tile: Tile) -> tuple[slice, slice, slice, slice]:
    batch, heads, rows = tile
    return batch, heads, slice(None), rows


def _slices(total: int, size: int) -> Iterator[slice]:
    return (slice(first, min(first + size, total)) for first in range(0, total, size))


def _row_tiles(shape: torch.Size, num_keys: int, logits: Logits) -> Iterator[Tile]:
    """Cut batch, heads and queries so that a tile holds at most about TILE_SCORES scores.

    Where they form the stairs of a triangle they are lower.
    """
    batch, heads, group, queries = shape[:4]
    rows = max(1, min(queries, (STAIR_ROWS if logits.triangular else TILE_ROWS) // group))
    room = max(1, TILE_SCORES // (group * rows * max(1, min(num_keys, TILE_COLS))))
    for examples in _slices(batch, max(1, room // heads)):
        for some_heads in _slices(heads, room):
            for some_rows in _slices(queries, rows):
                yield examples, some_heads, some_rows


def _col_tiles(num_keys: int, tile: Tile, logits: Logits) -> Iterator[slice]:
    return _slices(min(num_keys, tile[2].stop) if logits.triangular else num_keys, TILE_COLS)
