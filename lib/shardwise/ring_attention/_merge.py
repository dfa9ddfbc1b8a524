"""The "sdpa" kernel: PyTorch's own attention for each block, merged by log-sum-exp.

Nothing is checked here. Shapes as in `_tiles`; a mask is (B, 1, 1, 1, c), over keys only.
The operator also returns each query's log-sum-exp. It writes 0 there, and an output of 0, wherever
it finds no logit above -inf: where a query sees no key, where all its logits are -inf, and where
they are NaN and fewer than a vector of the processor holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from shardwise.ring_attention import _tiles

if TYPE_CHECKING:
    from shardwise.ring_attention._tiles import Logits, State, Triple

_attend = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu  # noqa: SLF001 - gives lse too
_attend_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward  # noqa: SLF001

FEW_QUERIES = 192  # below, the operator works in smaller steps


def start(q: torch.Tensor, value_size: int, dtype: torch.dtype) -> State:
    """Return an output of 0, and as lse the lowest number: unlike -inf it can be subtracted."""
    o = q.new_zeros((*q.shape[:4], value_size), dtype=dtype)
    return o.new_full((*q.shape[:4], 1), _lowest(dtype)), o


def finish(state: State) -> tuple[torch.Tensor, torch.Tensor]:
    """Return output and lse; nothing is left to be divided."""
    lse, o = state
    return o, lse.masked_fill_(lse == _lowest(lse.dtype), -torch.inf)


def absorb(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, state: State, logits: Logits) -> None:
    """Merge a block's attention into the state.

    lse' = log(exp(lse) + exp(lse_b)) and o' = o + (o_b - o) · exp(lse_b)/(exp(lse) + exp(lse_b)),
    of which the last factor is a sigmoid of lse_b - lse.
    """
    parts = _parts(q, k, logits)
    for rows, cols, part in parts:
        sums = tuple(x[..., rows, :] for x in state)
        absorb(q[..., rows, :], k[..., cols, :], v[..., cols, :], sums, part)
    if parts:
        return
    lse, o = (x.flatten(0, 1) for x in state)
    out, block_lse = _attend_block(q, k, v, o.dtype, logits)
    o.lerp_(out, torch.sigmoid(block_lse - lse))
    torch.logaddexp(lse, block_lse, out=lse)


def _attend_block(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, dtype: torch.dtype, logits: Logits
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (B·K, G, n, e) outputs and (B·K, G, n, 1) lse of a block by itself."""
    scale, triangular, mask = logits
    operands, bias = _operands(q, k, v, dtype), _bias(mask, q, dtype)
    out, lse = _attend(*operands, 0.0, triangular, attn_mask=bias, scale=scale)
    lse = lse.unsqueeze(-1)
    if mask is not None:
        nothing = _sees_nothing(mask, q.shape[3], triangular=triangular)[:, 0]
        nothing = nothing.repeat_interleave(q.shape[1], 0)
        lse.masked_fill_(nothing, -torch.inf)
        out.masked_fill_(nothing, 0)  # NaN where the query is
    if not lse.all():  # a 0 may be right, but need not be
        exact = _tiles.start(q, v.shape[-1], dtype)
        _tiles.absorb(q, k, v, exact, logits)
        out, lse = (x.flatten(0, 1) for x in _tiles.finish(exact))
    return out, lse


def _lowest(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).min


def add_gradients(qkv: Triple, saved: Triple, grads: Triple, logits: Logits) -> None:
    """Add what this block contributes to dQ, dK and dV, given the output, its gradient and lse.

    With the log-sum-exp of all blocks instead of its own, the operator's backward pass computes
    just the block's part.
    """
    (q, k, v), (dq, dk, dv) = qkv, grads
    parts = _parts(q, k, logits)
    for rows, cols, part in parts:
        inputs = (q[..., rows, :], k[..., cols, :], v[..., cols, :])
        out, grad_out, lse = (x[..., rows, :] for x in saved)
        sums = (dq[..., rows, :], dk[..., cols, :], dv[..., cols, :])
        add_gradients(inputs, (out, grad_out, lse), sums, part)
    if parts:
        return
    scale, triangular, mask = logits
    operands, bias = _operands(q, k, v, dq.dtype), _bias(mask, q, dq.dtype)
    out, grad_out, lse = (x.to(dq.dtype).flatten(0, 1) for x in saved)
    forward = (*operands, out, lse.squeeze(-1), 0.0, triangular)
    gradients = _attend_backward(grad_out, *forward, attn_mask=bias, scale=scale)
    block_dq, block_dk, block_dv = (torch.unflatten(x, 0, q.shape[:2]) for x in gradients)
    dq += block_dq
    dk += block_dk.sum(2)
    dv += block_dv.sum(2)


def _parts(q: torch.Tensor, k: torch.Tensor, logits: Logits) -> list[tuple[slice, slice, Logits]]:
    """Cut a large triangle into two of half the size and the rectangle between them, else nothing.

    The operator computes a triangle of up to 512 keys as if it were a square.
    """
    num_queries, num_keys = q.shape[-2], k.shape[-2]
    half = num_queries // 2
    if not logits.triangular or half < FEW_QUERIES or half >= num_keys:
        return []
    upper, lower = slice(half), slice(half, None)
    left, right = (
        logits if logits.mask is None else logits._replace(mask=logits.mask[..., cols])
        for cols in (upper, lower)
    )
    return [
        (upper, upper, left),
        (lower, upper, left._replace(triangular=False)),
        (lower, lower, right),
    ]


def _operands(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return (B·K, G, n or c, d): all query heads of a group read one key head.

    Nothing is copied but for numbers of another dtype and for rows whose numbers are apart in
    memory: the operator takes it for granted that they are not, and says nothing.
    """
    queries, keys, values = (
        (x if x.stride(-1) == 1 else x.contiguous()).to(dtype).flatten(0, 1) for x in (q, k, v)
    )
    group = (-1, q.shape[2], -1, -1)
    return queries, keys.unsqueeze(1).expand(group), values.unsqueeze(1).expand(group)


def _bias(mask: torch.Tensor | None, q: torch.Tensor, dtype: torch.dtype) -> torch.Tensor | None:
    """Return 0 for visible and -inf for hidden keys as (B·K, 1, 1, c), which is what it takes."""
    if mask is None:
        return None
    hidden = ~mask[:, 0].repeat_interleave(q.shape[1], 0)
    return torch.zeros_like(hidden, dtype=dtype).masked_fill_(hidden, -torch.inf)


def _sees_nothing(mask: torch.Tensor, num_queries: int, *, triangular: bool) -> torch.Tensor:
    """Return which queries find all their keys hidden, as (B, 1, 1, n or 1, 1)."""
    hidden = (mask.cumsum(-1) == 0).mT  # among keys 0 … j
    if not triangular:
        return hidden[..., -1:, :]
    last = torch.arange(num_queries, device=mask.device).clamp_(max=mask.shape[-1] - 1)
    return hidden[..., last, :]
