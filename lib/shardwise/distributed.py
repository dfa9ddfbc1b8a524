"""Data parallelism: N replicas, each with a shard of the batch, and one averaged gradient.

The model is linear, ŷ = x Wᵀ, and the loss is the mean of (ŷ - y)² over all elements. The
collectives and the formulas that the subject starts from can be imported from here as well.
"""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING

import torch

from shardwise.collectives import all_gather, broadcast, reduce_scatter, ring_all_reduce
from shardwise.communication import ring_all_reduce_bytes
from shardwise.data_parallel._linear_model import (
    check_batch,
    check_shards,
    mean_squared_error_gradient,
)
from shardwise.memory import training_memory_bytes, zero_memory_per_device

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "all_gather",
    "broadcast",
    "data_parallel_gradients",
    "reduce_scatter",
    "ring_all_reduce",
    "ring_all_reduce_bytes",
    "single_device_gradient",
    "training_memory_bytes",
    "weighted_data_parallel_gradients",
    "zero_memory_per_device",
]


def single_device_gradient(
    W: torch.Tensor,  # noqa: N803 - the chapter's letter
    x: torch.Tensor,
    y: torch.Tensor,
) -> torch.Tensor:
    """Return the gradient that one device computes from the whole batch.

    ∂/∂W of mean((x Wᵀ - y)²) over all B · out elements, which is 2/(B · out) · (x Wᵀ - y)ᵀ x.

    Args:
        W: weight (out, in), of a float dtype; it and its `.grad` are left alone.
        x: inputs (B, in), B ≥ 1.
        y: targets (B, out).

    Returns:
        The gradient (out, in), detached.

    Raises:
        TypeError: if an argument is no dense float tensor.
        ValueError: if shapes, dtypes or devices don't fit, or the batch is empty.

    Example:
        >>> W, x, y = torch.tensor([[2.0]]), torch.tensor([[1.0], [3.0]]), torch.zeros(2, 1)
        >>> single_device_gradient(W, x, y)
        tensor([[20.]])

    Source: the identity ∂‖XWᵀ - Y‖²/∂W = 2(XWᵀ - Y)ᵀX.
    """
    check_batch(W, x, y)
    if x.shape[0] == 0:
        raise ValueError("x has no samples: a mean over an empty batch has no gradient")
    return mean_squared_error_gradient(W, x, y)


def data_parallel_gradients(
    W: torch.Tensor,  # noqa: N803 - the chapter's letter
    x_shards: Sequence[torch.Tensor],
    y_shards: Sequence[torch.Tensor],
) -> torch.Tensor:
    """Return the averaged gradient that each of N replicas steps with.

    (1/N) Σᵢ ∇ᵢ, where device i's ∇ᵢ is that of its own mean loss. The sum is one ring all-reduce.
    With equal shards it is the gradient of the whole batch, up to the rounding of a different order
    of additions. As the sum comes before the division, it overflows in fp16 where it passes 65504;
    `weighted_data_parallel_gradients` divides first, which may underflow instead.

    Args:
        W: weight (out, in), of a float dtype, replicated; it and its `.grad` are left alone.
        x_shards: inputs of each device, N ≥ 1 tensors (b, in), b ≥ 1.
        y_shards: targets of each device, N tensors (b, out).

    Returns:
        The gradient (out, in), detached; the same bits on every device.

    Raises:
        TypeError: if an argument is no dense float tensor, or the shards are no lists.
        ValueError: if shapes, dtypes or devices don't fit, or shards are empty or of unequal size.

    Example:
        >>> W, x, y = torch.tensor([[2.0]]), torch.tensor([[1.0], [3.0]]), torch.zeros(2, 1)
        >>> data_parallel_gradients(W, [x[:1], x[1:]], [y[:1], y[1:]])
        tensor([[20.]])

    Source: Li et al., "PyTorch Distributed", VLDB 2020, arXiv:2006.15704, section 2.2.
    """
    sizes = check_shards(W, x_shards, y_shards)
    if len(set(sizes)) > 1:
        raise ValueError(
            f"the shards hold {reprlib.repr(sizes)} samples: the plain average is right for equal "
            "shards only. Cut the batch evenly, or use weighted_data_parallel_gradients"
        )
    if sizes[0] == 0:
        raise ValueError("the shards hold no samples: give each device at least one")
    local = [mean_squared_error_gradient(W, x, y) for x, y in zip(x_shards, y_shards, strict=True)]
    return ring_all_reduce(local)[0] / len(local)


def weighted_data_parallel_gradients(
    W: torch.Tensor,  # noqa: N803 - the chapter's letter
    x_shards: Sequence[torch.Tensor],
    y_shards: Sequence[torch.Tensor],
) -> torch.Tensor:
    """Return the whole batch's gradient from shards of any sizes, weighted by sample count.

    Σᵢ (bᵢ/B) ∇ᵢ with bᵢ samples on device i and B = Σᵢ bᵢ. A device without samples adds zero, and
    still takes part in the all-reduce.

    Args:
        W: weight (out, in), of a float dtype, replicated; it and its `.grad` are left alone.
        x_shards: inputs of each device, N ≥ 1 tensors (bᵢ, in).
        y_shards: targets of each device, N tensors (bᵢ, out).

    Returns:
        The gradient (out, in), detached; the same bits on every device.

    Raises:
        TypeError: if an argument is no dense float tensor, or the shards are no lists.
        ValueError: if shapes, dtypes or devices don't fit, or no device has a sample.

    Example:
        >>> W, x, y = torch.tensor([[2.0]]), torch.tensor([[1.0], [3.0], [1.0]]), torch.zeros(3, 1)
        >>> weighted_data_parallel_gradients(W, [x[:1], x[1:]], [y[:1], y[1:]]).round(decimals=4)
        tensor([[14.6667]])

    Source: the mean over B samples is the mean of shard means weighted by bᵢ/B.
    """
    sizes = check_shards(W, x_shards, y_shards)
    total = sum(sizes)
    if total == 0:
        raise ValueError("the shards hold no samples: give at least one device a sample")
    local = [
        mean_squared_error_gradient(W, x, y) * (size / total)
        if size
        else torch.zeros_like(W, requires_grad=False)
        for size, x, y in zip(sizes, x_shards, y_shards, strict=True)
    ]
    return ring_all_reduce(local)[0]
