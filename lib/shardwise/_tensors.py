"""Checks for lists of tensors, one tensor for each simulated device."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import torch
from torch.nn.parameter import is_lazy

from shardwise._checks import integer, written

if TYPE_CHECKING:
    from collections.abc import Sequence

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""The floats that can be added up. float8 dtypes are none of them: torch stores and multiplies such
numbers and has no addition for them, so they are refused; convert with `.to(torch.float16)`."""
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
"""The integers that can be added up; torch has no addition for the wider unsigned ones."""
_NEVER_COPIED = re.compile(r"torch\.(q.*|u?int[1-7]|bit)")  # quantized, or less than a byte


def names_of(dtypes: Sequence[torch.dtype]) -> str:
    """Return the names of dtypes for an error message.

    >>> names_of([torch.float16, torch.int8])
    'float16, int8'
    """
    return ", ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)


def dense_tensor(name: str, value: torch.Tensor) -> torch.Tensor:
    """Return `value`, or say why it is no tensor whose numbers can be read and copied."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(
            f"{name}={written(value)} must be a torch.Tensor, not {type(value).__name__}"
        )
    if type(value).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        raise TypeError(
            f"{name} is a {type(value).__name__}, whose operations are its own: give a plain "
            "torch.Tensor"
        )
    if is_lazy(value):
        raise ValueError(f"{name} has no shape yet: run the layer that it belongs to once before")
    if value.layout is not torch.strided or value.is_nested:
        raise TypeError(f"{name} is sparse or nested: give a dense tensor, as {name}.to_dense()")
    if _NEVER_COPIED.fullmatch(str(value.dtype)):
        raise TypeError(
            f"{name} has dtype {value.dtype}, of which torch makes no copies: convert it, as "
            f"{name}.dequantize() or {name}.to(torch.int8)"
        )
    return value


def tensor_list(name: str, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return `tensors` as a list, or say why it holds not one dense tensor for each device."""
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(
            f"{name} must be a list with one tensor for each device, not {type(tensors).__name__}"
        )
    if not tensors:
        raise ValueError(f"{name} is empty: give one tensor for each device, at least one")
    return [dense_tensor(f"{name}[{rank}]", tensor) for rank, tensor in enumerate(tensors)]


def same_kind_tensors(
    name: str, tensors: Sequence[torch.Tensor], *, but_dim: int | None = None
) -> list[torch.Tensor]:
    """Return `tensors`, or say which one differs in shape (other than along `but_dim`) or kind."""
    checked = tensor_list(name, tensors)
    first = checked[0]
    axis = None if but_dim is None else split_dim("dim", but_dim, first)
    for rank, tensor in enumerate(checked):
        for what in ("dtype", "device"):
            mine, theirs = getattr(tensor, what), getattr(first, what)
            if mine != theirs:
                raise ValueError(
                    f"{name}[{rank}] has {what} {mine}, {name}[0] has {theirs}: "
                    f"bring all to one {what} with .to(...)"
                )
        if _frame(tensor, axis) != _frame(first, axis):
            raise ValueError(
                f"{name}[{rank}] has shape {tuple(tensor.shape)}, {name}[0] has "
                f"{tuple(first.shape)}: every device must hold the same shape"
                + ("" if axis is None else f", but for dimension {axis}")
            )
    return checked


def _frame(tensor: torch.Tensor, axis: int | None) -> list[int]:
    """Return the shape, with the size along `axis` left open."""
    return [-1 if index == axis else size for index, size in enumerate(tensor.shape)]


def split_dim(name: str, dim: int, tensor: torch.Tensor) -> int:
    """Return `dim` counted from the front, or say which dimensions `tensor` has."""
    if tensor.ndim == 0:
        raise ValueError(f"{name}={dim!r}: a 0-d tensor has no dimension, use reshape(1)")
    return integer(name, dim, minimum=-tensor.ndim, maximum=tensor.ndim - 1) % tensor.ndim


def summable_tensors(name: str, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return `tensors`, or say why they can't be added up element by element and be right."""
    checked = same_kind_tensors(name, tensors)
    dtype = checked[0].dtype
    if dtype in INTEGERS:
        _check_integer_sums(name, checked)
    elif dtype not in FLOATS:
        raise TypeError(
            f"{name} of {dtype} can't be summed: convert to one of {names_of(FLOATS + INTEGERS)}, "
            f"as {name}[i].to(torch.float32)"
        )
    return checked


def _check_integer_sums(name: str, tensors: list[torch.Tensor]) -> None:
    """Refuse integers whose sum would wrap around without a word."""
    dtype = tensors[0].dtype
    if tensors[0].numel() == 0 or tensors[0].is_meta:
        return
    if dtype == torch.int64:  # nothing wider to add in: bound the sums by the extremes
        verb = "may reach"
        lowest = sum(int(tensor.min()) for tensor in tensors)
        highest = sum(int(tensor.max()) for tensor in tensors)
        remedy = "give smaller numbers, or convert to torch.float64, exact up to 2**53"
    else:
        verb = "reach"
        totals = torch.zeros_like(tensors[0], dtype=torch.int64)
        for tensor in tensors:
            totals += tensor
        lowest, highest = int(totals.min()), int(totals.max())
        remedy = f"convert to a wider dtype, as {name}[i].to(torch.int64)"
    limits = torch.iinfo(dtype)
    if lowest < limits.min or highest > limits.max:
        raise ValueError(
            f"sums of {name} {verb} from {lowest} to {highest}, beyond the range of {dtype} "
            f"({limits.min} to {limits.max}): {remedy}"
        )
