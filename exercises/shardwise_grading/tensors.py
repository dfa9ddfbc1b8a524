"""Compare tensors that a student returned, and say where they are wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from shardwise_grading.results import show

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence


def draw(
    rng: random.Random, shape: Sequence[int], dtype: torch.dtype = torch.float32
) -> torch.Tensor:
    """Draw normal numbers from the seed of the course, whatever torch's own seed is.

    Example:
        >>> import random
        >>> draw(random.Random(1), (2, 3)).shape
        torch.Size([2, 3])
    """
    generator = torch.Generator().manual_seed(rng.randrange(2**60))
    return torch.randn(tuple(shape), generator=generator, dtype=torch.float64).to(dtype)


def rounding(dtype: torch.dtype, terms: int, magnitude: torch.Tensor) -> torch.Tensor:
    """Bound what rounding may do to a sum: number of terms times eps times the sum of ``|term|``.

    Args:
        dtype: what the student's code computes in.
        terms: how many roundings lie between the inputs and a result.
        magnitude: the result that the absolute values of the inputs would give.

    Example:
        >>> rounding(torch.float64, 2, torch.tensor([1.0], dtype=torch.float64)).item()
        4.440892098500626e-16
    """
    return magnitude.abs().double() * (terms * torch.finfo(dtype).eps)


def wrong_tensor(
    name: str, value: object, expected: torch.Tensor, tolerance: torch.Tensor, dtype: torch.dtype
) -> str:
    """Say how a value differs from the tensor that is expected; empty when it does not.

    Args:
        name: what the value is, such as ``"result[0]"``.
        value: what the student's function returned.
        expected: the exact result, in float64.
        tolerance: how far each element may be off.
        dtype: what the result must be of.

    Example:
        >>> half = torch.tensor([0.5, 0.5], dtype=torch.float64)
        >>> wrong_tensor("result", torch.tensor([0.5, 1.0]), half, half * 0, torch.float32)
        'result[1] is 1; expected 0.5'
    """
    if type(value) is not torch.Tensor:
        return f"{name} is {what(value)}; expected a tensor"
    if not is_dense(value):
        return f"{name} is {value.layout} on {value.device}; expected a dense tensor on the CPU"
    if (value.shape, value.dtype) != (expected.shape, dtype):
        kind = f"{_kind(value.dtype)} of shape {tuple(value.shape)}"
        return f"{name} is {kind}; expected {_kind(dtype)} of shape {tuple(expected.shape)}"
    off = ~((value.detach().double() - expected).abs() <= tolerance)  # so that NaN is off
    if not off.any():
        return ""
    place = tuple(off.nonzero()[0].tolist())
    index = f"[{', '.join(map(str, place))}]" if place else ""
    got, want = value[place].item(), expected[place].item()
    digits = 7 if abs(got - want) > 1e-5 * abs(want) else 17
    return f"{name}{index} is {got:.{digits}g}; expected {want:.{digits}g}"


def is_dense(value: object) -> bool:
    """Whether a value is a tensor whose numbers can be read: neither sparse nor on `meta`.

    Example:
        >>> is_dense(torch.ones(2)), is_dense(torch.ones(2).to_sparse()), is_dense([1.0])
        (True, False, False)
    """
    return (
        type(value) is torch.Tensor and value.layout is torch.strided and value.device.type == "cpu"
    )


def what(value: object) -> str:
    """Name the type of a value for a message, and the value where it is short.

    Example:
        >>> what([torch.ones(99)]), what(None)
        ('a list', 'None')
    """
    containers = (list, tuple, dict)
    return f"a {type(value).__name__.lower()}" if type(value) in containers else show(value)


def _kind(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
