"""ZeRO, executed: data parallelism on N simulated devices that split their training state.

Each device computes the gradient of its own shard of the batch. Stage 0 keeps everything on every
device and all-reduces gradients. Stage 1 splits the optimizer state: gradients are
reduce-scattered, each device updates its slice of the weights, and the weights are all-gathered.
Stage 2 keeps no more of the gradients than the slice, and stage 3 no more of the weights: those of
one layer are gathered just before its forward and again before its backward pass, and dropped
after each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from shardwise._checks import flag, integer, written
from shardwise._graphs import recording_gradients
from shardwise.memory.recipes import PARTS
from shardwise.zero._checks import check_layers, check_parameters, check_shards, float_dtype
from shardwise.zero._loss import Loss, make_head, mean_squared_error
from shardwise.zero._step import Pass, num_bytes
from shardwise.zero._units import Setup, Unit, lay_out
from shardwise.zero.mixed_adam import AdamSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ZeroTrainer"]


class ZeroTrainer:
    """Train layers with Adam on N simulated devices under a ZeRO stage.

    The step is that of one device with the whole batch of B samples: device i has bᵢ of them, and
    gradient = Σᵢ (bᵢ/B) ∇ᵢ, with the sum in the collective. With Ψ parameters (padding included),
    N devices and 16-bit weights, state of 16Ψ, 4Ψ + 12Ψ/N, 2Ψ + 14Ψ/N and 16Ψ/N bytes stays on a
    device, and a step sends k(N-1)/N · Ψ elements, k = 2, 2, 2, 3, at stages 0, 1, 2, 3.

    The parameters of a layer are one flat vector, padded with zeros to a multiple of N from stage 1
    on. Parameters that several layers share are a vector of their own, which at stage 3 stays
    gathered from the first layer that uses it to the last. Frozen parameters have neither gradient
    nor optimizer state; stage 3 splits them too, and gathers them twice a step.

    The caller's modules lend their forward pass and their values at the start, and keep their own
    parameters as they were. Each device has buffers of its own, floats among them in `dtype`. A
    parameter that the loss doesn't reach has gradient zero. Layers may compute again in the
    backward pass (`torch.utils.checkpoint` with `use_reentrant=False`). `torch.autocast` around a
    step acts on them as elsewhere: with fp32 weights that is PyTorch's mixed precision (AMP).

    Layers that draw random numbers or whose samples influence one another (BatchNorm) don't do what
    one device would do, as in any data parallelism. fp16 gradients are not scaled against
    underflow; bf16 ones need no scaling.

    Executed are the recipes 2+2+12, 2+4+12 and 4+4+8. The others of `RECIPES` are counted only:
    2+6+12 needs a buffer over several micro-batches where a step here has one, 2+0+8 an update in
    the middle of the backward pass, and 2+2+4 an Adam without a wide state.

    Args:
        layers: modules that run one after the other, each from one tensor to one float tensor.
        num_devices: N ≥ 1.
        stage: 0, 1, 2 or 3.
        lr: Adam's learning rate.
        betas: Adam's decay of momentum and variance.
        eps: Adam's term beside the root of the variance.
        weight_decay: λ, which pulls the weights towards 0.
        decoupled_weight_decay: False adds λ times the weights to the gradient (as
            `torch.optim.Adam`), True multiplies the weights by 1 - lr · λ (as `torch.optim.AdamW`).
        dtype: of the weights and of forward and backward: bf16, fp16 (recipe 2+2+12), or fp32 and
            fp64, which need no master copy (4+4+8 and 8+8+16).
        grad_dtype: of the gradients that are kept and reduced; default: `dtype`. fp32 beside
            16-bit weights is recipe 2+4+12.
        loss: maps the last output (in fp32, or fp64 for fp64 weights) and a target to the *mean*
            over its samples, 0-d, each sample counting the same (a mean over tokens: as many in
            each sample); default: the mean of their squared differences.

    Attributes:
        num_parameters: number of parameters Ψ, tied ones counted once, with the frozen ones.
        padded_elements: zeros appended to make every vector a multiple of N, all vectors together.
        peak_gathered_bytes: most bytes of gathered weights that a device held in the last step.
        peak_unreduced_bytes: most bytes of gradients that a device held whole on the way to being
            split (stages 2 and 3) in the last step.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if a number is out of range, or the layers have nothing to train or live on
            several devices.

    Example:
        >>> layers = [nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)]
        >>> trainer = ZeroTrainer(layers, num_devices=4, stage=3)
        >>> loss = trainer.step([torch.ones(2, 3)] * 4, [torch.ones(2, 2)] * 4)
        >>> trainer.num_parameters, trainer.padded_elements, trainer.peak_gathered_bytes
        (32, 0, 40)
        >>> trainer.bytes_per_device()[0]
        {'params': 16, 'grads': 16, 'optimizer': 96, 'total': 128}

    Source: Rajbhandari et al., "ZeRO", arXiv:1910.02054, sections 5 and 7.
    """

    def __init__(  # noqa: PLR0913 - Adam's four numbers, two dtypes, and what is trained where
        self,
        layers: Sequence[nn.Module] | nn.Sequential | nn.ModuleList,
        *,
        num_devices: int,
        stage: int,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        dtype: torch.dtype = torch.bfloat16,
        grad_dtype: torch.dtype | None = None,
        loss: Loss = mean_squared_error,
    ) -> None:
        """Copy the layers' values, in the parts that each device keeps."""
        self._layers = check_layers(layers)
        self._setup = Setup(
            num_devices=integer("num_devices", num_devices, minimum=1),
            stage=integer("stage", stage, maximum=3),
            dtype=float_dtype("dtype", dtype),
            grad_dtype=float_dtype("grad_dtype", dtype if grad_dtype is None else grad_dtype),
            adam=AdamSettings(lr, betas, eps, weight_decay, decoupled_weight_decay),
        )
        if not callable(loss):
            raise TypeError(f"loss={written(loss)} must be a function of output and target")
        self._loss = loss
        self._device = check_parameters(self._layers)
        with torch.inference_mode(False):  # what is made here outlives the caller's mode
            self._units = [Unit(layout, self._setup) for layout in lay_out(self._layers)]
            self._buffers = [self._copy_buffers() for _ in range(self._setup.num_devices)]
        self.num_parameters = sum(unit.layout.num_parameters for unit in self._units)
        self.padded_elements = sum(unit.padding for unit in self._units)
        self.peak_gathered_bytes = 0
        self.peak_unreduced_bytes = 0

    def step(
        self, x_shards: Sequence[torch.Tensor], y_shards: Sequence[torch.Tensor]
    ) -> torch.Tensor:
        """Take one optimizer step on a batch that is cut over the devices.

        Shards may differ in size: device i's mean loss counts bᵢ/B. If a layer or the loss raises,
        the parameters and the optimizer are as they were; buffers keep what the layers wrote.

        Args:
            x_shards: inputs of each device, N tensors (bᵢ, …), bᵢ ≥ 1; floats are rounded to the
                weights' dtype.
            y_shards: targets of each device, N tensors (bᵢ, …); floats go to the loss in its dtype.

        Returns:
            The loss before the step, Σᵢ (bᵢ/B) lossᵢ, 0-d, detached, fp32 or fp64. Its sum over
            devices is for the caller's eyes and not counted as communication.

        Raises:
            TypeError: if a shard is no tensor, or a layer or the loss returns the wrong type.
            ValueError: if shards don't fit devices or one another, the loss is not 0-d, or a layer
                or the loss uses a trained parameter that is not registered with the layer.
        """
        shares = check_shards(x_shards, y_shards, self._setup.num_devices, self._device)
        dtype = self._setup.dtype
        run = Pass(self._layers, self._units)
        with recording_gradients():
            inputs = [x.to(dtype) if x.is_floating_point() else x for x in x_shards]
            heads = [
                make_head(self._loss, dtype, y, share)
                for y, share in zip(y_shards, shares, strict=True)
            ]
            try:
                losses = run.forward(inputs, heads, self._buffers)
                run.backward()
            finally:
                for unit in self._units:
                    unit.rest()
        for unit in self._units:
            unit.update()
        self.peak_gathered_bytes = run.peak_gathered_bytes
        self.peak_unreduced_bytes = run.peak_unreduced_bytes
        return torch.stack(losses).sum()

    def bytes_per_device(self) -> list[dict[str, int]]:
        """Return the bytes of training state that each device keeps between steps.

        They are measured: the storage of the tensors that are there. Buffers are not counted.

        Returns:
            For each device bytes under "params", "grads", "optimizer" and "total".
        """
        measured = []
        for rank in range(self._setup.num_devices):
            optimizer = [t for u in self._units if u.adams for t in u.adams[rank].state()]
            kept = {
                "params": [unit.weights[rank] for unit in self._units],
                "grads": [unit.grads[rank] for unit in self._units if unit.grads],
                "optimizer": optimizer,
            }
            parts = {part: num_bytes(kept[part]) for part in PARTS}
            measured.append({**parts, "total": sum(parts.values())})
        return measured

    def parameters_full(self, *, rank: int = 0, master: bool = False) -> dict[str, torch.Tensor]:
        """Return the whole parameters as a device has them, without recording communication.

        Args:
            rank: the device, 0 ≤ rank < N. At stage 3 the slices of all devices are joined.
            master: return what the optimizer updates (fp32 for 16-bit weights) instead.

        Returns:
            Copies by name, in the order and with the names of `nn.Sequential(*layers)`, tied
            parameters under each of their names.

        Raises:
            TypeError: if `rank` is no int or `master` no bool.
            ValueError: if there is no device `rank`.
        """
        device = integer("rank", rank, maximum=self._setup.num_devices - 1)
        flag("master", master)
        found: dict[str, torch.Tensor] = {}
        for unit in self._units:
            whole = unit.whole_master(device) if master else unit.whole_weights(device)
            views = unit.layout.views(whole)
            for index, names in unit.layout.uses.items():
                found.update({f"{index}.{n}": views[slot].clone() for n, slot in names.items()})
        return {
            f"{index}.{name}": found[f"{index}.{name}"]
            for index, layer in enumerate(self._layers)
            for name, _ in layer.named_parameters(remove_duplicate=False)
        }

    def _copy_buffers(self) -> list[dict[str, torch.Tensor]]:
        """Return for each layer copies of its buffers by name, shared ones copied once."""
        copies: dict[torch.Tensor, torch.Tensor] = {}
        named = [dict(layer.named_buffers(remove_duplicate=False)) for layer in self._layers]
        for buffer in (b for buffers in named for b in buffers.values()):
            kind = self._setup.dtype if buffer.is_floating_point() else buffer.dtype
            copies.setdefault(buffer, buffer.detach().to(kind, copy=True))
        return [{name: copies[b] for name, b in buffers.items()} for buffers in named]
