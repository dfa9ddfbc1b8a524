"""The "sdpa" kernel: PyTorch's own attention for each block, merged by log-sum-exp.

Nothing is checked here. Shapes as in `_tiles`; a mask is (B, 1, 1, 1, c), over keys only.
The operator also returns each query's log-sum-exp, but 0 instead of -inf where a query sees no key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from shardwise.ring_attention._tiles import Logits, State, Triple

_attend = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu  # noqa: SLF001 - gives lse too
_attend_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward  # noqa: SLF001

FEW_QUERIES, FEW_KEYS = 192, 8  # below, the operator works in smaller steps and not in vectors


def start(q: torch.Tensor, value_size: int, dtype: torch.dtype) -> State:
    """Return lse = -inf and an output of 0."""
    o = q.new_zeros((*q.shape[:4], value_size), dtype=dtype)
    return o.new_full((*q.shape[:4], 1), -torch.inf), o


def finish(state: State) -> tuple[torch.Tensor, torch.Tensor]:
    """Return output and lse; nothing is left to be divided."""
    lse, o = state
    return o, lse


def absorb(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, state: State, logits: Logits) -> None:
    """Merge a block's attention into the state.

    lse' = log(exp(lse) + exp(lse_b)) and o' = o + exp(lse_b - lse') · (o_b - o).
    """
    parts = _parts(q, k, logits)
    for rows, cols, part in parts:
        sums = tuple(x[..., rows, :] for x in state)
        absorb(q[..., rows, :], k[..., cols, :], v[..., cols, :], sums, part)
    if parts:
        return
    (lse, o), (scale, triangular, mask) = state, logits
    operands = _operands(q, k, v, o.dtype)
    bias = _bias(mask, q, operands[1])
    out, block_lse = _attend(*operands, 0.0, triangular, attn_mask=bias, scale=scale)
    out, block_lse = (torch.unflatten(x, 0, q.shape[:2]) for x in (out, block_lse.unsqueeze(-1)))
    if mask is not None:
        nothing = _sees_nothing(mask, q.shape[3], triangular=triangular)
        block_lse.masked_fill_(nothing, -torch.inf)
        out.masked_fill_(nothing, 0)
    merged = torch.logaddexp(lse, block_lse)
    o.lerp_(out, torch.exp(block_lse - merged.clamp(min=torch.finfo(o.dtype).min)))
    lse.copy_(merged)


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
    operands = _operands(q, k, v, dq.dtype)
    bias = _bias(mask, q, operands[1])
    out, grad_out, lse = (x.to(dq.dtype).flatten(0, 1).contiguous() for x in saved)
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
    """Return (B·K, G, n or c, d): all query heads of a group read one key head, without a copy."""
    queries = q.to(dtype).flatten(0, 1)
    keys, values = (
        x.to(dtype).flatten(0, 1).unsqueeze(1).expand(-1, q.shape[2], -1, -1) for x in (k, v)
    )
    return queries, keys, values


def _bias(mask: torch.Tensor | None, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor | None:
    """Return 0 for visible and -inf for hidden keys as (B·K, 1, 1, c), where the operator needs it.

    With fewer than 8 keys and no bias it takes NaN logits for hidden ones.
    """
    if mask is not None:
        hidden = ~mask[:, 0].repeat_interleave(q.shape[1], 0)
        return torch.zeros_like(hidden, dtype=k.dtype).masked_fill_(hidden, -torch.inf)
    return k.new_zeros(1, 1, 1, k.shape[-2]) if k.shape[-2] < FEW_KEYS else None


def _sees_nothing(mask: torch.Tensor, num_queries: int, *, triangular: bool) -> torch.Tensor:
    """Return which queries find all their keys hidden, as (B, 1, 1, n or 1, 1)."""
    hidden = (mask.cumsum(-1) == 0).mT  # among keys 0 … j
    if not triangular:
        return hidden[..., -1:, :]
    last = torch.arange(num_queries, device=mask.device).clamp_(max=mask.shape[-1] - 1)
    return hidden[..., last, :]
