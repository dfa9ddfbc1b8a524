"""f and g, the conjugate operators at which a split layer communicates.

A simulated tensor-parallel layer is a list of N tensors, one for each device. Two kinds of value
occur in it. A *replicated* value is the same on every device, and so is its gradient. A *partial*
value differs, and what counts is the sum over devices, of the value or of its gradient. Each
operator leads from one kind to the other, and its backward is the forward of its partner:

    operator     forward          backward
    f            identity         all-reduce
    g            all-reduce       identity
    replicate    N copies of one  one of N
    collapse     one of N         N copies of one

The last two move nothing: they are where the simulation of N devices begins and ends. As each
backward calls its partner, it can be differentiated again. The module `sequence` has the pair that
takes the place of f and g where the sequence is split.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from shardwise._checks import integer
from shardwise._tensors import same_kind_tensors
from shardwise.collectives import ring_all_reduce
from shardwise.tensor_parallel._matrices import float_tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

Tensors = tuple[torch.Tensor, ...]


def apply(function: Any, *args: object) -> Any:  # noqa: ANN401 - autograd functions are untyped
    """Return what an autograd function makes of `args`."""
    return function.apply(*args)


class IdentityThenAllReduce(torch.autograd.Function):
    """f: nothing on the way in; on the way back every device gets the sum of all gradients."""

    @staticmethod
    def forward(_ctx: Any, *tensors: torch.Tensor) -> Tensors:  # noqa: ANN401
        """Pass each device's tensor on, uncopied."""
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(_ctx: Any, *gradients: torch.Tensor) -> Any:  # noqa: ANN401
        """Sum the devices' gradients."""
        return apply(AllReduceThenIdentity, *gradients)


class AllReduceThenIdentity(torch.autograd.Function):
    """g: every device gets the sum of all tensors; on the way back nothing."""

    @staticmethod
    def forward(_ctx: Any, *tensors: torch.Tensor) -> Tensors:  # noqa: ANN401
        """Sum the devices' tensors."""
        return tuple(ring_all_reduce(tensors))

    @staticmethod
    def backward(_ctx: Any, *gradients: torch.Tensor) -> Any:  # noqa: ANN401
        """Pass each device's gradient on."""
        return apply(IdentityThenAllReduce, *gradients)


class Replicate(torch.autograd.Function):
    """One tensor becomes N equal ones; on the way back one of their N equal gradients."""

    @staticmethod
    def forward(_ctx: Any, num_devices: int, tensor: torch.Tensor) -> Tensors:  # noqa: ANN401
        """Give each device a copy of its own."""
        return tuple(tensor.clone() for _ in range(num_devices))

    @staticmethod
    def backward(_ctx: Any, *gradients: torch.Tensor) -> Any:  # noqa: ANN401
        """Take the first gradient: the others are the same."""
        return None, apply(Collapse, *gradients)


class Collapse(torch.autograd.Function):
    """One of N equal tensors; on the way back its gradient for every device."""

    @staticmethod
    def forward(ctx: Any, *tensors: torch.Tensor) -> torch.Tensor:  # noqa: ANN401
        """Take the first tensor: the others are the same."""
        ctx.num_devices = len(tensors)
        return tensors[0].clone()

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:  # noqa: ANN401
        """Give each device a copy: each has computed the same loss from the same output."""
        return apply(Replicate, ctx.num_devices, *gradients)


def check_floats(
    tensors: Sequence[torch.Tensor], *, name: str = "tensors", but_dim: int | None = None
) -> None:
    """Say why `tensors` are no float tensors of one shape (but for `but_dim`), dtype and device."""
    same_kind_tensors(name, tensors, but_dim=but_dim)
    float_tensor(f"{name}[0]", tensors[0])


def f(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Enter a split block: identity forward, all-reduce of the gradients backward.

    yᵢ = xᵢ, and ∂L/∂xᵢ = Σⱼ ∂L/∂yⱼ: each device has seen only what its own shard of the weights
    makes of x, so only the sum is the gradient of the replicated x. The backward pass moves
    2(N-1)/N · M bytes per device.

    Args:
        tensors: one float tensor for each device, all of one shape, dtype and device: replicas.

    Returns:
        N views of the inputs.

    Raises:
        TypeError: if an element is no dense float tensor.
        ValueError: if there are none, or they differ in shape, dtype or device.

    Example:
        >>> replicas = [torch.ones(2, requires_grad=True) for _ in range(2)]
        >>> one, two = f(replicas)
        >>> (3 * one + 4 * two).sum().backward()
        >>> [replica.grad.tolist() for replica in replicas]
        [[7.0, 7.0], [7.0, 7.0]]

    Source: Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3.
    """
    check_floats(tensors)
    return list(apply(IdentityThenAllReduce, *tensors))


def g(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Leave a split block: all-reduce of the partial sums forward, identity backward.

    yᵢ = Σⱼ xⱼ, and ∂L/∂xᵢ = ∂L/∂yᵢ: y is replicated, so every device already holds the gradient of
    the sum, which is that of each term. The forward pass moves 2(N-1)/N · M bytes per device.

    Args:
        tensors: one float tensor for each device, all of one shape, dtype and device: partial sums.

    Returns:
        N tensors, the same bits on every device.

    Raises:
        TypeError: if an element is no dense float tensor.
        ValueError: if there are none, or they differ in shape, dtype or device.

    Example:
        >>> partial = [torch.tensor([1.0], requires_grad=True), torch.tensor([2.0])]
        >>> one, two = g(partial)
        >>> one.backward()
        >>> one.item(), two.item(), partial[0].grad.item()
        (3.0, 3.0, 1.0)

    Source: Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3.
    """
    check_floats(tensors)
    return list(apply(AllReduceThenIdentity, *tensors))


def replicate(tensor: torch.Tensor, num_devices: int) -> list[torch.Tensor]:
    """Give each of N devices its copy of one tensor; the backward takes one of the equal gradients.

    What is computed from the copies must be the same on every device, or pass through `f`: only
    then are their gradients equal.

    Args:
        tensor: a float tensor of any shape.
        num_devices: N ≥ 1.

    Returns:
        N copies.

    Raises:
        TypeError: if `tensor` is no dense float tensor, or N no int.
        ValueError: if N < 1.

    Example:
        >>> [copy.tolist() for copy in replicate(torch.tensor([1.0, 2.0]), 2)]
        [[1.0, 2.0], [1.0, 2.0]]

    Source: the start of the simulation; real devices receive the same batch.
    """
    float_tensor("tensor", tensor)
    count = integer("num_devices", num_devices, minimum=1)
    return list(apply(Replicate, count, tensor))


def take_one(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Take one of N tensors that are equal by what made them; see `collapse`."""
    result: torch.Tensor = apply(Collapse, *tensors)
    return result


def collapse(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Take one of N equal tensors; the backward gives its gradient to every device.

    Args:
        tensors: one float tensor for each device, all equal.

    Returns:
        A copy of the first.

    Raises:
        TypeError: if an element is no dense float tensor.
        ValueError: if there are none, or they differ, be it in shape, dtype, device or values.

    Example:
        >>> collapse([torch.ones(2), torch.ones(2)])
        tensor([1., 1.])

    Source: the end of the simulation; real devices each compute the same loss.
    """
    check_floats(tensors)
    for rank, tensor in enumerate(tensors):
        if not tensor.is_meta and not _same_numbers(tensor, tensors[0]):
            raise ValueError(
                f"tensors[{rank}] holds other numbers than tensors[0]: only one of equal tensors "
                "stands for all, add partial sums up with g before"
            )
    return take_one(tensors)


def _same_numbers(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors are equal, with NaN in the same places."""
    return torch.equal(one, other) or torch.allclose(one, other, rtol=0, atol=0, equal_nan=True)
