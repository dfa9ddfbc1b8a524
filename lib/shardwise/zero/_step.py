"""The order of a ZeRO step: which weights are there when, layer by layer on all devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from shardwise.zero._layers import Head, Segment, Work, backward, forward

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import nn

    from shardwise.zero._units import Unit


def num_bytes(tensors: Iterable[torch.Tensor]) -> int:
    """Return the bytes of the tensors' memory, counted once where they share it.

    >>> pair = torch.zeros(2)
    >>> num_bytes([pair, pair[:1]])
    8
    """
    storages = (tensor.untyped_storage() for tensor in tensors)
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


class Pass:
    """One forward and one backward pass.

    A unit is open from the first layer that uses it to the last, forward, and from the last to the
    first, backward; then its gradient is complete and is reduced.

    Attributes:
        peak_gathered_bytes: most bytes of gathered weights that a device held.
        peak_unreduced_bytes: most bytes of whole gradients that a device held while its own part
            of them has a place of its own.
    """

    def __init__(self, layers: Sequence[nn.Module], units: Sequence[Unit]) -> None:
        """Prepare to run the layers with the weights of the units."""
        self._layers, self._units = layers, units
        self._names = {
            unit.layout.parameters[slot]: f"{index}.{name}"
            for unit in units
            for index, names in unit.layout.uses.items()
            for name, slot in names.items()
        }
        self._segments: list[list[Segment]] = []  # [layer][device]
        self.peak_gathered_bytes = 0
        self.peak_unreduced_bytes = 0

    def forward(
        self,
        messages: Sequence[torch.Tensor],
        heads: Sequence[Head],
        buffers: Sequence[Sequence[dict[str, torch.Tensor]]],
    ) -> list[torch.Tensor]:
        """Run all layers on all devices' inputs, and return what the heads return, detached."""
        last = len(self._layers) - 1
        for index, layer in enumerate(self._layers):
            units = self._units_of(index)
            for unit in units:
                if unit.layout.first == index:
                    unit.open()
            self._measure()
            self._segments.append([])
            for rank, message in enumerate(messages):
                head = heads[rank] if index == last else None
                work = Work(layer, index, rank, units, buffers[rank][index], head)
                self._segments[-1].append(forward(work, message, self._names))
            messages = [segment.output.detach() for segment in self._segments[-1]]
            for unit in units:
                if unit.layout.last == index:
                    unit.close()
        return list(messages)

    def backward(self) -> None:
        """Run back from the heads' outputs, and leave the units with their reduced gradients."""
        gradients: list[torch.Tensor | None] = [
            torch.ones_like(segment.output) for segment in self._segments[-1]
        ]
        for index in reversed(range(len(self._layers))):
            units = self._units_of(index)
            for unit in units:
                if unit.layout.last == index:
                    unit.open()
                    unit.start_gradients()
            self._measure()
            segments = self._segments.pop()
            gradients = [
                backward(segment, gradient)
                for segment, gradient in zip(segments, gradients, strict=True)
            ]
            for unit in units:
                if unit.layout.first == index:
                    unit.close()
                    unit.reduce()

    def _units_of(self, index: int) -> list[Unit]:
        return [unit for unit in self._units if index in unit.layout.uses]

    def _measure(self) -> None:
        """Note the bytes that are there for a while only, on the first device as on all others."""
        gathered = [u.full[0] for u in self._units if u.full and u.full is not u.weights]
        whole = [u.unreduced[0] for u in self._units if u.unreduced]
        kept = [u.grads[0] for u in self._units if u.unreduced]
        passing = num_bytes([*whole, *kept]) - num_bytes(kept)
        self.peak_gathered_bytes = max(self.peak_gathered_bytes, num_bytes(gathered))
        self.peak_unreduced_bytes = max(self.peak_unreduced_bytes, passing)
