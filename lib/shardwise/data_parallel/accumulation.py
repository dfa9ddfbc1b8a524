"""Gradient accumulation: data parallelism over time, on one device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from shardwise.data_parallel._linear_model import check_shards, mean_squared_error_gradient

if TYPE_CHECKING:
    from collections.abc import Sequence


def accumulate_gradients(
    W: torch.Tensor,  # noqa: N803 - the chapter's letter
    x_microbatches: Sequence[torch.Tensor],
    y_microbatches: Sequence[torch.Tensor],
) -> torch.Tensor:
    """Return the whole batch's gradient, one micro-batch after the other on one device.

    Σᵢ (bᵢ/B) ∇ᵢ with bᵢ samples in micro-batch i and B = Σᵢ bᵢ, for the loss mean((x Wᵀ - y)²).
    For equal micro-batches it is (1/M) Σᵢ ∇ᵢ, the data-parallel gradient of the same shards: what
    N devices do at once, one device does in turn, without communication and with the activations
    of one micro-batch only. The sum is kept in fp32 where W has 16 bits, so that late, small
    contributions are not lost, and rounded once.

    Args:
        W: weight (out, in), of a float dtype; it and its `.grad` are left alone.
        x_microbatches: inputs, M ≥ 1 tensors (bᵢ, in).
        y_microbatches: targets, M tensors (bᵢ, out).

    Returns:
        The gradient (out, in), detached.

    Raises:
        TypeError: if an argument is no dense float tensor, or the micro-batches are no lists.
        ValueError: if shapes, dtypes or devices don't fit, or no micro-batch has a sample.

    Example:
        >>> W, x, y = torch.tensor([[2.0]]), torch.tensor([[1.0], [3.0]]), torch.zeros(2, 1)
        >>> accumulate_gradients(W, [x[:1], x[1:]], [y[:1], y[1:]])
        tensor([[20.]])

    Source: Huang et al., "GPipe", arXiv:1811.06965, section 2.2.
    """
    sizes = check_shards(W, x_microbatches, y_microbatches, kind="microbatches")
    batch = sum(sizes)
    if batch == 0:
        raise ValueError("the microbatches hold no samples: give at least one of them a sample")
    wide = torch.promote_types(W.dtype, torch.float32)
    total = torch.zeros_like(W, dtype=wide, requires_grad=False)
    for size, x, y in zip(sizes, x_microbatches, y_microbatches, strict=True):
        if size:
            total.add_(mean_squared_error_gradient(W, x, y).to(wide), alpha=size / batch)
    return total.to(W.dtype)
