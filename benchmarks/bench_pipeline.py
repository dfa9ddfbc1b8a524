"""Time and memory of pipeline schedules, and what executing one costs over plain accumulation.

Run from the repository's root: `python benchmarks/bench_pipeline.py`. One thread; each time is
CPU time, the median of several rounds, and ratios are medians of ratios taken within one round.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
import tracemalloc
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import nn

from shardwise.pipeline import (
    partition_layers,
    peak_inflight_per_stage,
    pipeline_schedule,
    run_schedule,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from shardwise.pipeline.schedules import Policy

POLICIES: tuple[Policy, ...] = ("gpipe", "1f1b")
ROUNDS = 7


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of `work`, garbage of earlier rounds aside."""
    gc.collect()
    begin = time.process_time()
    work()
    return time.process_time() - begin


def peak_mib(work: Callable[[], object]) -> float:
    """Return the peak of Python memory that `work` allocates."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def bench_schedules() -> None:
    """Schedule 64 stages and 1024 micro-batches: under a second is the target."""
    write("64 stages x 1024 micro-batches, 131072 cells", "median s", "worst s", "peak MiB")
    for policy in POLICIES:
        for latency in (0, 0.25):
            work = partial(pipeline_schedule, 64, 1024, policy, backward_cost=2, latency=latency)
            spent = [seconds(work) for _ in range(ROUNDS)]
            row = statistics.median(spent), max(spent), peak_mib(work)
            write(f"  {policy}, latency {latency}", *(f"{value:.2f}" for value in row))
    cells = pipeline_schedule(64, 1024, "1f1b")
    spent = [seconds(partial(peak_inflight_per_stage, cells)) for _ in range(ROUNDS)]
    write(
        "  peak_inflight_per_stage of these", f"{statistics.median(spent):.2f}", f"{max(spent):.2f}"
    )


def accumulate(model: nn.Module, x: torch.Tensor, y: torch.Tensor, count: int) -> None:
    """Gradient accumulation on one device: the work of a pipeline without the pipeline."""
    parameters = list(model.parameters())
    total = [torch.zeros_like(p) for p in parameters]
    for part, target in zip(x.tensor_split(count), y.tensor_split(count), strict=True):
        loss = nn.functional.mse_loss(model(part), target) / count
        for sums, part_of_it in zip(total, torch.autograd.grad(loss, parameters), strict=True):
            sums.add_(part_of_it)


def bench_runs() -> None:
    """Execute schedules on 8 layers of width 512 over 4 stages, against plain accumulation."""
    num_stages, count, width, batch = 4, 16, 512, 1024
    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(width, width), nn.GELU()) for _ in range(8)]
    stages = [nn.Sequential(*(layers[i] for i in part)) for part in partition_layers(8, num_stages)]
    x, y = torch.randn(2, batch, width)
    model, loss = nn.Sequential(*layers), nn.functional.mse_loss
    write("run_schedule, 4 stages, 16 micro-batches of 64 x 512", "median s", "x accumulation")
    for policy in POLICIES:
        cells = pipeline_schedule(num_stages, count, policy)
        spent, ratios = [], []
        for _ in range(ROUNDS):
            alone = seconds(partial(accumulate, model, x, y, count))
            spent.append(seconds(partial(run_schedule, stages, x, y, loss, cells)))
            ratios.append(spent[-1] / alone)
        row = statistics.median(spent), statistics.median(ratios)
        write(f"  {policy}", *(f"{value:.3f}" for value in row))


def write(title: str, *columns: str) -> None:
    """Write one row of a table."""
    sys.stdout.write(f"{title:<56}" + "".join(f"{column:>16}" for column in columns) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    bench_schedules()
    bench_runs()
