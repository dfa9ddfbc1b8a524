"""One layer on one device: forward with borrowed weights, and backward without having kept them.

A weight that an operation saves for the backward pass would stay in memory with the graph. So what
is saved of a unit is only where it lies in the unit's vector, and it is read from the vector that
is open during the backward pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import torch
from torch.autograd.graph import get_gradient_edge, saved_tensors_hooks

from shardwise.tensor_parallel.conjugates import apply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import nn
    from torch.autograd.graph import GradientEdge

    from shardwise.zero._units import Unit

Head: TypeAlias = "Callable[[torch.Tensor], torch.Tensor]"


class _Place(NamedTuple):
    """Where a saved tensor lies in the vector of a unit."""

    unit: Unit
    size: torch.Size
    stride: tuple[int, ...]
    offset: int | torch.SymInt


class _Lend(torch.autograd.Function):
    """Give a weight a node in the graph that, unlike a leaf's, keeps no memory alive.

    It has no backward: gradients are taken at the edge into the node.
    """

    @staticmethod
    def forward(ctx: Any, anchor: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:  # noqa: ANN401, ARG004
        return weight.view_as(weight)


@dataclass(slots=True, eq=False)
class Segment:
    """The graph of one layer on one device.

    Attributes:
        entry: the input, where it needs a gradient.
        output: what the layer (or the loss behind it) returned.
        edges: where the gradient of each borrowed weight comes out.
    """

    entry: torch.Tensor | None
    output: torch.Tensor
    edges: list[tuple[Unit, int, GradientEdge]]


def _hooks(units: Sequence[Unit], rank: int) -> saved_tensors_hooks:
    """Save weights as places, and read them from the vectors that are open then."""
    owners = {
        unit.full[rank].untyped_storage().data_ptr(): unit
        for unit in units
        if unit.full is not None and unit.full[rank].numel()
    }

    def pack(tensor: torch.Tensor) -> torch.Tensor | _Place:
        unit = owners.get(tensor.untyped_storage().data_ptr())
        if unit is None or tensor.dtype != unit.setup.dtype:
            return tensor
        return _Place(unit, tensor.size(), tensor.stride(), tensor.storage_offset())

    def unpack(saved: torch.Tensor | _Place) -> torch.Tensor:
        if isinstance(saved, torch.Tensor):
            return saved
        assert saved.unit.full is not None  # noqa: S101 - the backward pass opened it
        return saved.unit.full[rank].as_strided(saved.size, saved.stride, saved.offset)

    return saved_tensors_hooks(pack, unpack)


def _borrow(
    units: Sequence[Unit], index: int, rank: int
) -> tuple[dict[str, torch.Tensor], list[tuple[Unit, int, GradientEdge]]]:
    """Return layer `index`'s weights by name, and where the gradient of each will come out."""
    named: dict[str, torch.Tensor] = {}
    edges: list[tuple[Unit, int, GradientEdge]] = []
    for unit in units:
        assert unit.full is not None  # noqa: S101 - the pass opened it
        weights = unit.layout.views(unit.full[rank])
        names = unit.layout.uses[index]
        for slot in sorted(set(names.values())) if unit.layout.trainable else ():
            anchor = torch.empty(0, device=weights[slot].device, requires_grad=True)
            weights[slot] = apply(_Lend, anchor, weights[slot])
            edges.append((unit, slot, get_gradient_edge(weights[slot])))
        named.update({name: weights[slot] for name, slot in names.items()})
    return named, edges


def forward(
    layer: nn.Module,
    index: int,
    units: Sequence[Unit],
    message: torch.Tensor,
    buffers: dict[str, torch.Tensor],
    *,
    rank: int,
    head: Head | None,
) -> Segment:
    """Run layer `index` on device `rank` with the weights of the open units that it uses."""
    entry = message.detach()
    wants_gradient = index > 0 and entry.is_floating_point()
    entry.requires_grad_(wants_gradient)
    named, edges = _borrow(units, index, rank)
    with _hooks(units, rank):
        # The copy lets layers that work in place change nothing but their own memory.
        output = torch.func.functional_call(layer, {**named, **buffers}, (entry.clone(),))
        if not isinstance(output, torch.Tensor) or not output.is_floating_point():
            kind = getattr(output, "dtype", type(output).__name__)
            raise TypeError(
                f"layers[{index}] returned {kind}: a layer returns one tensor of a float dtype"
            )
        if head is not None:
            output = head(output)
    return Segment(entry if wants_gradient else None, output, edges)


def backward(segment: Segment, rank: int, gradient: torch.Tensor | None) -> torch.Tensor | None:
    """Add to the units' gradients, and return the gradient of the layer's input."""
    entries = [] if segment.entry is None else [get_gradient_edge(segment.entry)]
    wanted = [*entries, *(edge for _, _, edge in segment.edges)]
    if gradient is None or not wanted or not segment.output.requires_grad:
        return None
    found = torch.autograd.grad([segment.output], wanted, [gradient], allow_unused=True)
    for (unit, slot, _), grad in zip(segment.edges, found[len(entries) :], strict=True):
        if grad is not None:
            assert unit.unreduced is not None  # noqa: S101 - the caller started it
            unit.layout.views(unit.unreduced[rank])[slot].add_(grad)
    return found[0] if entries else None
