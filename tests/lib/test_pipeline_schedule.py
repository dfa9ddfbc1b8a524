"""Schedules against a slow time-slot simulation, a checker of every rule, and papers."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise.pipeline import (
    bubble_fraction,
    bubble_fraction_exact,
    partition_layers,
    peak_inflight_per_stage,
    pipeline_schedule,
    schedule_bubble_fraction,
    schedule_makespan,
)

PUBLISHED = json.loads(
    Path(__file__).with_name("published_pipeline.json").read_text(encoding="utf-8")
)
POLICIES = ["gpipe", "1f1b"]
SHAPES = [(p, m) for p in (1, 2, 3, 5, 8) for m in (1, 2, 3, 4, 7, 8, 20)]
stages = st.integers(1, 7)
microbatches = st.integers(1, 9)
policies = st.sampled_from(POLICIES)


def by_id(kind):
    entries = PUBLISHED[kind]
    return pytest.mark.parametrize("entry", entries, ids=[entry["id"] for entry in entries])


def slot_by_slot(num_stages, num_microbatches, policy, forward, backward, latency):
    """Look at every stage in every slot, and let each follow its policy's rule. Integers ≥ 1 only.

    The rule is what a stage knows of itself: GPipe takes forwards while any remain; 1F1B takes a
    forward while any remain and fewer than min(M, P - s) are in flight. Otherwise a backward. If
    the message for that one is not there yet, the stage waits.
    """
    started = {}  # (op, stage, microbatch) -> start
    busy_until = [0] * num_stages
    counts = [{"F": 0, "B": 0} for _ in range(num_stages)]

    def arrived(op, stage, m, now):
        source = stage - 1 if op == "F" else stage + 1
        if not 0 <= source < num_stages:
            return True
        if (op, source, m) not in started:
            return False
        cost = (forward if op == "F" else backward)[source]
        return started[op, source, m] + cost + latency[min(stage, source)] <= now

    for now in itertools.count():
        if len(started) == 2 * num_stages * num_microbatches:
            break
        for stage, count in enumerate(counts):
            in_flight = count["F"] - count["B"]
            cap = math.inf if policy == "gpipe" else min(num_microbatches, num_stages - stage)
            op = "F" if count["F"] < num_microbatches and in_flight < cap else "B"
            m = count[op]
            free = busy_until[stage] <= now
            if free and m < num_microbatches and arrived(op, stage, m, now):
                started[op, stage, m] = now
                busy_until[stage] = now + (forward if op == "F" else backward)[stage]
                count[op] += 1
    return started


def broken_rules(cells, num_stages, num_microbatches, forward, backward, latency):
    """Check each cell of a finished schedule against all others, in time order; name what is wrong.

    Times may be floats: they are compared with the very sums that a cell's start is made of.
    """
    end = {(c.op, c.stage, c.microbatch): c.end for c in cells}
    free, wrong = [0] * num_stages, []
    if len(end) != len(cells) or len(cells) != 2 * num_stages * num_microbatches:
        wrong.append("not each cell once")
    for c in cells:
        bounds = [free[c.stage]]
        if c.op == "F" and c.stage > 0:
            bounds.append(end["F", c.stage - 1, c.microbatch] + latency[c.stage - 1])
        if c.op == "B":
            bounds.append(end["F", c.stage, c.microbatch])
        if c.op == "B" and c.stage < num_stages - 1:
            bounds.append(end["B", c.stage + 1, c.microbatch] + latency[c.stage])
        if c.start < max(bounds):
            wrong.append(f"{c} too early")
        if c.start > max(bounds):
            wrong.append(f"{c} later than it could")
        if c.end != c.start + (forward if c.op == "F" else backward)[c.stage]:
            wrong.append(f"{c} of the wrong length")
        free[c.stage] = c.end
    if [c.start for c in cells] != sorted(c.start for c in cells):
        wrong.append("not in time order")
    return wrong


@given(stages, microbatches, policies, st.data())
@settings(deadline=None, max_examples=100)
def test_schedules_are_those_of_a_slot_by_slot_simulation(p, m, policy, data):
    forward = data.draw(st.lists(st.integers(1, 5), min_size=p, max_size=p))
    backward = data.draw(st.lists(st.integers(1, 5), min_size=p, max_size=p))
    latency = data.draw(st.lists(st.integers(0, 4), min_size=p - 1, max_size=p - 1))
    cells = pipeline_schedule(
        p, m, policy, forward_cost=forward, backward_cost=backward, latency=latency
    )
    slow = slot_by_slot(p, m, policy, forward, backward, latency)
    assert {(c.op, c.stage, c.microbatch): c.start for c in cells} == slow
    assert len(cells) == len(slow)
    assert [(c.start, c.stage) for c in cells] == sorted((c.start, c.stage) for c in cells)


costs = st.one_of(
    st.integers(0, 10**20),
    st.floats(0, 1e9),
    st.fractions(0, 100, max_denominator=97),
)


@given(stages, microbatches, policies, st.data())
@settings(deadline=None, max_examples=100)
def test_no_schedule_of_any_costs_breaks_a_rule_or_waits_in_vain(p, m, policy, data):
    def draw(count):
        uniform = data.draw(st.booleans())
        return data.draw(costs if uniform else st.lists(costs, min_size=count, max_size=count))

    def spread(cost, count):
        return cost if isinstance(cost, list) else [cost] * count

    given_costs = [draw(p), draw(p), draw(p - 1)]
    cells = pipeline_schedule(
        p,
        m,
        policy,
        forward_cost=given_costs[0],
        backward_cost=given_costs[1],
        latency=given_costs[2],
    )
    lists = [spread(given_costs[0], p), spread(given_costs[1], p), spread(given_costs[2], p - 1)]
    kinds = {type(cost) for row in lists for cost in row}
    kind = float if float in kinds else Fraction if Fraction in kinds else int
    forward, backward, latency = ([kind(cost) for cost in row] for row in lists)
    assert {type(time) for c in cells for time in (c.start, c.end)} == {kind}
    assert broken_rules(cells, p, m, forward, backward, latency) == []
    cap = [m if policy == "gpipe" else min(m, p - s) for s in range(p)]
    assert peak_inflight_per_stage(cells) == cap
    assert schedule_makespan(cells) == max(c.end for c in cells)


@given(stages, microbatches, policies, st.integers(1, 7), st.integers(1, 7), st.integers(0, 7))
@settings(deadline=None)
def test_the_unit_of_time_does_not_matter(p, m, policy, forward, backward, latency):
    def times(unit):
        cells = pipeline_schedule(
            p,
            m,
            policy,
            forward_cost=forward * unit,
            backward_cost=backward * unit,
            latency=latency * unit,
        )
        return [(c.op, c.stage, c.microbatch, c.start / unit, c.end / unit) for c in cells]

    assert times(1) == times(Fraction(1, 3)) == times(0.125) == times(10**9)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("p", "m"), SHAPES)
@pytest.mark.parametrize(("forward", "backward"), [(1, 1), (1, 2), (3, 1), (0, 1), (2, 0)])
def test_equal_stages_need_the_closed_form(p, m, policy, forward, backward):
    cells = pipeline_schedule(p, m, policy, forward_cost=forward, backward_cost=backward)
    assert schedule_makespan(cells) == (m + p - 1) * (forward + backward)
    for definition in ("makespan", "ideal"):
        counted = schedule_bubble_fraction(cells, definition)
        assert counted == bubble_fraction(p, m, definition)


@pytest.mark.parametrize(("p", "m"), SHAPES)
def test_latency_costs_gpipe_one_trip_there_and_back(p, m):
    cells = pipeline_schedule(p, m, "gpipe", backward_cost=2, latency=7)
    assert schedule_makespan(cells) == 3 * (m + p - 1) + 2 * (p - 1) * 7


def test_latency_is_hidden_by_gpipe_and_exposed_by_1f1b():
    def makespan(policy, latency):
        cells = pipeline_schedule(8, 32, policy, backward_cost=2, latency=latency)
        return schedule_makespan(cells)

    assert (makespan("gpipe", 0.25), makespan("1f1b", 0.25)) == (120.5, 134.0)
    assert makespan("gpipe", 0) == makespan("1f1b", 0) == 117


def test_a_slow_stage_sets_the_pace():
    cells = pipeline_schedule(4, 100, "1f1b", forward_cost=[1, 1, 3, 1], backward_cost=[1, 1, 3, 1])
    slowest = [c for c in cells if c.stage == 2]
    assert sum(c.end - c.start for c in slowest) == 600
    assert 600 < schedule_makespan(cells) < 612


def test_a_slow_link_counts_on_that_link_only():
    cells = pipeline_schedule(3, 1, latency=[10, 0])
    assert [(c.stage, c.op, c.start) for c in cells] == [
        (0, "F", 0),
        (1, "F", 11),
        (2, "F", 12),
        (2, "B", 13),
        (1, "B", 14),
        (0, "B", 25),
    ]


def test_a_small_1f1b_schedule_written_out():
    cells = pipeline_schedule(num_stages=2, num_microbatches=3, policy="1f1b")
    drawn = [[" "] * 8 for _ in range(2)]
    for c in cells:
        drawn[c.stage][c.start] = f"{c.op}{c.microbatch}"
    assert [" ".join(row) for row in drawn] == ["F0 F1   B0 F2 B1   B2", "  F0 B0 F1 B1 F2 B2  "]


@by_id("simulated")
def test_published_simulations(entry):
    keys = ("forward_cost", "backward_cost", "latency")
    cells = pipeline_schedule(
        entry["stages"], entry["microbatches"], entry["policy"], **{k: entry[k] for k in keys}
    )
    busy = sum(c.end - c.start for c in cells if c.stage == 0)
    assert schedule_makespan(cells) == entry["value"]
    assert (busy, entry["value"] - busy) == (entry["busy"], entry["idle"])
    assert max(peak_inflight_per_stage(cells)) == entry["peak_inflight"]


@by_id("bubbles")
def test_published_bubbles(entry):
    shape = entry["stages"], entry["microbatches"]
    got = bubble_fraction(*shape, definition=entry["definition"])
    assert round(got, entry["digits"]) == entry["value"]
    assert schedule_bubble_fraction(pipeline_schedule(*shape), entry["definition"]) == got


FORMULAS = {
    "(K-1)/(M+K-1)": lambda p, m: Fraction(p - 1, m + p - 1),
    "(p-1)/(m+p-1)": lambda p, m: Fraction(p - 1, m + p - 1),
    "(p-1)/m": lambda p, m: Fraction(p - 1, m),
}


@by_id("formulas")
def test_published_formulas(entry):
    for p, m in SHAPES:
        expected = FORMULAS[entry["formula"]](p, m)
        assert bubble_fraction_exact(p, m, entry["definition"]) == expected
        assert bubble_fraction(p, m, entry["definition"]) == float(expected)


@by_id("idle_time")
def test_published_idle_time(entry):
    assert entry["formula"] == "(p-1)(TF+TB+TW)"
    for (p, m), (tf, tb, tw) in itertools.product(SHAPES, [(1, 1, 1), (2, 3, 1)]):
        cells = pipeline_schedule(p, m, "1f1b", forward_cost=tf, backward_cost=tb + tw)
        for stage in range(p):
            busy = sum(c.end - c.start for c in cells if c.stage == stage)
            assert schedule_makespan(cells) - busy == (p - 1) * (tf + tb + tw)


@by_id("inflight")
def test_published_inflight(entry):
    assert entry["formula"] == "min(m,p-s)"
    for p, m in SHAPES:
        got = peak_inflight_per_stage(pipeline_schedule(p, m, "1f1b"))
        assert got == [min(m, p - s) for s in range(p)]


@by_id("rules")
def test_published_rules(entry):
    bubbles = [bubble_fraction(p, entry["value"] * p) for p in (2, 4, 8, 16, 1024)]
    assert bubbles == sorted(bubbles)
    assert bubbles[-1] < entry["largest_bubble"]
    assert [round(100 * b, 1) for b in bubbles[:4]] == [11.1, 15.8, 17.9, 19.0]


@given(st.integers(1, 60), st.data())
def test_partitions_are_consecutive_and_even(num_stages, data):
    num_layers = data.draw(st.integers(num_stages, 300))
    parts = partition_layers(num_layers, num_stages)
    assert [layer for part in parts for layer in part] == list(range(num_layers))
    sizes = [len(part) for part in parts]
    assert len(sizes) == num_stages
    assert max(sizes) - min(sizes) <= 1
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("policy", POLICIES)
def test_64_stages_and_1024_microbatches(policy):
    cells = pipeline_schedule(64, 1024, policy, backward_cost=2)
    assert len(cells) == 2 * 64 * 1024
    assert schedule_makespan(cells) == 3 * (1024 + 63)
