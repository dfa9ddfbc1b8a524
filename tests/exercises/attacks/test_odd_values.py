"""Whatever a function returns or sends, it is the student's fault and none of the check."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from shardwise.distributed import ring_all_reduce
from shardwise_grading.results import FAULT
from shardwise_grading.runner import load, run

PARTS = {
    ("all_reduce_mean", "all_reduce_mean"): 10,
    ("stage_2_memory", "stage2_bytes"): 8,
    ("stage_2_memory", "partition_table"): 2,
    ("gradient_accumulation", "equal"): 7,
    ("gradient_accumulation", "unequal"): 3,
    ("row_parallel", "my_row_parallel"): 10,
    ("microbatches", "min_microbatches"): 10,
}
NUMBERS = [None, True, -1, 10**5000, float("nan"), float("inf"), -0.0, 5e-324]
NUMBERS += [Fraction(1, 3), Fraction(10**5000, 3), Fraction(1, 10**5000)]
OTHERS = ["", "\ud800", "x" * 10**5, [], (), {}, [None], [[[]]], {"weights": [1]}, {1: "x"}]
DTYPES = [torch.float64, torch.bfloat16, torch.complex64, torch.int64, torch.uint8, torch.bool]
TENSORS = [
    torch.zeros(shape).to(dtype) for shape in [(), (0,), (2,), (2, 3), (3, 4)] for dtype in DTYPES
]
TENSORS += [
    torch.full((3, 4), float("nan")),
    torch.ones(3, 4).to_sparse(),
    torch.ones(2, device="meta"),
]
LISTS = [[tensor] * n for tensor in TENSORS for n in (1, 2)] + [[TENSORS[0], None]]
VALUES = NUMBERS + OTHERS + TENSORS + LISTS


def faults(report):
    return [result.message for result in report.results if result.message.startswith(FAULT)]


@pytest.mark.parametrize("part", PARTS, ids="-".join)
def test_odd_results_are_no_fault_of_the_check(hidden_folder, part):
    module = load(part[0])
    for value in VALUES:
        handed_in = value if part[1] == "partition_table" else lambda *_, value=value: value
        assert faults(run(module, part[1], handed_in, points=PARTS[part])) == [], value


@pytest.mark.parametrize(
    "part", [part for part in PARTS if part[0] in ("all_reduce_mean", "row_parallel")], ids="-".join
)
def test_odd_messages_are_no_fault_of_the_check(hidden_folder, part):
    module = load(part[0])
    for value in TENSORS:

        def sends(*args, value=value):
            devices = args[2] if len(args) > 2 else len(args[0])
            sums = ring_all_reduce([value] * devices)
            return sums[0] if len(args) > 2 else sums

        assert faults(run(module, part[1], sends, points=PARTS[part])) == [], value
