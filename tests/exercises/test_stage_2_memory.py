"""Exercise 2, beside what every exercise is tested for: messages, inputs and tolerance."""
# ruff: noqa: ARG005  (a mutant may well ignore an argument)

from __future__ import annotations

import math
import re
from fractions import Fraction

import nbformat
import pytest
from support import ROOT

from shardwise_grading.mutants import read_known
from shardwise_grading.runner import run

NOTEBOOK = ROOT / "exercises/source/distributed-training/2-stage-2-memory.ipynb"
FUNCTION, PARTITION = read_known(ROOT / "tests/exercises/known/stage_2_memory.py")
MUTANTS, TABLE = FUNCTION.wrong, PARTITION.right["as asked"]


def refuse(psi, n):
    if psi < 0 or n < 1:
        raise ValueError("a model has 0 parameters or more, and at least 1 device")


def right(psi, n):
    return 2 * psi + 14 * psi / n


def in_fractions(psi, n):
    refuse(psi, n)
    return 2 * psi + Fraction(14 * psi, n)


def test_a_wrong_value_of_any_size_is_named_as_such(stage_2_checks):
    for value in (10**5000, Fraction(10**5000, 3)):
        report = run(stage_2_checks, "stage2_bytes", lambda psi, n, v=value: v, points=8)
        assert all("returned" in result.message for result in report.results)


def test_an_endless_loop_costs_only_the_properties_that_meet_it(stage_2_checks, monkeypatch):
    def endless_without_parameters(psi, n):
        refuse(psi, n)
        while psi == 0:
            pass
        return right(psi, n)

    monkeypatch.setattr(stage_2_checks, "SECONDS", 0.2, raising=False)
    report = run(stage_2_checks, "stage2_bytes", endless_without_parameters, points=8)
    (failed,) = (result for result in report.results if not result.passed)
    assert failed.property == "a model without parameters needs no memory"
    assert failed.message == "stage2_bytes(0, 2) did not return within 0.2 s; expected 0"


@pytest.mark.parametrize(
    ("mutant", "property_start"),
    [
        ("refuses a single device", "a single device"),
        ("an empty model costs a byte", "a model without parameters"),
        ("saving stops at 1024 devices", "approaches 2 bytes"),
        ("lets n = 0 divide", "ValueError"),
    ],
)
def test_a_narrow_mistake_fails_only_where_it_is(mutant, property_start, stage_2_checks):
    failed = [
        result.property
        for result in run(stage_2_checks, "stage2_bytes", MUTANTS[mutant], points=8).results
        if not result.passed
    ]
    assert len(failed) == 1
    assert failed[0].startswith(property_start)


def test_a_message_names_the_smallest_failing_input_with_got_and_expected(stage_2_checks):
    report = run(stage_2_checks, "stage2_bytes", MUTANTS["whole bytes, rounded down"], points=8)
    failed = {result.property: result.message for result in report.results if not result.passed}
    assert (
        failed["equals the exact value for every model and number of devices"]
        == "stage2_bytes(1, 3) returned 6; expected 20/3 = 6.666666666666667"
    )


def test_a_table_message_does_not_give_the_answer_away(stage_2_checks):
    report = run(stage_2_checks, "partition_table", TABLE | {"momentum": "sharded"}, points=2)
    assert 'partition["momentum"]' in str(report)
    report = run(stage_2_checks, "partition_table", TABLE | {"momentum": "replicated"}, points=2)
    assert '"partitioned"' not in str(report)


def inputs_asked_for(checks, seed):
    asked = []

    def spy(psi, n):
        asked.append((psi, n))
        return in_fractions(psi, n)

    run(checks, "stage2_bytes", spy, points=8, seed=seed)
    return asked


def test_the_seed_decides_the_inputs(stage_2_checks):
    assert inputs_asked_for(stage_2_checks, "a") == inputs_asked_for(stage_2_checks, "a")
    assert inputs_asked_for(stage_2_checks, "a") != inputs_asked_for(stage_2_checks, "b")


def test_the_specified_inputs_are_asked_for_with_any_seed(stage_2_checks):
    asked = inputs_asked_for(stage_2_checks, "b")
    assert any(psi == 10**15 + 1 for psi, _ in asked)
    assert max(psi for psi, _ in asked) == 10**300
    assert any(psi == 0 for psi, _ in asked)
    assert any(n == 1 for _, n in asked)


def test_the_notebook_works_another_stage_than_the_one_it_asks_for():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    shown = "\n".join(
        re.sub(r"### BEGIN SOLUTION.*?### END SOLUTION", "", cell.source, flags=re.DOTALL)
        for cell in notebook.cells
    )
    assert "Stage 1 cuts only" in shown
    assert not re.search(r"\b14\b", shown)  # the bytes that stage 2 cuts
    assert "`int` from 0 to `10**300`" in shown


def test_two_units_in_the_last_place_are_the_tolerance(stage_2_checks):
    def off_by(ulps):
        def stage2_bytes(psi, n):
            refuse(psi, n)
            exact = in_fractions(psi, n)
            return exact + ulps * Fraction(math.ulp(float(exact)))

        return run(stage_2_checks, "stage2_bytes", stage2_bytes, points=8).score

    assert off_by(2) == off_by(-2) == 8
    assert off_by(Fraction(21, 10)) == 1  # the refusals


@pytest.mark.parametrize("seed", range(12))
def test_partial_credit_does_not_depend_on_the_seed(seed, stage_2_checks):
    floor = MUTANTS["whole bytes, rounded down"]
    assert run(stage_2_checks, "stage2_bytes", floor, points=8, seed=str(seed)).score == 3
