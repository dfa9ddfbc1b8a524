"""One layer on one device: forward with borrowed weights, and backward without having kept them.

A weight that an operation saves for the backward pass would stay in memory with the graph. So what
is saved of a unit is only where it lies in the unit's vector, and it is read from the vector that
is open during the backward pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import torch
from torch import nn
from torch.autograd.graph import get_gradient_edge, saved_tensors_hooks

from shardwise.tensor_parallel.conjugates import apply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch.autograd.graph import GradientEdge

    from shardwise.zero._units import Unit

Head: TypeAlias = "Callable[[torch.Tensor], torch.Tensor]"
Edges: TypeAlias = "list[tuple[Unit, int, GradientEdge]]"


class _Place(NamedTuple):
    """Where a saved tensor lies in the vector of a unit."""

    unit: Unit
    size: torch.Size
    stride: tuple[int, ...]
    offset: int | torch.SymInt


class _Guest(nn.Module):
    """A place to do something from, while a layer has borrowed tensors instead of its own."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, action: Callable[[], Any]) -> Any:  # noqa: ANN401
        return action()


def _with_borrowed(
    layer: nn.Module, borrowed: dict[str, torch.Tensor], action: Callable[[], Any]
) -> Any:  # noqa: ANN401
    """Return what `action` returns while the layer has the borrowed tensors."""
    tensors = {f"layer.{name}": tensor for name, tensor in borrowed.items()}
    return torch.func.functional_call(_Guest(layer), tensors, (action,))


class _Lend(torch.autograd.Function):
    """Give a weight a node in the graph that, unlike a leaf's, keeps no memory alive.

    It has no backward: gradients are taken at the edge into the node.
    """

    @staticmethod
    def forward(ctx: Any, anchor: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:  # noqa: ANN401, ARG004
        return weight.view_as(weight)


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """What one device does in one layer.

    Attributes:
        layer: the module.
        index: its place among all layers.
        rank: the device.
        units: those that hold the layer's parameters.
        buffers: the device's own buffers of the layer.
        head: what it does behind the last layer.
    """

    layer: nn.Module
    index: int
    rank: int
    units: Sequence[Unit]
    buffers: dict[str, torch.Tensor]
    head: Head | None

    def borrow(self) -> tuple[dict[str, torch.Tensor], Edges]:
        """Return weights and buffers by name, and where the gradient of each weight comes out."""
        named: dict[str, torch.Tensor] = dict(self.buffers)
        edges: Edges = []
        for unit in self.units:
            assert unit.full is not None  # noqa: S101 - the pass opened it
            weights = unit.layout.views(unit.full[self.rank])
            names = unit.layout.uses[self.index]
            for slot in sorted(set(names.values())) if unit.layout.trainable else ():
                anchor = torch.empty(0, device=weights[slot].device, requires_grad=True)
                weights[slot] = apply(_Lend, anchor, weights[slot])
                edges.append((unit, slot, get_gradient_edge(weights[slot])))
            named.update({name: weights[slot] for name, slot in names.items()})
        return named, edges


@dataclass(slots=True, eq=False)
class Segment:
    """The graph of one layer on one device.

    Attributes:
        work: what was to be done.
        entry: the input, where it needs a gradient.
        output: what the layer (or the loss behind it) returned.
        edges: where the gradient of each borrowed weight comes out.
    """

    work: Work
    entry: torch.Tensor | None
    output: torch.Tensor
    edges: Edges


def _hooks(units: Sequence[Unit], rank: int) -> saved_tensors_hooks:
    """Save weights as places, and read them from the vectors that are open then."""
    owners = {
        unit.full[rank].untyped_storage().data_ptr(): unit
        for unit in units
        if unit.full is not None and unit.full[rank].numel()
    }

    def pack(tensor: torch.Tensor) -> torch.Tensor | _Place:
        if tensor.layout is not torch.strided:  # of which there is no storage to ask for
            return tensor
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


def forward(work: Work, message: torch.Tensor, names: dict[nn.Parameter, str]) -> Segment:
    """Run a layer on one device with the weights of its units, which are open.

    `names` are those of the caller's parameters, which must not take part.
    """
    entry = message.detach()
    wants_gradient = work.index > 0 and entry.is_floating_point()
    entry.requires_grad_(wants_gradient)
    borrowed, edges = work.borrow()

    def run() -> torch.Tensor:
        # The copy lets layers that work in place change nothing but their own memory.
        output = work.layer(entry.clone())
        if not isinstance(output, torch.Tensor) or not output.is_floating_point():
            kind = getattr(output, "dtype", type(output).__name__)
            raise TypeError(
                f"layers[{work.index}] returned {kind}: a layer returns one tensor of a float dtype"
            )
        return output if work.head is None else work.head(output)

    with _hooks(work.units, work.rank):
        output = _with_borrowed(work.layer, borrowed, run)
    _refuse_strays(output, work.index, names)
    return Segment(work, entry if wants_gradient else None, output, edges)


def backward(segment: Segment, gradient: torch.Tensor | None) -> torch.Tensor | None:
    """Add to the units' gradients, and return the gradient of the layer's input."""
    work, entry = segment.work, segment.entry
    entries = [] if entry is None else [get_gradient_edge(entry)]
    wanted = [*entries, *(edge for _, _, edge in segment.edges)]
    if gradient is None or not wanted or not segment.output.requires_grad:
        return None
    borrowed, _ = work.borrow()  # for what is checkpointed, and so computed again
    found = _with_borrowed(
        work.layer,
        borrowed,
        lambda: torch.autograd.grad([segment.output], wanted, [gradient], allow_unused=True),
    )
    for (unit, slot, _), grad in zip(segment.edges, found[len(entries) :], strict=True):
        if grad is not None:
            assert unit.unreduced is not None  # noqa: S101 - the caller started it
            unit.layout.views(unit.unreduced[work.rank])[slot].add_(grad)
    return found[0] if entries else None


def _refuse_strays(output: torch.Tensor, index: int, names: dict[nn.Parameter, str]) -> None:
    """Say so if the caller's own parameter, which never changes, is part of the graph."""
    nodes, seen = [output.grad_fn], set()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if isinstance(leaf, nn.Parameter) and leaf in names:
            raise ValueError(
                f"layers[{index}] (or the loss behind it) uses parameter {names[leaf]} from "
                "elsewhere, where no step reaches it: let the layer have it as an attribute, as "
                "self.weight = other.weight"
            )
        nodes += [following for following, _ in node.next_functions]
