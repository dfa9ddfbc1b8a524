"""The loss behind the last layer: its default, its checks, and each device's part of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import torch

from shardwise._graphs import without_history
from shardwise.zero.mixed_adam import state_dtype

if TYPE_CHECKING:
    from shardwise.zero._layers import Head

Loss: TypeAlias = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def mean_squared_error(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return the mean of (output - target)², without broadcasting."""
    if output.shape != target.shape:
        raise ValueError(
            f"the last layer returned shape {tuple(output.shape)} and the target has "
            f"{tuple(target.shape)}: give targets of the output's shape, or a loss of your own"
        )
    return (output - target).square().mean()


def make_head(loss: Loss, dtype: torch.dtype, target: torch.Tensor, share: float) -> Head:
    """Return what a device does behind the last layer: its part of the batch's loss."""
    wide = state_dtype(dtype)
    wanted = without_history(target.to(wide) if target.is_floating_point() else target)

    def head(output: torch.Tensor) -> torch.Tensor:
        return _check_loss(loss(output.to(wide), wanted)).to(wide) * share

    return head


def _check_loss(value: torch.Tensor) -> torch.Tensor:
    """Return what a loss function returned, or say why it is no loss."""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        kind = getattr(value, "dtype", type(value).__name__)
        raise TypeError(f"loss returned {kind}: it must return a 0-d float tensor")
    if value.ndim:
        raise ValueError(
            f"loss returned shape {tuple(value.shape)}: it must return the mean over the samples, "
            "a 0-d tensor"
        )
    return value
