"""Units of ZeRO: the parameters of one layer as one flat vector, and who keeps which part of it.

A unit holds the parameters that live equally long: those that one layer alone uses, or those that
are tied between the same first and last layer. It is padded with zeros to a multiple of N, so that
all slices have one size, and gathered and reduced as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

import torch

from shardwise.collectives import all_gather, reduce_scatter, ring_all_reduce
from shardwise.zero.mixed_adam import AdamSettings, MixedAdam, state_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn

OPTIMIZER, GRADIENTS, PARAMETERS = 1, 2, 3  # the stage from which each is split


@dataclass(frozen=True, slots=True)
class Setup:
    """What all units have in common."""

    num_devices: int
    stage: int
    dtype: torch.dtype
    grad_dtype: torch.dtype
    adam: AdamSettings


@dataclass(slots=True, eq=False)
class Layout:
    """Which parameters a unit holds, and which layers use them.

    Attributes:
        first: index of the first layer that uses the unit.
        last: index of the last one.
        trainable: whether it has gradients and optimizer state.
        parameters: the caller's parameters, each once.
        uses: for each layer, its names and their positions in `parameters`.
    """

    first: int
    last: int
    trainable: bool
    parameters: list[nn.Parameter] = field(default_factory=list)
    uses: dict[int, dict[str, int]] = field(default_factory=dict)

    @property
    def num_parameters(self) -> int:
        """Number of parameter elements, without padding."""
        return sum(parameter.numel() for parameter in self.parameters)

    def views(self, flat: torch.Tensor) -> list[torch.Tensor]:
        """Return each parameter's part of a flat vector, in the parameter's shape."""
        ends = list(accumulate(parameter.numel() for parameter in self.parameters))
        pieces = flat[: ends[-1]].tensor_split(ends[:-1])
        return [piece.view(p.shape) for piece, p in zip(pieces, self.parameters, strict=True)]


def lay_out(layers: Sequence[nn.Module]) -> list[Layout]:
    """Sort the parameters of all layers into units, each parameter into exactly one."""
    uses: dict[nn.Parameter, list[tuple[int, str]]] = {}
    for index, layer in enumerate(layers):
        for name, parameter in layer.named_parameters(remove_duplicate=False):
            uses.setdefault(parameter, []).append((index, name))
    units: dict[tuple[int, int, bool], Layout] = {}
    for parameter, names in uses.items():
        key = names[0][0], names[-1][0], parameter.requires_grad
        unit = units.setdefault(key, Layout(*key))
        for index, name in names:
            unit.uses.setdefault(index, {})[name] = len(unit.parameters)
        unit.parameters.append(parameter)
    return list(units.values())


class Unit:
    """One unit on all devices: weights, gradients and optimizer state as the stage splits them.

    Attributes:
        weights: for each device its whole vector, or from stage 3 its slice.
        grads: for each device the averaged gradient: whole, or from stage 2 its slice; empty for
            a frozen unit.
        adams: for each device the optimizer of the whole vector, or from stage 1 of its slice.
        full: each device's whole vector while the unit is open, else None.
        unreduced: each device's own gradient of its whole vector during the backward pass.
    """

    def __init__(self, layout: Layout, setup: Setup) -> None:
        """Cut the caller's values into what each device keeps."""
        self.layout, self.setup = layout, setup
        count = setup.num_devices
        flat = torch.cat(
            [p.detach().reshape(-1).to(state_dtype(setup.dtype)) for p in layout.parameters]
        )
        self.padding = -len(flat) % count if setup.stage >= OPTIMIZER else 0
        flat = torch.cat([flat, flat.new_zeros(self.padding)])
        self.slice_size = len(flat) // count
        self.weights = [
            self._kept(flat, rank, PARAMETERS).to(setup.dtype, copy=True) for rank in range(count)
        ]
        self.full: list[torch.Tensor] | None = None
        self.unreduced: list[torch.Tensor] | None = None
        self.grads: list[torch.Tensor] = []
        self.adams: list[MixedAdam] = []
        if layout.trainable:
            self.grads = [
                torch.zeros_like(self._kept(flat, rank, GRADIENTS), dtype=setup.grad_dtype)
                for rank in range(count)
            ]
            self.adams = [
                MixedAdam(
                    self._updated(self.weights[rank], rank, PARAMETERS),
                    master=self._kept(flat, rank, OPTIMIZER),
                    settings=setup.adam,
                )
                for rank in range(count)
            ]

    def _slice(self, flat: torch.Tensor, rank: int) -> torch.Tensor:
        return flat[rank * self.slice_size : (rank + 1) * self.slice_size]

    def _kept(self, flat: torch.Tensor, rank: int, split_from: int) -> torch.Tensor:
        """Return what a device keeps of a whole vector that is split from a stage on."""
        return self._slice(flat, rank) if self.setup.stage >= split_from else flat

    def _updated(self, kept: torch.Tensor, rank: int, split_from: int) -> torch.Tensor:
        """Return the part of what a device keeps that its optimizer updates."""
        whole = self.setup.stage < split_from
        return self._kept(kept, rank, OPTIMIZER) if whole else kept

    def open(self) -> None:
        """Give every device the whole vector of weights, gathered where it is split."""
        split = self.setup.stage >= PARAMETERS
        self.full = all_gather(self.weights) if split else self.weights

    def close(self) -> None:
        """Drop what was gathered."""
        self.full = None

    def rest(self) -> None:
        """Drop everything that only a pass needs, also where it was broken off."""
        self.full = self.unreduced = None

    def start_gradients(self) -> None:
        """Set every device's own gradient to zero."""
        if self.setup.stage >= GRADIENTS:
            size = self.slice_size * self.setup.num_devices
            self.unreduced = [grad.new_zeros(size) for grad in self.grads]
        else:
            self.unreduced = [grad.zero_() for grad in self.grads]

    def reduce(self) -> None:
        """Add the devices' gradients up, and keep of the sum what the stage keeps."""
        if not self.unreduced:  # frozen
            return
        split = self.setup.stage >= OPTIMIZER
        sums = reduce_scatter(self.unreduced) if split else ring_all_reduce(self.unreduced)
        for rank, (grad, total) in enumerate(zip(self.grads, sums, strict=True)):
            self._updated(grad, rank, GRADIENTS).copy_(total)
        self.unreduced = None

    def update(self) -> None:
        """Let every device update its part, and tell the others where they keep it too."""
        for rank, (adam, grad) in enumerate(zip(self.adams, self.grads, strict=True)):
            adam.step(self._updated(grad, rank, GRADIENTS))
        if self.adams and OPTIMIZER <= self.setup.stage < PARAMETERS:
            parts = [self._slice(whole, rank) for rank, whole in enumerate(self.weights)]
            for whole, gathered in zip(self.weights, all_gather(parts), strict=True):
                whole.copy_(gathered)

    def whole_weights(self, rank: int) -> torch.Tensor:
        """Return the vector as a device would see it, without communication."""
        return torch.cat(self.weights) if self.setup.stage >= PARAMETERS else self.weights[rank]

    def whole_master(self, rank: int) -> torch.Tensor:
        """Return the vector that the optimizers update, or of a frozen unit the weights."""
        if not self.adams:
            return self.whole_weights(rank)
        if self.setup.stage >= OPTIMIZER:
            return torch.cat([adam.master for adam in self.adams])
        return self.adams[rank].master
