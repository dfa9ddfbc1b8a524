"""The linear model of the data-parallel functions, ŷ = x Wᵀ, its checks and its gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from shardwise._graphs import recording_gradients, without_history
from shardwise._precision import without_autocast
from shardwise._tensors import FLOATS, dense_tensor, names_of, tensor_list

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_batch(weight: torch.Tensor, x: torch.Tensor, y: torch.Tensor, suffix: str = "") -> None:
    """Say what is wrong with a batch x (B, in), y (B, out) for a weight W (out, in)."""
    for name, tensor in (("W", weight), (f"x{suffix}", x), (f"y{suffix}", y)):
        if dense_tensor(name, tensor).ndim != 2:  # noqa: PLR2004 - a matrix has two dimensions
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}: give a matrix (2-D)")
        if tensor.dtype not in FLOATS:
            raise TypeError(
                f"{name} has dtype {tensor.dtype}: gradients need a float dtype that can be added, "
                f"one of {names_of(FLOATS)}, as {name}.to(torch.float32)"
            )
        if (tensor.dtype, tensor.device) != (weight.dtype, weight.device):
            raise ValueError(
                f"{name} is {tensor.dtype} on {tensor.device}, W is {weight.dtype} on "
                f"{weight.device}: bring them together with .to(W)"
            )
    num_outputs, num_inputs = weight.shape
    if num_outputs == 0:
        raise ValueError("W has shape (0, in): a mean over no outputs has no gradient")
    if x.shape[1] != num_inputs or y.shape != (x.shape[0], num_outputs):
        raise ValueError(
            f"x{suffix} {tuple(x.shape)} and y{suffix} {tuple(y.shape)} don't fit W "
            f"{tuple(weight.shape)}: give x (B, {num_inputs}) and y (B, {num_outputs})"
        )


def check_shards(
    weight: torch.Tensor,
    xs: Sequence[torch.Tensor],
    ys: Sequence[torch.Tensor],
    kind: str = "shards",
) -> list[int]:
    """Return the number of samples in each part of a batch, or say what is wrong with the parts."""
    tensor_list(f"x_{kind}", xs)
    tensor_list(f"y_{kind}", ys)
    if len(xs) != len(ys):
        raise ValueError(
            f"{len(xs)} x_{kind} and {len(ys)} y_{kind}: give one of each for each part"
        )
    for rank, (x, y) in enumerate(zip(xs, ys, strict=True)):
        check_batch(weight, x, y, suffix=f"_{kind}[{rank}]")
    return [len(x) for x in xs]


def mean_squared_error_gradient(
    weight: torch.Tensor, x: torch.Tensor, y: torch.Tensor
) -> torch.Tensor:
    """Return the gradient of the mean of (x Wᵀ - y)² over all elements, detached."""
    with recording_gradients(), without_autocast(weight.device):
        leaf, inputs, targets = (without_history(tensor) for tensor in (weight, x, y))
        leaf.requires_grad_()
        loss = (inputs @ leaf.T - targets).square().mean()  # (B, out) -> ()
        (gradient,) = torch.autograd.grad(loss, leaf)
    return gradient
