"""Pipeline parallelism: stages of layers, micro-batches, and the gradient of one device."""

from __future__ import annotations

from shardwise.pipeline.bubble import (
    bubble_fraction,
    bubble_fraction_exact,
    microbatches_for_bubble,
    schedule_bubble_fraction,
)
from shardwise.pipeline.costs import (
    peak_inflight_microbatches,
    peak_inflight_per_stage,
    schedule_makespan,
)
from shardwise.pipeline.exactness import GradientMatch, gradient_match
from shardwise.pipeline.partition import partition_layers
from shardwise.pipeline.run import PipelineRun, run_schedule
from shardwise.pipeline.schedules import Cell, Policy, Time, pipeline_schedule

__all__ = [
    "Cell",
    "GradientMatch",
    "PipelineRun",
    "Policy",
    "Time",
    "bubble_fraction",
    "bubble_fraction_exact",
    "gradient_match",
    "microbatches_for_bubble",
    "partition_layers",
    "peak_inflight_microbatches",
    "peak_inflight_per_stage",
    "pipeline_schedule",
    "run_schedule",
    "schedule_bubble_fraction",
    "schedule_makespan",
]
