"""No function of the pipeline answers nonsense with a number; errors name the argument."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from shardwise import pipeline
from shardwise.pipeline import (
    Cell,
    microbatches_for_bubble,
    peak_inflight_per_stage,
    pipeline_schedule,
    run_schedule,
    schedule_bubble_fraction,
    schedule_makespan,
)
from shardwise.pipeline.costs import whole_schedule

CELLS = pipeline_schedule(2, 2)
SHAPE = {"num_stages": 2, "num_microbatches": 4}
COSTS = {"forward_cost": 1, "backward_cost": 2, "latency": 0.5}
MATCH = {"num_layers": 2, "width": 2, "batch": 4, **SHAPE, "policy": "1f1b", "seed": 0}
RUN = {
    "stages": [nn.Linear(2, 2), nn.Linear(2, 1)],
    "inputs": torch.ones(4, 2),
    "targets": torch.ones(4, 1),
    "loss": nn.MSELoss(),
    "cells": CELLS,
}
# A call that works, for every public function; each test spoils one argument of it.
WORKING = {
    "partition_layers": {"num_layers": 4, "num_stages": 2},
    "pipeline_schedule": {**SHAPE, "policy": "gpipe", **COSTS},
    "bubble_fraction": {**SHAPE, "definition": "ideal"},
    "bubble_fraction_exact": {**SHAPE, "definition": "ideal"},
    "microbatches_for_bubble": {"num_stages": 2, "target": 0.1},
    "schedule_makespan": {"cells": CELLS},
    "schedule_bubble_fraction": {"cells": CELLS, "definition": "ideal"},
    "peak_inflight_microbatches": {"cells": CELLS},
    "peak_inflight_per_stage": {"cells": CELLS},
    "gradient_match": MATCH,
    "run_schedule": RUN,
}
CASES = [(name, argument) for name, working in WORKING.items() for argument in working]
NEVER = [
    None,
    "",
    "4",
    b"gpipe",
    True,
    False,
    1j,
    {},
    {"F": 1},
    object(),
    int,
    Decimal("NaN"),
    Decimal("sNaN"),
    torch.tensor(True),
    math.nan,
    math.inf,
    -math.inf,
    -1,
    -(10**30),
    -0.5,
    Fraction(-1, 3),
    [-1, 1],
    [math.nan, 1],
    ["1", 1],
    [True, 1],
    [[1], [1]],
    [1, 1, 1, 1, 1],
    [],
    [*CELLS[:-1], "F"],
]
junk = st.one_of(
    st.none(),
    st.booleans(),
    st.text("0123456789 -.e"),
    st.binary(),
    st.complex_numbers(),
    st.lists(st.text()),
    st.tuples(st.floats(max_value=-1e-300), st.integers()),
    st.dictionaries(st.text(), st.integers()),
    st.integers(max_value=-1),
    st.floats(max_value=-1e-300),
    st.decimals(allow_nan=True, max_value=Decimal(-1)),
)


def call(name, **changes):
    return getattr(pipeline, name)(**{**WORKING[name], **changes})


def test_every_public_function_is_covered():
    functions = {n for n in pipeline.__all__ if n[0].islower()}
    assert functions == set(WORKING)
    for name in WORKING:
        assert call(name) is not None


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_nonsense_is_refused(name, argument):
    for value in NEVER:
        if argument == "loss" and value is int:
            continue  # a function like any other, until it is called
        with pytest.raises((TypeError, ValueError), match=argument):
            call(name, **{argument: value})


@pytest.mark.parametrize(("name", "argument"), CASES)
@settings(deadline=None, max_examples=30)
@given(value=junk)
def test_random_nonsense_is_refused(name, argument, value):
    with pytest.raises((TypeError, ValueError), match=argument):
        call(name, **{argument: value})


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_zero_is_a_cost_and_a_seed_but_no_count(name, argument):
    if argument in {*COSTS, "seed"}:
        assert call(name, **{argument: 0})
    else:
        with pytest.raises((TypeError, ValueError), match=argument):
            call(name, **{argument: 0})


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_counts_are_not_written_as_floats(name, argument):
    if type(WORKING[name][argument]) is int and argument not in COSTS:
        with pytest.raises(TypeError, match=rf"^{argument}=.* must be an int, not float"):
            call(name, **{argument: 4.0})


def test_remedies_of_schedules():
    with pytest.raises(ValueError, match=r"num_stages=5 is more than num_layers=4: .*at most 4"):
        call("partition_layers", num_stages=5)
    with pytest.raises(ValueError, match="policy='zb' is unknown: choose from gpipe, 1f1b"):
        call("pipeline_schedule", policy="zb")
    with pytest.raises(TypeError, match="policy=1 must be one of gpipe, 1f1b"):
        call("pipeline_schedule", policy=1)
    with pytest.raises(ValueError, match="definition='x' is unknown: choose from makespan, ideal"):
        call("bubble_fraction", definition="x")
    with pytest.raises(ValueError, match="forward_cost has 3 values: give 2, one for each stage"):
        call("pipeline_schedule", forward_cost=[1, 2, 3])
    with pytest.raises(ValueError, match="latency has 2 values: give 1, one for each link betw"):
        call("pipeline_schedule", latency=(1, 2))
    with pytest.raises(ValueError, match=r"backward_cost\[1\]=-2 must not be negative"):
        call("pipeline_schedule", backward_cost=[1, -2])
    with pytest.raises(ValueError, match="more than 10000000 cells: use the closed forms"):
        call("pipeline_schedule", num_microbatches=10**9)


def test_numbers_that_python_does_not_write_are_refused_by_name():
    huge = 10**5000
    with pytest.raises(ValueError, match=r"num_layers=\(of over 4300 digits\) is out of range"):
        call("partition_layers", num_layers=huge)
    with pytest.raises(
        ValueError, match=r"num_stages=\(of over 4300 digits\) is more than num_lay"
    ):
        call("partition_layers", num_stages=huge)
    with pytest.raises(
        ValueError, match=r"num_microbatches=\(of over 4300 digits\) need more than"
    ):
        call("pipeline_schedule", num_microbatches=huge)
    with pytest.raises(ValueError, match=r"^target=.*Fraction.* must be above 0"):
        microbatches_for_bubble(4, Fraction(huge))
    with pytest.raises(ValueError, match=r"end=1 is before start=\(of over 4300 digits\): swap"):
        Cell(0, 0, "F", huge, 1)


def test_lists_of_more_layers_than_memory_holds_are_refused():
    with pytest.raises(ValueError, match="num_layers=10000001 is out of range: give an integer fr"):
        call("partition_layers", num_layers=10_000_001)
    with pytest.raises(ValueError, match="num_layers=10000000000 is out of range"):
        call("gradient_match", num_layers=10**10)


def test_costs_beyond_floats_are_refused():
    for cost in (1e308, [1, 1e308]):
        with pytest.raises(ValueError, match="more than a float holds: give them in a larger unit"):
            call("pipeline_schedule", forward_cost=cost)
    with pytest.raises(ValueError, match="all of them as int or Fraction"):
        call("pipeline_schedule", forward_cost=10**400)
    huge = call("pipeline_schedule", forward_cost=10**400, latency=1)
    assert schedule_makespan(huge) > 10**400


def test_targets_outside_their_range():
    for target in (0, 0.0, -0.1, 1.1, 1.0000001, math.nan, Decimal("NaN"), Decimal("0E-99999999")):
        with pytest.raises(ValueError, match=r"^target=.* must be above 0"):
            microbatches_for_bubble(4, target)
    for target in (Decimal("1E-1001"), Decimal("1E-999999999999999999")):
        with pytest.raises(ValueError, match="too small for any pipeline: give at least 1E-1000"):
            microbatches_for_bubble(4, target)
    for target in ("0.1", True, None, [0.1], 1j, torch.tensor(0.1)):
        with pytest.raises(TypeError, match=r"^target=.* must be a number"):
            microbatches_for_bubble(4, target)


@pytest.mark.parametrize("function", [schedule_makespan, peak_inflight_per_stage, whole_schedule])
def test_lists_that_are_no_cells(function):
    with pytest.raises(ValueError, match="cells is empty"):
        function([])
    for cells in (None, 4, CELLS[0], torch.tensor(4)):
        with pytest.raises(TypeError, match=r"^cells=.* must be a list of Cell"):
            function(cells)
    with pytest.raises(TypeError, match=r"^cells\[1\]=\(0, 0, 'F', 0, 1\) must be a Cell"):
        function([CELLS[0], (0, 0, "F", 0, 1)])


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("stage", [-1, True, 1.0, "0", None, math.nan]),
        ("microbatch", [-1, False, 0.0, "0", None]),
        ("op", ["W", "", "f", None, 0, ["F"], b"F"]),
        ("start", [-1, -0.5, math.nan, math.inf, True, "0", None, 1j, Decimal(1)]),
        ("end", [-1, math.nan, math.inf, True, "9", None, 1j, Decimal(9)]),
    ],
)
def test_cells_that_no_schedule_can_hold(field, values):
    good = {"stage": 0, "microbatch": 0, "op": "F", "start": 1, "end": 2}
    assert Cell(**good).end == 2
    for value in values:
        with pytest.raises((TypeError, ValueError), match=rf"^{field}="):
            Cell(**{**good, field: value})


def test_a_cell_does_not_end_before_it_starts():
    with pytest.raises(ValueError, match="end=1 is before start=2: swap them"):
        Cell(0, 0, "F", 2, 1)
    with pytest.raises(AttributeError):
        CELLS[0].stage = 3


def test_batches_that_have_no_equal_parts():
    remedy = r"batch=10 can't be cut into num_microbatches=4 .* multiple of 4, such as 12"
    with pytest.raises(ValueError, match=remedy):
        call("gradient_match", batch=10)
    with pytest.raises(ValueError, match=r"batch=3 can't be cut .* such as 4"):
        call("gradient_match", batch=3)
    with pytest.raises(ValueError, match="batch=3 can't be cut into num_microbatches=2"):
        call("run_schedule", inputs=torch.ones(3, 2), targets=torch.ones(3, 1))
    with pytest.raises(ValueError, match="batch=0 can't be cut"):
        call("run_schedule", inputs=torch.ones(0, 2), targets=torch.ones(0, 1))
    with pytest.raises(ValueError, match="targets has 6 samples and inputs has 4: give one for"):
        call("run_schedule", targets=torch.ones(6, 1))
    for name in ("inputs", "targets"):
        with pytest.raises(ValueError, match=f"{name} is 0-d: give samples"):
            call("run_schedule", **{name: torch.tensor(1.0)})
        with pytest.raises(TypeError, match=f"{name} is sparse or nested"):
            call("run_schedule", **{name: torch.ones(4, 2).to_sparse()})


def test_parameters_that_cannot_be_trained():
    with torch.inference_mode():
        inferred = [nn.Linear(2, 2), nn.Linear(2, 1)]
    with pytest.raises(ValueError, match=r"stages\[0\].weight was made in inference mode: make"):
        call("run_schedule", stages=inferred)
    lazy = [nn.Linear(2, 2), nn.Sequential(nn.LazyLinear(1))]
    with pytest.raises(ValueError, match=r"stages\[1\].0.weight has no shape yet: run the layer"):
        call("run_schedule", stages=lazy)


class Returns(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.value = value

    def forward(self, _):
        return self.value


def test_stages_that_do_not_fit():
    first, last = RUN["stages"]
    with pytest.raises(ValueError, match="stages has 1 modules and cells has 2 stages"):
        call("run_schedule", stages=[first])
    with pytest.raises(TypeError, match=r"stages\[1\]=<built-in .* must be a torch.nn.Module"):
        call("run_schedule", stages=[first, torch.tanh])
    with pytest.raises(TypeError, match=r"stages must be a list of torch.nn.Module, not Linear"):
        call("run_schedule", stages=first)
    for value, named in ((None, "NoneType"), ((first,), "tuple"), (torch.ones(2).int(), "int32")):
        for stages in ([Returns(value), last], [first, Returns(value)]):
            with pytest.raises(TypeError, match=rf"stages\[[01]\] returned (torch\.)?{named}"):
                call("run_schedule", stages=stages)


def test_losses_that_are_no_mean():
    def run(loss):
        return run_schedule(**{**RUN, "loss": loss})

    with pytest.raises(TypeError, match="loss=None must be a function"):
        run(None)
    with pytest.raises(TypeError, match="loss returned float: it must return a 0-d float tensor"):
        run(lambda *_: 0.5)
    with pytest.raises(TypeError, match=r"loss returned torch.bool: it must"):
        run(lambda output, target: (output > target).any())
    with pytest.raises(ValueError, match=r"loss returned shape \(2, 1\): it must return the mean"):
        run(nn.MSELoss(reduction="none"))


def test_parts_of_schedules_have_no_bubble():
    with pytest.raises(ValueError, match="cells has 4 cells: 2 stages and 2 micro-batches need 8"):
        schedule_bubble_fraction([c for c in CELLS if c.op == "F"])
