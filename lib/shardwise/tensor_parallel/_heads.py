"""What the attention of one device and of N devices share: its checks and its heads."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from shardwise._checks import flag, integer, written
from shardwise._precision import without_autocast
from shardwise.tensor_parallel._matrices import activation, matrix, vector
from shardwise.tensor_parallel.linear import column_products

Biases = Sequence[torch.Tensor | None]


def check_attention(
    x: torch.Tensor,
    weights: Sequence[torch.Tensor],
    biases: Biases,
    num_heads: int,
    num_kv_heads: int | None,
    causal: bool,
) -> int:
    """Return the number of key and value heads, or say which argument does not fit."""
    heads = integer("num_heads", num_heads, minimum=1)
    kv_heads = heads if num_kv_heads is None else integer("num_kv_heads", num_kv_heads, minimum=1)
    if heads % kv_heads:
        raise ValueError(f"num_kv_heads={written(kv_heads)} must divide num_heads={written(heads)}")
    flag("causal", causal)
    activation("x", x, min_dims=2)
    for name, weight in zip(("Wq", "Wk", "Wv"), weights[:3], strict=True):
        matrix(name, weight, rows=x.shape[-1], like=x)
    width = weights[0].shape[1]
    if width % heads:
        raise ValueError(
            f"Wq has {width} columns, which num_heads={written(heads)} does not divide"
        )
    for name, weight in zip(("Wk", "Wv"), weights[1:3], strict=True):
        if weight.shape[1] != width // heads * kv_heads:
            raise ValueError(
                f"{name} has {weight.shape[1]} columns: {kv_heads} heads as wide as those of Wq "
                f"({width // heads}) need {width // heads * kv_heads}"
            )
    matrix("Wo", weights[3], rows=width, like=x)
    for name, weight, bias in zip("qkvo", weights, biases, strict=True):
        vector(f"bias_{name}", bias, weight.shape[1], like=x)
    return kv_heads


def check_devices(num_devices: int, num_heads: int, num_kv_heads: int) -> int:
    """Return `num_devices`, or say that the heads can't be shared out evenly."""
    count = integer("num_devices", num_devices, minimum=1)
    if num_kv_heads % count:
        what = "num_heads" if num_heads == num_kv_heads else "num_kv_heads"
        divisors = [n for n in range(1, num_kv_heads + 1) if num_kv_heads % n == 0]
        raise ValueError(
            f"num_devices={written(count)} does not divide {what}={num_kv_heads}: a device "
            f"computes whole heads, give one of {divisors}"
        )
    return count


def multi_head_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    num_heads: int,
    num_kv_heads: int,
    causal: bool,
) -> torch.Tensor:
    """Return softmax(Q Kᵀ/√d) V of each head, side by side: (…, L, H·d) from q (…, L, H·d)."""
    head_dim = q.shape[-1] // num_heads
    queries = q.reshape(*q.shape[:-1], num_heads, head_dim).transpose(-3, -2)  # (…, H, L, d)
    keys, values = (
        t.reshape(*t.shape[:-1], num_kv_heads, head_dim)
        .transpose(-3, -2)  # (…, K, L, d)
        .repeat_interleave(num_heads // num_kv_heads, dim=-3)  # (…, H, L, d)
        for t in (k, v)
    )
    wide = torch.promote_types(q.dtype, torch.float32)  # in half precision Q Kᵀ may overflow
    with without_autocast(q.device):
        scores = (queries.to(wide) / math.sqrt(head_dim)) @ keys.to(wide).mT  # (…, H, L, L)
    if causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, -math.inf)
    mixed: torch.Tensor = torch.softmax(scores, dim=-1).to(v.dtype) @ values  # (…, H, L, d)
    return mixed.transpose(-3, -2).flatten(-2)  # (…, L, H·d)


def heads_of_devices(
    inputs: Sequence[torch.Tensor],
    weights: Sequence[torch.Tensor],
    biases: Biases,
    *,
    num_heads: int,
    num_kv_heads: int,
    causal: bool,
) -> list[torch.Tensor]:
    """Return the heads of each device, (…, L, H/N·d); what enters must have passed f."""
    count = len(inputs)
    projected = (
        column_products(inputs, weight, bias)
        for weight, bias in zip(weights[:3], biases[:3], strict=True)
    )
    return [
        multi_head_attention(
            *qkv, num_heads=num_heads // count, num_kv_heads=num_kv_heads // count, causal=causal
        )
        for qkv in zip(*projected, strict=True)
    ]
