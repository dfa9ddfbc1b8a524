"""Makespan, activations in flight, and the bubble: counted, in closed form, of odd schedules."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise.pipeline import (
    Cell,
    bubble_fraction,
    bubble_fraction_exact,
    microbatches_for_bubble,
    peak_inflight_microbatches,
    peak_inflight_per_stage,
    pipeline_schedule,
    schedule_bubble_fraction,
    schedule_makespan,
)
from shardwise.pipeline.costs import whole_schedule

POLICIES = ["gpipe", "1f1b"]
GOOD = pipeline_schedule(3, 2, "1f1b")


def held_at_any_time(cells, stage):
    """Look at every instant between two ends: how many micro-batches lie between F and end of B?"""
    forward = {c.microbatch: c.start for c in cells if c.stage == stage and c.op == "F"}
    backward = {c.microbatch: c.end for c in cells if c.stage == stage and c.op == "B"}
    times = sorted({t for c in cells for t in (c.start, c.end)})
    instants = [Fraction(a) + Fraction(b - a) / 2 for a, b in pairwise(times)]
    return max(sum(forward[m] < now < backward[m] for m in forward) for now in instants)


@given(
    st.integers(1, 6),
    st.integers(1, 8),
    st.sampled_from(POLICIES),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 3),
    st.randoms(use_true_random=False),
)
@settings(deadline=None, max_examples=60)
def test_costs_are_those_of_looking_at_every_instant(p, m, policy, forward, backward, lag, rnd):
    cells = pipeline_schedule(
        p, m, policy, forward_cost=forward, backward_cost=backward, latency=lag
    )
    per_stage = [held_at_any_time(cells, stage) for stage in range(p)]
    rnd.shuffle(cells)
    assert peak_inflight_per_stage(cells) == per_stage
    assert peak_inflight_microbatches(cells) == per_stage[0]
    span = schedule_makespan(iter(cells))
    assert span == max(c.end for c in cells)
    idle = p * span - p * m * (forward + backward)
    assert schedule_bubble_fraction(cells) == idle / (p * span)
    assert schedule_bubble_fraction(cells, "ideal") == idle / (p * m * (forward + backward))


def test_a_greedy_backward_first_order_holds_more_than_1f1b():
    """What a stage that never waits would hold: 2(P - s) - 1, which is why 1F1B has its cap."""
    num_stages, num_microbatches = 4, 12
    ended, free, cells = {}, [0] * num_stages, []
    for now in range(4 * (num_microbatches + num_stages)):
        fresh = []
        for stage in range(num_stages):
            for op, near in (("B", stage + 1), ("F", stage - 1)):
                ready = [
                    m
                    for m in range(num_microbatches)
                    if (op, stage, m) not in ended
                    and (op == "F" or ("F", stage, m) in ended)
                    and (not 0 <= near < num_stages or (op, near, m) in ended)
                ]
                if ready and free[stage] <= now:
                    free[stage] = now + 1
                    fresh.append(Cell(stage, ready[0], op, now, now + 1))
        cells += fresh
        ended |= {(c.op, c.stage, c.microbatch): c.end for c in fresh}
    assert peak_inflight_per_stage(cells) == [7, 5, 3, 1]
    capped = pipeline_schedule(num_stages, num_microbatches, "1f1b")
    assert peak_inflight_per_stage(capped) == [4, 3, 2, 1]
    assert schedule_makespan(cells) == schedule_makespan(capped) == 30


def test_forwards_without_backwards_are_held_for_good():
    forwards = [c for c in pipeline_schedule(3, 5) if c.op == "F"]
    assert peak_inflight_per_stage(forwards) == [5, 5, 5]
    assert schedule_makespan(forwards) == 7


def test_cells_that_take_no_time_keep_their_order():
    for policy, peaks in (("gpipe", [4, 4, 4]), ("1f1b", [3, 2, 1])):
        cells = pipeline_schedule(3, 4, policy, forward_cost=0, backward_cost=0)
        assert schedule_makespan(cells) == 0
        assert peak_inflight_per_stage(cells) == peaks
        assert whole_schedule(cells) == (cells, 3, 4)
    with pytest.raises(ValueError, match="no cell takes any time"):
        schedule_bubble_fraction(cells)


@pytest.mark.parametrize("policy", POLICIES)
def test_whole_schedules_are_put_in_time_order(policy):
    cells = pipeline_schedule(4, 6, policy, backward_cost=[2, 1, 3, 2], latency=0.5)
    shuffled = random.Random(1).sample(cells, len(cells))
    ordered, num_stages, num_microbatches = whole_schedule(shuffled)
    assert (num_stages, num_microbatches) == (4, 6)
    assert set(ordered) == set(cells)
    assert [c.end for c in ordered] == sorted(c.end for c in cells)


def moved(cells, index, by):
    c = cells[index]
    changed = Cell(c.stage, c.microbatch, c.op, c.start + by, c.end + by)
    return [*cells[:index], changed, *cells[index + 1 :]]


def test_a_cell_that_moves_forward_breaks_a_rule_and_every_cell_is_needed():
    for index, cell in enumerate(GOOD):
        if cell.start > 0:
            with pytest.raises(ValueError, match=r"starts before|no forward before it"):
                whole_schedule(moved(GOOD, index, -1))
        with pytest.raises(ValueError, match=r"cells has 11 cells|no forward before it"):
            whole_schedule([c for c in GOOD if c is not cell])
        with pytest.raises(ValueError, match="second of its kind"):
            whole_schedule([*GOOD, Cell(cell.stage, cell.microbatch, cell.op, 50, 51)])


def test_messages_have_to_leave_before_they_are_used():
    chain = [(0, "F", 0), (1, "F", 1), (1, "B", 2), (0, "B", 3)]
    cells = [Cell(stage, 0, op, start, start + 1) for stage, op, start in chain]
    assert whole_schedule(cells) == (cells, 2, 1)
    early = [*cells[:1], Cell(1, 0, "F", 0, 1), *cells[2:]]
    for wrong in (early, early[::-1]):
        with pytest.raises(ValueError, match="before its message from stage 0 has left: start it"):
            whole_schedule(wrong)
    with pytest.raises(ValueError, match="cells has none of stage 0: give the cells of every"):
        peak_inflight_per_stage(cells[1:3])
    with pytest.raises(ValueError, match="starts before stage 1 is free: start it at 2 or later"):
        peak_inflight_per_stage([*cells[:2], Cell(1, 1, "F", 1, 3), *cells[2:]])


def smallest(num_stages, target):
    """Count up until the bubble is small enough; exact."""
    m = 1
    while Fraction(num_stages - 1, m + num_stages - 1) > target:
        m += 1
    return m


@given(st.integers(1, 40), st.integers(1, 1000))
@settings(deadline=None)
def test_microbatches_are_those_of_counting_up(num_stages, thousandths):
    written = Fraction(thousandths, 1000)
    expected = smallest(num_stages, written)
    for target in (written, thousandths / 1000, Decimal(thousandths) / 1000):
        got = microbatches_for_bubble(num_stages, target)
        assert type(got) is int
        assert got == expected


def test_no_float_trap_on_a_grid():
    """The textbook formula in floats is wrong in places of this grid; the function is in none."""
    wrong = 0
    for num_stages in range(1, 65):
        for hundredths in range(1, 101):
            target = hundredths / 100
            m = microbatches_for_bubble(num_stages, target)
            exact = Fraction(hundredths, 100)
            assert bubble_fraction_exact(num_stages, m) <= exact
            assert m == 1 or bubble_fraction_exact(num_stages, m - 1) > exact
            in_floats = max(1, int(-((num_stages - 1) * (1 - target) // -target)))
            wrong += in_floats != m
    assert wrong > 0


def test_microbatches_of_other_numbers():
    assert [microbatches_for_bubble(p, t) for p, t in ((4, 0.1), (8, 0.1), (16, 0.05))] == [
        27,
        63,
        285,
    ]
    assert microbatches_for_bubble(1, 1e-300) == microbatches_for_bubble(9, 1) == 1
    assert microbatches_for_bubble(2, 5e-324) == 10**324 // 5 - 1
    assert microbatches_for_bubble(2, Decimal("1E-1000")) == 10**1000 - 1
    assert microbatches_for_bubble(10**30, Fraction(1, 3)) == 2 * (10**30 - 1)
    assert microbatches_for_bubble(np.int64(4), np.float64(0.1)) == 27
    assert microbatches_for_bubble(4, np.float32(0.1)) == 27


@given(st.integers(1, 10**9), st.integers(1, 10**9))
def test_both_bubbles_in_closed_form(p, m):
    assert bubble_fraction_exact(p, m) == Fraction(p - 1, m + p - 1)
    assert bubble_fraction(p, m) == (p - 1) / (m + p - 1)
    assert bubble_fraction(p, m, definition="ideal") == (p - 1) / m
    assert 0 <= bubble_fraction(p, m) < 1


def test_a_bubble_beyond_floats_names_the_exact_form():
    with pytest.raises(ValueError, match="too large for a float: use bubble_fraction_exact"):
        bubble_fraction(10**400, 1, "ideal")
    assert bubble_fraction_exact(10**400, 1, "ideal") == 10**400 - 1
