"""Nonsense given to the planner never gets a number."""

from __future__ import annotations

import math
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise.plan import (
    A100_80GB,
    Choices,
    Cluster,
    Device,
    Link,
    Mesh,
    Model,
    all_reduce_seconds,
    candidate_meshes,
    dgx_a100,
    dgx_h100,
    explain,
    exposed_seconds,
    gpt_params,
    group_link,
    layer_activation_bytes,
    llama_model,
    mesh_memory,
    mesh_problems,
    neighbour_link,
    plan,
    plan_table,
    ring_pass_seconds,
    send_seconds,
    step_time,
    training_seconds,
)

SHAPE = {"layers": 4, "hidden": 8, "num_heads": 4, "vocab": 10, "seq_len": 16}
MODEL, CLUSTER, MESH, LINK = Model(**SHAPE), dgx_a100(1), Mesh(data=8), Link(1e-6, 1e9)
ASK = {"model": MODEL, "cluster": CLUSTER, "mesh": MESH, "global_batch": 8}
PLAN = {"model": MODEL, "cluster": CLUSTER, "global_batch": 8}
PLANS = plan(**PLAN, choices=Choices(recomputations=("none",), zero_stages=(1,)))
GROUP = {"cluster": CLUSTER, "num_devices": 4, "stride": 1}

WHOLE = {
    Model: ("layers", "hidden", "num_heads", "vocab", "seq_len", "kv_heads", "d_ff"),
    Mesh: ("data", "tensor", "pipeline", "context", "zero_stage", "micro_batch", "chunks"),
    Cluster: ("num_devices", "devices_per_node"),
    dgx_a100: ("num_nodes",),
    dgx_h100: ("num_nodes",),
    gpt_params: ("layers", "hidden", "vocab", "seq_len"),
    llama_model: (*SHAPE, "kv_heads", "d_ff"),
    layer_activation_bytes: ("tokens", "tensor"),
    group_link: ("num_devices", "stride"),
    neighbour_link: ("num_devices", "stride"),
    ring_pass_seconds: ("num_devices",),
    all_reduce_seconds: ("num_devices",),
    training_seconds: ("num_devices",),
    mesh_problems: ("global_batch",),
    mesh_memory: ("global_batch",),
    explain: ("global_batch",),
    step_time: ("global_batch",),
    plan: ("global_batch",),
    candidate_meshes: ("global_batch",),
    plan_table: ("limit",),
}
REAL = {
    Device: ("peak_flops", "memory_bytes", "memory_bandwidth", "efficiency"),
    Cluster: ("intra_bandwidth", "inter_bandwidth", "intra_latency", "inter_latency"),
    Link: ("latency", "bandwidth"),
    send_seconds: ("num_bytes",),
    ring_pass_seconds: ("num_bytes",),
    all_reduce_seconds: ("num_bytes",),
    exposed_seconds: ("communication", "computation", "overlap"),
    training_seconds: ("num_tokens", "num_params", "flops_per_device"),
    step_time: ("overlap",),
    plan: ("overlap", "reserved_bytes"),
    explain: ("reserved_bytes",),
}
OTHER = {
    Model: ("gated", "biases", "learned_positions", "tied", "dropout", "flash_attention"),
    Mesh: ("sequence_parallel", "recompute"),
    Device: ("name",),
    Cluster: ("device",),
    Choices: tuple(field.name for field in fields(Choices)),
    layer_activation_bytes: ("model", "sequence_parallel", "recompute"),
    group_link: ("cluster",),
    neighbour_link: ("cluster",),
    send_seconds: ("link",),
    ring_pass_seconds: ("link",),
    all_reduce_seconds: ("link",),
    training_seconds: ("recompute",),
    mesh_problems: ("model", "cluster", "mesh"),
    mesh_memory: ("model", "mesh", "recipe"),
    explain: ("model", "cluster", "mesh", "recipe"),
    step_time: ("model", "cluster", "mesh", "recipe"),
    plan: ("model", "cluster", "recipe", "choices"),
    candidate_meshes: ("model", "cluster", "choices"),
    plan_table: ("plans", "show", "distinct"),
}
WORKING = {
    Model: {**SHAPE, "kv_heads": 2, "d_ff": 16},
    Mesh: {},
    Device: {"name": "d", "peak_flops": 1e12, "memory_bytes": 1e9, "memory_bandwidth": 1e9},
    Cluster: {
        "num_devices": 8,
        "device": A100_80GB,
        "devices_per_node": 4,
        "intra_bandwidth": 1e9,
        "inter_bandwidth": 1e9,
    },
    Choices: {},
    Link: {"latency": 0.0, "bandwidth": 1.0},
    dgx_a100: {"num_nodes": 1},
    dgx_h100: {"num_nodes": 1},
    gpt_params: {key: SHAPE[key] for key in ("layers", "hidden", "vocab", "seq_len")},
    llama_model: {**SHAPE, "kv_heads": 2, "d_ff": 16},
    layer_activation_bytes: {"model": MODEL, "tokens": 16, "tensor": 2},
    group_link: GROUP,
    neighbour_link: GROUP,
    send_seconds: {"num_bytes": 1, "link": LINK},
    ring_pass_seconds: {"num_bytes": 1, "num_devices": 2, "link": LINK},
    all_reduce_seconds: {"num_bytes": 1, "num_devices": 2, "link": LINK},
    exposed_seconds: {"communication": 1, "computation": 1},
    training_seconds: {
        "num_tokens": 1,
        "num_params": 1,
        "num_devices": 1,
        "flops_per_device": 1,
    },
    mesh_problems: ASK,
    mesh_memory: {key: ASK[key] for key in ("model", "mesh", "global_batch")},
    explain: ASK,
    step_time: ASK,
    plan: PLAN,
    candidate_meshes: {**PLAN, "choices": Choices()},
    plan_table: {"plans": PLANS},
}
ZERO_IS_FINE = {"zero_stage"}
NONE_IS_FINE = {"kv_heads", "d_ff", "choices", "context", "micro_batches"}


def call(function, **arguments):
    result = function(**arguments)
    return list(result) if function is candidate_meshes else result


def cases(table):
    return pytest.mark.parametrize(
        ("function", "name"),
        [(function, name) for function, names in table.items() for name in names],
        ids=lambda value: getattr(value, "__name__", value),
    )


@pytest.mark.parametrize("function", WORKING, ids=lambda function: function.__name__)
def test_the_call_that_is_spoiled_works(function):
    call(function, **WORKING[function])


@cases(WHOLE)
def test_sizes_are_integers_in_range(function, name):
    wrong_types = [2.0, True, "2", [2], Fraction(2), Decimal(2), 2j, object()]
    if not (name in NONE_IS_FINE and function is Model):
        wrong_types.append(None)
    for wrong in wrong_types:
        with pytest.raises(TypeError, match=name):
            call(function, **{**WORKING[function], name: wrong})
    for wrong in (-1, 10**30, *(() if name in ZERO_IS_FINE else (0,))):
        with pytest.raises(ValueError, match=f"{name}={wrong}"):
            call(function, **{**WORKING[function], name: wrong})


@cases(REAL)
def test_rates_are_finite_numbers_in_range(function, name):
    for wrong in (None, True, "2", [2], Decimal(2), 2j):
        with pytest.raises(TypeError, match=name):
            call(function, **{**WORKING[function], name: wrong})
    for wrong in (
        -1,
        -1e-9,
        math.nan,
        math.inf,
        -math.inf,
        1e31,
        1.7e308,
        10**400,
        Fraction(10**31),
    ):
        with pytest.raises(ValueError, match=name):
            call(function, **{**WORKING[function], name: wrong})


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (Device, "peak_flops"),
        (Device, "memory_bytes"),
        (Device, "memory_bandwidth"),
        (Device, "efficiency"),
        (Cluster, "intra_bandwidth"),
        (Link, "bandwidth"),
        (training_seconds, "flops_per_device"),
    ],
)
def test_nothing_happens_at_no_rate(function, name):
    for zero in (0, 0.0, Fraction(0)):
        with pytest.raises(ValueError, match=f"{name}=0.* must be above 0"):
            function(**{**WORKING[function], name: zero})


def test_no_rate_is_so_low_that_time_would_have_no_end():
    for wrong in (1e-31, 5e-324, Fraction(1, 10**40)):
        with pytest.raises(ValueError, match=r"bandwidth=.* is out of range: give at least 1e-30"):
            Link(0.0, wrong)
    assert send_seconds(1e30, Link(1e30, 1e-30)) < math.inf
    assert training_seconds(1e30, 1e30, 1, 1e-30) < math.inf


@pytest.mark.parametrize(
    ("function", "name"),
    [(Device, "efficiency"), (step_time, "overlap"), (exposed_seconds, "overlap")],
)
def test_shares_are_at_most_one(function, name):
    with pytest.raises(ValueError, match=f"{name}=1.5 is a share"):
        function(**{**WORKING[function], name: 1.5})
    assert function(**{**WORKING[function], name: 1}) is not None


@cases(OTHER)
def test_objects_and_flags_are_what_they_should_be(function, name):
    wrongs = [7, 2.5, [1], object()]
    if name not in NONE_IS_FINE:
        wrongs.append(None)
    for wrong in wrongs:
        with pytest.raises(TypeError, match=name):
            call(function, **{**WORKING[function], name: wrong})


@pytest.mark.parametrize(
    ("function", "name", "wrong"),
    [
        (Mesh, "zero_stage", 4),
        (Mesh, "recompute", "some"),
        (layer_activation_bytes, "recompute", ""),
        (Choices, "zero_stages", (4,)),
        (Choices, "zero_stages", ()),
        (Choices, "recomputations", ("some",)),
        (Choices, "chunks", (0,)),
        (Choices, "context", ()),
        (Choices, "micro_batches", (-1,)),
        (Model, "num_heads", 3),
        (Model, "kv_heads", 3),
        (Cluster, "num_devices", 6),
        (step_time, "recipe", "1+1+1"),
        (plan, "recipe", "1+1+1"),
        (plan_table, "show", "all"),
        (plan_table, "distinct", ("tensors",)),
    ],
)
def test_what_does_not_exist_is_refused_by_name(function, name, wrong):
    with pytest.raises(ValueError, match=name.removesuffix("s")):
        function(**{**WORKING[function], name: wrong})


def test_numbers_of_other_kinds_give_the_same_floats():
    half = Fraction(1, 2)
    exact = Device("d", Fraction(10**12), 10**9, memory_bandwidth=10**9, efficiency=half)
    assert exact == Device("d", 1e12, 1e9, 1e9, 0.5)
    for name in REAL[Device]:
        assert type(getattr(exact, name)) is float
    assert type(step_time(**ASK, overlap=half).total) is float


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64])
def test_integers_of_numpy_give_the_same_plans_and_never_overflow(kind):
    shape = {name: kind(number) for name, number in {**SHAPE, "kv_heads": 2, "d_ff": 100}.items()}
    model = Model(**shape)
    assert model == Model(**{name: int(number) for name, number in shape.items()})
    assert all(type(getattr(model, name)) is int for name in shape)
    cluster = Cluster(kind(16), A100_80GB, kind(8), 1e9, 1e9)
    assert type(cluster.num_devices) is type(cluster.devices_per_node) is int
    mesh = Mesh(data=kind(16), zero_stage=kind(1))
    assert type(mesh.data) is type(mesh.zero_stage) is int
    batch = kind(112)
    few = {"choices": Choices(recomputations=("none",), chunks=(1, 2), zero_stages=(1,))}
    plans = plan(model, cluster, global_batch=batch, **few)
    assert plans == plan(model, cluster, global_batch=112, **few) != []
    ask = {"model": model, "cluster": cluster, "mesh": mesh}
    assert step_time(**ask, global_batch=batch) == step_time(**ask, global_batch=112)
    assert explain(**ask, global_batch=batch) == ()
    assert group_link(dgx_a100(40), kind(40), kind(8)) == group_link(dgx_a100(40), 40, 8)
    assert neighbour_link(dgx_a100(40), kind(40), kind(8)) == neighbour_link(dgx_a100(40), 40, 8)
    options = Choices(zero_stages=(kind(1),), chunks=(kind(1),), context=(kind(1),))
    for each in candidate_meshes(model, cluster, global_batch=batch, choices=options):
        assert type(each.zero_stage) is type(each.chunks) is type(each.micro_batch) is int


def test_what_is_no_plan_is_in_no_table():
    with pytest.raises(TypeError, match="each of plans=7 must be a Plan"):
        plan_table([7])
    assert plan_table(PLANS, limit=1).count("\n") == 2


@settings(max_examples=30, deadline=None)
@given(
    st.fixed_dictionaries(
        {
            "layers": st.sampled_from([1, 2, 96, 10**6, 10**9]),
            "hidden": st.sampled_from([1, 4, 12288, 10**9]),
            "vocab": st.sampled_from([1, 51200, 10**9]),
            "seq_len": st.sampled_from([1, 2, 2048, 10**9]),
        }
    ),
    st.sampled_from([1, 2, 8, 100_000]),
    st.sampled_from([1, 3, 8, 10**9]),
    st.sampled_from([1e-30, 1.0, 1e15, 1e30]),
)
def test_extremes_are_refused_or_give_finite_numbers(shape, devices, batch, rate):
    model = Model(num_heads=1, **shape)
    device = Device("d", peak_flops=rate, memory_bytes=1e30, memory_bandwidth=rate)
    cluster = Cluster(devices, device, min(devices, 8), rate, rate, 0.0, 0.0)
    options = Choices(micro_batches=(1,), zero_stages=(0, 3), chunks=(1,), context=(1, 2))
    plans = plan(model, cluster, global_batch=batch, choices=options)
    for each in plans:
        numbers = [*each.memory.parts.values(), *each.time.parts.values()]
        assert all(0 <= number < math.inf for number in numbers)
        assert 0 < each.time.mfu <= each.time.hfu <= device.efficiency * (1 + 1e-9)
        assert each.time.tokens_per_second > 0
    if batch == devices == 1:
        assert plans
