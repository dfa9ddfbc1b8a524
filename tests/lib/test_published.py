"""Values that papers and projects print, against the functions that should reproduce them."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path

import pytest

from shardwise.communication import zero_communication_elements
from shardwise.memory import training_memory_bytes, zero_memory_per_device
from shardwise.memory.activations import activation_bytes

PUBLISHED = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))
FUNCTIONS = {
    function.__name__: function
    for function in (
        activation_bytes,
        training_memory_bytes,
        zero_communication_elements,
        zero_memory_per_device,
    )
}


def by_id(kind):
    entries = PUBLISHED[kind]
    return pytest.mark.parametrize("entry", entries, ids=[entry["id"] for entry in entries])


@by_id("direct")
def test_direct(entry):
    got = FUNCTIONS[entry["function"]](**entry["arguments"])
    if "part" in entry:
        got = got[entry["part"]]
    # sources round and truncate by turns, so one unit of the last printed digit is allowed
    assert abs(got * entry["scale"] - entry["value"]) < entry["last_digit"]


@by_id("largest_model")
def test_largest_model(entry):
    per_param = zero_memory_per_device(10**9, entry["num_devices"], entry["stage"]) / 10**9
    alone = entry["gpu_bytes"] / per_param / 1e9
    # the paper rounds the row of one device and multiplies it for the others, and prints 2048 as 2T
    printed = round(alone, 1) * entry["model_parallel"]
    unit = 1000 if entry["value"] >= 1000 else 1
    assert round(printed / unit, 1) == entry["value"] / unit


@by_id("activation_ratios")
def test_activation_ratios(entry):
    everything = activation_bytes(**entry["arguments"])
    without_scores = activation_bytes(**entry["arguments"], recompute="selective")
    if entry["unit"] == "%":
        got = Fraction(100 * (everything - without_scores), everything)
    else:
        got = Fraction(34 * (everything - without_scores), without_scores)
    assert abs(got - entry["value"]) < Fraction(1, 2)


FORMULAS = {
    "act_tp": lambda s, b, h, a, t: s * b * h * (10 + Fraction(24, t) + Fraction(5 * a * s, h * t)),
    "act_tp_sp": lambda s, b, h, a, t: s * b * h * (Fraction(34, t) + Fraction(5 * a * s, h * t)),
    "act_tp_sp_selective": lambda s, b, h, _, t: s * b * h * Fraction(34, t),
}


@by_id("activation_formulas")
def test_activation_formulas(entry):
    formula = FORMULAS[entry["id"]]
    for s, b, a, t, layers in itertools.product((64, 2048), (1, 3), (8, 16), (1, 2, 8), (1, 5)):
        h = 64 * a
        got = activation_bytes(
            seq_len=s,
            micro_batch=b,
            hidden=h,
            num_heads=a,
            num_layers=layers,
            tensor_parallel=t,
            **entry["options"],
        )
        assert got == layers * formula(s, b, h, a, t)
        assert type(got) is int


# --- which test holds which published value

COVERAGE = json.loads(Path(__file__).with_name("published_coverage.json").read_text("utf-8"))


@pytest.mark.parametrize("known", sorted(COVERAGE["tested"]))
def test_each_published_value_has_the_tests_that_the_list_names(known):
    for name in COVERAGE["tested"][known]:
        module, _, function = name.partition("::")
        source = Path(__file__).with_name(module).read_text(encoding="utf-8")
        assert f"def {function}(" in source


def test_no_published_value_is_in_the_data_but_not_in_the_list():
    listed = {**COVERAGE["tested"], **COVERAGE["untested"]}
    assert len(listed) == len(COVERAGE["tested"]) + len(COVERAGE["untested"]) == 161
    for data in ("published.json", "published_pipeline.json"):
        text = json.loads(Path(__file__).with_name(data).read_text("utf-8"))
        ids = {entry["id"] for entries in text.values() for entry in entries}
        assert ids <= set(COVERAGE["tested"])
