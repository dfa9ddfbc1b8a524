"""No function of numbers answers nonsense with a number."""

from __future__ import annotations

import inspect
import math
from decimal import Decimal
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise import communication
from shardwise.memory import (
    activations,
    budget,
    fewest_devices,
    training_memory_bytes,
    zero_memory_per_device,
    zero_memory_per_device_exact,
)
from shardwise.memory.activations import activation_bytes
from shardwise.memory.recipes import Recipe

# A call that works, for every function of numbers; each test spoils one argument of it.
ZERO = {"psi": 100, "num_devices": 4, "stage": 2}
RING = {"num_bytes": 100, "num_devices": 4}
WORKING = {
    "training_memory_bytes": {"num_params": 100, "recipe": "2+2+12"},
    "zero_memory_breakdown": {**ZERO, "recipe": "2+2+12"},
    "zero_memory_breakdown_exact": {**ZERO, "recipe": "2+2+12"},
    "zero_memory_per_device": {**ZERO, "recipe": "2+2+12"},
    "zero_memory_per_device_exact": {**ZERO, "recipe": "2+2+12"},
    "zero_communication_elements": ZERO,
    "zero_communication_elements_exact": ZERO,
    "ring_all_reduce_bytes": RING,
    "ring_all_reduce_bytes_exact": RING,
    "fewest_devices": {
        "psi": 100,
        "stage": 3,
        "gpu_bytes": 1000,
        "recipe": "2+2+12",
        "reserved_bytes": 1,
    },
    "activation_bytes": {
        "seq_len": 16,
        "micro_batch": 1,
        "hidden": 32,
        "num_heads": 4,
        "num_layers": 2,
        "tensor_parallel": 2,
        "sequence_parallel": True,
        "recompute": "none",
    },
}
FUNCTIONS = {
    name: function
    for module in (budget, communication, activations)
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__ and not name.startswith("_")
}
CASES = [(name, argument) for name, working in WORKING.items() for argument in working]
REALS = {"gpu_bytes", "reserved_bytes"}  # any finite number of at least 0
WRITTEN_AS_FLOATS = {"psi", "num_params", "num_bytes", *REALS}
ZERO_IS_FINE = {*WRITTEN_AS_FLOATS, "stage", "num_layers"}

never_numbers = [
    None,
    "4",
    "",
    b"4",
    1j,
    [],
    [4],
    (4,),
    {},
    {4},
    range(4),
    object(),
    int,
    Decimal(4),
    torch.tensor(4),
    torch.ones(2, 2),
]
never_allowed = [-1, -(10**30), -0.5, -1e300, math.nan, math.inf, -math.inf]
junk = st.one_of(
    st.none(),
    st.text("0123456789 -.e"),  # no name of a recipe
    st.binary(),
    st.complex_numbers(),
    st.lists(st.integers()),
    st.tuples(st.floats()),
    st.dictionaries(st.text(), st.integers()),
    st.integers(max_value=-1),
    st.floats(max_value=-1e-300),
    st.sampled_from([math.nan, math.inf]),
    st.decimals(),
)


def call(name, **changes):
    return FUNCTIONS[name](**{**WORKING[name], **changes})


def refuse(name, argument, value):
    with pytest.raises((TypeError, ValueError), match=rf"^{argument}="):
        call(name, **{argument: value})


def test_every_function_of_numbers_is_covered():
    assert set(FUNCTIONS) == set(WORKING)
    for name, working in WORKING.items():
        assert set(working) == set(inspect.signature(FUNCTIONS[name]).parameters)
        assert call(name) is not None


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_nonsense_is_refused_by_name(name, argument):
    for value in [*never_numbers, *never_allowed]:
        refuse(name, argument, value)


@pytest.mark.parametrize(("name", "argument"), CASES)
@settings(deadline=None, max_examples=30)
@given(value=junk)
def test_random_nonsense_is_refused_by_name(name, argument, value):
    refuse(name, argument, value)


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_a_bool_is_no_number_and_a_number_no_bool(name, argument):
    for value in (0, 1) if argument == "sequence_parallel" else (False, True):
        refuse(name, argument, value)


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_fractions_are_for_amounts_only(name, argument):
    if argument in REALS:
        assert call(name, **{argument: 0.5}) == call(name, **{argument: Fraction(1, 2)})
    else:
        refuse(name, argument, 1.5)


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_zero_is_a_size_but_no_number_of_devices(name, argument):
    if argument in ZERO_IS_FINE:
        call(name, **{argument: 0})
    else:
        refuse(name, argument, 0)


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_counts_of_things_are_not_written_as_floats(name, argument):
    working = WORKING[name][argument]
    if argument in WRITTEN_AS_FLOATS:
        assert call(name, **{argument: float(working)}) == call(name)
    elif type(working) is int:
        with pytest.raises(TypeError, match=rf"^{argument}=.* must be an int, not float"):
            call(name, **{argument: float(working)})


def test_stages_and_names_outside_the_lists():
    with pytest.raises(ValueError, match="stage=4 is out of range: give an integer from 0 to 3"):
        zero_memory_per_device(1, 1, 4)
    with pytest.raises(ValueError, match=r"recipe='16' is unknown: choose from 2\+2\+12, "):
        training_memory_bytes(1, recipe="16")
    with pytest.raises(ValueError, match="recompute='all' is unknown: choose from none, "):
        activation_bytes(seq_len=1, micro_batch=1, hidden=1, num_heads=1, recompute="all")
    with pytest.raises(ValueError, match=r"psi=0\.5 must be a whole number: round it"):
        fewest_devices(0.5, 3, 80e9)


def test_recipes_of_ones_own_are_checked():
    for value in (-1, True, 2.0, "2", None):
        for part in ("params", "grads", "optimizer"):
            parts = {"params": 2, "grads": 2, "optimizer": 12, part: value}
            with pytest.raises((TypeError, ValueError), match=f"^{part}="):
                Recipe("mine", description="", **parts)
    for name, description in ((None, ""), ("mine", 3)):
        with pytest.raises(TypeError, match=r"^(name|description)=.* must be a str"):
            Recipe(name, 2, 2, 12, description)


def test_numbers_too_long_to_write_are_refused_by_name_too():
    """Python writes no integer of more than 4300 digits."""
    for name, argument in CASES:
        if argument in {"recipe", "sequence_parallel", "recompute"}:
            continue
        for value in (-(10**5000), Fraction(10**5000, 3), [10**5000]):
            if not (argument in REALS and value == Fraction(10**5000, 3)):
                refuse(name, argument, value)
    refuse("activation_bytes", "num_heads", 10**5000)
    refuse("activation_bytes", "tensor_parallel", 10**5000)


def test_a_recipe_counts_in_python_s_integers():
    numpy = pytest.importorskip("numpy")
    recipe = Recipe("mine", numpy.int8(100), numpy.int8(100), numpy.int8(100), "would overflow")
    assert recipe.bytes_per_param == 300
    assert training_memory_bytes(10**20, recipe=recipe)["total"] == 300 * 10**20


def test_a_result_beyond_floats_names_the_exact_form():
    huge = 10**400
    for name, key in (
        ("zero_memory_per_device", "psi"),
        ("zero_memory_breakdown", "psi"),
        ("zero_communication_elements", "psi"),
        ("ring_all_reduce_bytes", "num_bytes"),
    ):
        with pytest.raises(ValueError, match=f"too large for a float: use {name}_exact"):
            call(name, **{key: huge})
        assert call(f"{name}_exact", **{key: huge})
    assert zero_memory_per_device_exact(huge, 2, 3) == 8 * huge
