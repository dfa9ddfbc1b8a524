"""Pipeline parallelism, executed: every cell of a schedule, on real layers, stage by stage.

A device holds its own layers, what its forwards saved for its backwards, and what its neighbours
sent; nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import torch
from torch import nn

from shardwise._checks import written
from shardwise._graphs import recording_gradients, without_history
from shardwise._tensors import dense_tensor
from shardwise.ledger import Recorder
from shardwise.pipeline.costs import whole_schedule

if TYPE_CHECKING:
    from shardwise.pipeline.schedules import Cell, Op

Loss: TypeAlias = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Head: TypeAlias = Callable[[int, torch.Tensor], torch.Tensor]


@dataclass(frozen=True, slots=True, eq=False)
class PipelineRun:
    """What one run of a schedule computed.

    Attributes:
        loss: mean of the micro-batches' losses, a detached 0-d tensor.
        gradients: for each stage, the gradient of `loss` by parameter name, detached.
        peak_inflight: for each stage, the most micro-batches whose activations it held at a time.
    """

    loss: torch.Tensor
    gradients: list[dict[str, torch.Tensor]]
    peak_inflight: list[int]


class _Device:
    """One device: its stage, the gradients that it adds up, and the activations that it holds."""

    def __init__(self, stage: int, module: nn.Module, head: Head | None) -> None:
        self.stage, self.module, self.head = stage, module, head
        self.parameters = {n: p for n, p in module.named_parameters() if p.requires_grad}
        self.gradients = {n: torch.zeros_like(p) for n, p in self.parameters.items()}
        self.saved: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self.peak = 0

    def forward(self, microbatch: int, message: torch.Tensor) -> torch.Tensor:
        """Run the layers, keep what the backward needs, and return what to send."""
        received = message.detach()
        if self.stage > 0:
            received.requires_grad_()  # its gradient is what goes back
        # The copy is this device's memory: layers that work in place change nothing elsewhere.
        output = self.module(received.clone())
        if not isinstance(output, torch.Tensor) or not output.is_floating_point():
            kind = getattr(output, "dtype", type(output).__name__)
            raise TypeError(
                f"stages[{self.stage}] returned {kind}: a stage returns one tensor of a float dtype"
            )
        if self.head is not None:
            output = self.head(microbatch, output)
        self.saved[microbatch] = received, output
        self.peak = max(self.peak, len(self.saved))
        return output.detach()

    def backward(self, microbatch: int, message: torch.Tensor) -> torch.Tensor:
        """Free the micro-batch, add to the gradients, and return what to send back."""
        received, output = self.saved.pop(microbatch)
        wanted: list[torch.Tensor] = list(self.parameters.values())
        if self.stage > 0:
            wanted.append(received)
        found = [torch.zeros_like(tensor) for tensor in wanted]
        if wanted and output.requires_grad:
            found = list(torch.autograd.grad(output, wanted, message, materialize_grads=True))
        for total, part in zip(self.gradients.values(), found, strict=False):
            total.add_(part)
        return found[-1] if self.stage > 0 else message


def _check_stages(stages: Sequence[nn.Module], num_stages: int) -> list[nn.Module]:
    """Return the modules, or say why they are not the stages of the schedule."""
    if not isinstance(stages, (list, tuple, nn.ModuleList, nn.Sequential)):
        raise TypeError(f"stages must be a list of torch.nn.Module, not {type(stages).__name__}")
    for stage, module in enumerate(stages):
        if not isinstance(module, nn.Module):
            raise TypeError(
                f"stages[{stage}]={written(module)} must be a torch.nn.Module: put layers "
                "into torch.nn.Sequential"
            )
        for name, parameter in module.named_parameters(prefix=f"stages[{stage}]"):
            if dense_tensor(name, parameter).is_inference():
                raise ValueError(f"{name} was made in inference mode: make the module outside")
    if len(stages) != num_stages:
        raise ValueError(
            f"stages has {len(stages)} modules and cells has {num_stages} stages: give one module "
            "for each stage of the schedule"
        )
    return list(stages)


def check_batch(batch: int, num_microbatches: int) -> None:
    """Say why a batch has no equal micro-batches, where it has none.

    >>> check_batch(12, 4)
    """
    if batch == 0 or batch % num_microbatches:
        larger = (batch // num_microbatches + 1) * num_microbatches
        raise ValueError(
            f"batch={batch} can't be cut into num_microbatches={num_microbatches} equal parts, and "
            "a mean of unequal parts' means is not the batch's mean: use a multiple of "
            f"{num_microbatches}, such as {larger}, or a number of micro-batches that divides it"
        )


def _microbatches(
    inputs: torch.Tensor, targets: torch.Tensor, count: int
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return M micro-batches (batch/M, …) of inputs and of targets, or say why there are none."""
    for name, tensor in (("inputs", inputs), ("targets", targets)):
        if dense_tensor(name, tensor).ndim == 0:
            raise ValueError(f"{name} is 0-d: give samples along a first dimension")
    batch = inputs.shape[0]
    if targets.shape[0] != batch:
        raise ValueError(
            f"targets has {targets.shape[0]} samples and inputs has {batch}: give one for each"
        )
    check_batch(batch, count)
    inputs, targets = without_history(inputs), without_history(targets)
    return list(inputs.tensor_split(count)), list(targets.tensor_split(count))


def _head(loss: Loss, targets: list[torch.Tensor]) -> Head:
    """Return what the last device does after its layers: the loss of a micro-batch."""
    if not callable(loss):
        raise TypeError(f"loss={written(loss)} must be a function of output and target")

    def head(microbatch: int, output: torch.Tensor) -> torch.Tensor:
        value = loss(output, targets[microbatch])
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            kind = getattr(value, "dtype", type(value).__name__)
            raise TypeError(f"loss returned {kind}: it must return a 0-d float tensor")
        if value.ndim:
            raise ValueError(
                f"loss returned shape {tuple(value.shape)}: it must return the mean over the "
                "samples, a 0-d tensor"
            )
        return value

    return head


def run_schedule(
    stages: Sequence[nn.Module],
    inputs: torch.Tensor,
    targets: torch.Tensor,
    loss: Loss,
    cells: Iterable[Cell],
) -> PipelineRun:
    """Execute a schedule on real layers: every cell, in time order, on the device of its stage.

    The mean loss of a batch is the mean of its M equal micro-batches' losses, so each backward
    starts from 1/M and every device adds up its gradients. Up to the order of additions they are
    those of one device with the whole batch, if samples do not influence one another (those of a
    BatchNorm do) and layers draw no random numbers.

    An active ledger records every message: op "send_forward" or "send_backward", the micro-batch
    as chunk, and as step the number of the instant at which it leaves.

    Args:
        stages: P modules; each maps one tensor to one tensor of a float dtype. Their `.grad` is
            left alone. A parameter of two stages gets a part of its gradient in each: add them.
        inputs: (batch, …), of any dtype that stage 0 takes.
        targets: (batch, …).
        loss: maps output and target of a micro-batch to the *mean* over its samples, 0-d.
        cells: a whole schedule, as `pipeline_schedule` returns it, or one of your own.

    Returns:
        Loss, gradients, and the peak of activations that each device really held.

    Raises:
        TypeError: if an argument, or what a stage or the loss returns, has the wrong type.
        ValueError: if the cells are no valid schedule of these stages, the batch is no multiple
            of M, or the loss is not 0-d.

    Example:
        >>> from shardwise.pipeline.schedules import pipeline_schedule
        >>> stages = [nn.Linear(3, 3), nn.Linear(3, 1)]
        >>> run = run_schedule(stages, torch.ones(8, 3), torch.ones(8, 1), nn.MSELoss(),
        ...                    pipeline_schedule(2, 4, "1f1b"))
        >>> run.peak_inflight, list(run.gradients[1]), run.gradients[1]["weight"].shape
        ([2, 1], ['weight', 'bias'], torch.Size([1, 3]))

    Source: Huang et al., "GPipe", arXiv:1811.06965, section 2.2.
    """
    ordered, num_stages, count = whole_schedule(cells)
    modules = _check_stages(stages, num_stages)
    with recording_gradients():
        parts, target_parts = _microbatches(inputs, targets, count)
        heads = [None] * (num_stages - 1) + [_head(loss, target_parts)]
        devices = [_Device(s, module, heads[s]) for s, module in enumerate(modules)]
        mean_loss = torch.stack(_execute(ordered, devices, parts)).mean()
    return PipelineRun(
        loss=mean_loss,
        gradients=[device.gradients for device in devices],
        peak_inflight=[device.peak for device in devices],
    )


def _execute(
    ordered: list[Cell], devices: list[_Device], parts: list[torch.Tensor]
) -> list[torch.Tensor]:
    """Run the cells, carry the messages, and return the losses."""
    recorder, step, left = Recorder("run_schedule"), -1, None
    mail: dict[tuple[Op, int, int], torch.Tensor] = {("F", 0, m): x for m, x in enumerate(parts)}
    losses: list[torch.Tensor] = []
    for cell in ordered:
        device, m = devices[cell.stage], cell.microbatch
        work = device.forward if cell.op == "F" else device.backward
        message = work(m, mail.pop((cell.op, cell.stage, m)))
        receiver = cell.stage + (1 if cell.op == "F" else -1)
        if receiver == len(devices):
            losses.append(message)
            mail["B", cell.stage, m] = torch.full_like(message, 1 / len(parts))
        elif receiver >= 0:
            step, left = step + (cell.end != left), cell.end
            op = "send_forward" if cell.op == "F" else "send_backward"
            recorder.note(
                op, step, source=cell.stage, destination=receiver, chunk=m, message=message
            )
            mail[cell.op, receiver, m] = message
    return losses
