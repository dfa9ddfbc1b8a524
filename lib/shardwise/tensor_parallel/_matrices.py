"""Checks that the modules of tensor parallelism share: float tensors, matrices, biases, shards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardwise._checks import integer, written
from shardwise._tensors import FLOATS, dense_tensor

if TYPE_CHECKING:
    import torch

MATRIX_DIMS = 2


def float_tensor(name: str, value: torch.Tensor, *, like: torch.Tensor | None = None) -> None:
    """Say why `value` is no dense float tensor, or not of the dtype and device of `like`."""
    tensor = dense_tensor(name, value)
    if tensor.dtype not in FLOATS:
        raise TypeError(
            f"{name} has dtype {tensor.dtype}: give floats, as {name}.to(torch.float32)"
        )
    if like is not None and (tensor.dtype, tensor.device) != (like.dtype, like.device):
        raise ValueError(
            f"{name} is {tensor.dtype} on {tensor.device}, the first argument is {like.dtype} on "
            f"{like.device}: bring them together with .to(...)"
        )


def activation(name: str, value: torch.Tensor, *, min_dims: int = 1) -> None:
    """Say why `value` is no float tensor of shape (…, features) with at least `min_dims`."""
    float_tensor(name, value)
    if value.ndim < min_dims:
        wanted = "(…, features)" if min_dims == 1 else "(…, sequence, features)"
        raise ValueError(f"{name} has shape {tuple(value.shape)}: give {wanted}")


def matrix(
    name: str, value: torch.Tensor, *, rows: int | None = None, like: torch.Tensor | None = None
) -> None:
    """Say why `value` is no float matrix, is empty, or has not `rows` rows."""
    float_tensor(name, value, like=like)
    if value.ndim != MATRIX_DIMS or value.numel() == 0:
        raise ValueError(
            f"{name} has shape {tuple(value.shape)}: give a matrix (inputs, outputs), neither 0"
        )
    if rows is not None and value.shape[0] != rows:
        raise ValueError(
            f"{name} has {value.shape[0]} rows where {rows} inputs arrive: its shape must be "
            f"({rows}, outputs)"
        )


def vector(name: str, value: torch.Tensor | None, size: int, *, like: torch.Tensor) -> None:
    """Say why an optional `value` is no float vector of `size` elements."""
    if value is None:
        return
    float_tensor(name, value, like=like)
    if value.shape != (size,):
        raise ValueError(f"{name} has shape {tuple(value.shape)}: give ({size},), or None")


def shard_count(num_devices: int, size: int, what: str) -> int:
    """Return `num_devices`, or say that some device would be left without any of `size` `what`."""
    count = integer("num_devices", num_devices, minimum=1)
    if count > size:
        raise ValueError(
            f"num_devices={written(count)} is more than the {size} {what}: a device would hold an "
            f"empty shard, give 1 to {size}"
        )
    return count


def split_sizes(size: int, num_devices: int) -> list[int]:
    """Return the sizes of the parts into which `torch.tensor_split` cuts `size`.

    >>> split_sizes(5, 4)
    [2, 1, 1, 1]
    """
    small, larger = divmod(size, num_devices)
    return [small + 1] * larger + [small] * (num_devices - larger)
