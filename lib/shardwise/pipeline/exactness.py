"""A pipeline's gradients are one device's: a schedule executed, and compared."""

from __future__ import annotations

import math
from typing import TypedDict

import torch
from torch import nn

from shardwise._checks import integer
from shardwise._graphs import recording_gradients
from shardwise._precision import without_autocast
from shardwise.pipeline.costs import schedule_makespan
from shardwise.pipeline.partition import partition_layers
from shardwise.pipeline.run import check_batch, run_schedule
from shardwise.pipeline.schedules import Policy, Time, pipeline_schedule


class GradientMatch(TypedDict):
    """What `gradient_match` found; see there."""

    max_rel_diff: float
    allclose: bool
    tolerance: float
    loss: float
    single_device_loss: float
    peak_inflight: list[int]
    makespan: Time


class _Residual(nn.Module):
    """y = x + tanh(x Wᵀ + b)/L: gradients neither vanish nor explode, however many layers L."""

    def __init__(self, width: int, num_layers: int, generator: torch.Generator) -> None:
        super().__init__()
        self.share = 1 / num_layers
        self.weight = nn.Parameter(_randn(width, width, generator) / math.sqrt(width))
        self.bias = nn.Parameter(_randn(1, width, generator)[0])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.share * torch.tanh(x @ self.weight.T + self.bias)  # (b, width)


def _randn(rows: int, columns: int, generator: torch.Generator) -> torch.Tensor:
    """Return random numbers that are the same whatever torch's default device is."""
    sample = torch.randn(rows, columns, generator=generator, device="cpu")
    return sample.to(torch.get_default_device())


def _relative_difference(found: list[torch.Tensor], reference: list[torch.Tensor]) -> float:
    """Return max|found - reference| / max|reference|, over all tensors together; NaN if one is."""
    one, other = (torch.cat([tensor.flatten() for tensor in side]) for side in (found, reference))
    return ((one - other).abs().max() / other.abs().max()).item()


def gradient_match(
    num_layers: int,
    width: int,
    batch: int,
    num_stages: int,
    num_microbatches: int,
    policy: Policy = "gpipe",
    *,
    seed: int = 0,
) -> GradientMatch:
    """Execute a schedule on a small model, and compare its gradients with those of one device.

    L layers y = x + tanh(x Wᵀ + b)/L are cut into P stages; `run_schedule` runs the cells of
    `pipeline_schedule` on M micro-batches with a mean squared error; one device differentiates the
    whole batch at once. Only the order of additions differs, so the difference is rounding: both
    policies give the same bits.

    Args:
        num_layers: layers L ≥ P.
        width: features of a layer ≥ 1.
        batch: samples, a multiple of M.
        num_stages: stages P ≥ 1.
        num_microbatches: micro-batches M ≥ 1.
        policy: "gpipe" or "1f1b".
        seed: of the random layers, inputs and targets; torch's own random state is left alone.

    Returns:
        "max_rel_diff": max|g - g₁| / max|g₁| over all parameters, g₁ being one device's gradient;
        "allclose": whether it is at most "tolerance", which follows from eps of torch's default
        dtype and the number of terms; "loss" and "single_device_loss"; "peak_inflight": the
        micro-batches that each stage really held at a time; "makespan" in slots.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if one is out of range, the policy is unknown, M does not divide the batch, or
            torch's default device is "meta".

    Example:
        >>> found = gradient_match(num_layers=6, width=8, batch=12, num_stages=3,
        ...                        num_microbatches=4, policy="1f1b")
        >>> found["allclose"], found["max_rel_diff"] < 1e-5, found["peak_inflight"]
        (True, True, [3, 2, 1])

    Source: Huang et al., "GPipe", arXiv:1811.06965, section 2.2 (gradients are those of the
    whole mini-batch).
    """
    partition = partition_layers(num_layers, num_stages)
    samples = integer("batch", batch, minimum=1)
    cells = pipeline_schedule(num_stages, num_microbatches, policy)
    check_batch(samples, num_microbatches)
    generator = torch.Generator("cpu").manual_seed(integer("seed", seed, maximum=2**63 - 1))
    features = integer("width", width, minimum=1)
    with recording_gradients(), without_autocast(_default_device()):
        layers = [_Residual(features, num_layers, generator) for _ in range(num_layers)]
        inputs, targets = (_randn(samples, features, generator) for _ in range(2))
        stages = [nn.Sequential(*(layers[index] for index in part)) for part in partition]
        run = run_schedule(stages, inputs, targets, nn.functional.mse_loss, cells)
        loss, reference = _one_device(layers, inputs, targets)
    found = [gradient for stage in run.gradients for gradient in stage.values()]
    worst = _relative_difference(found, reference)
    # Rounding errors of n additions grow with √n (Higham and Mary 2019); 8 leaves room for chance.
    tolerance = 8 * torch.finfo(inputs.dtype).eps * math.sqrt(samples + 2 * num_layers * features)
    return {
        "max_rel_diff": worst,
        "allclose": worst <= tolerance,
        "tolerance": tolerance,
        "loss": run.loss.item(),
        "single_device_loss": loss,
        "peak_inflight": run.peak_inflight,
        "makespan": schedule_makespan(cells),
    }


def _default_device() -> torch.device:
    device = torch.get_default_device()
    if device.type == "meta":
        raise ValueError('torch\'s default device is "meta", which has no numbers: use "cpu"')
    return device


def _one_device(
    layers: list[_Residual], inputs: torch.Tensor, targets: torch.Tensor
) -> tuple[float, list[torch.Tensor]]:
    """Return loss and gradients of the whole batch at once."""
    model = nn.Sequential(*layers)
    loss = nn.functional.mse_loss(model(inputs), targets)
    return loss.item(), list(torch.autograd.grad(loss, list(model.parameters())))
