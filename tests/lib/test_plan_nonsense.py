"""Nonsense given to the planner never gets a number."""

from __future__ import annotations

import math
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction

import pytest

from shardwise.plan import (
    Choices,
    Mesh,
    Model,
    explain,
    gpt_params,
    llama_model,
    mesh_memory,
    mesh_problems,
    plan,
)
from shardwise.plan import step_time as time_module
from shardwise.plan.hardware import A100_80GB, Cluster, Device, dgx_a100, dgx_h100
from shardwise.plan.layer_activations import layer_activation_bytes
from shardwise.plan.mesh_search import candidate_meshes
from shardwise.plan.step_time import Link, group_link, neighbour_link, step_time, training_seconds

SHAPE = {"layers": 4, "hidden": 8, "num_heads": 4, "vocab": 10, "seq_len": 16}
MODEL, CLUSTER, MESH, LINK = Model(**SHAPE), dgx_a100(1), Mesh(data=8), Link(1e-6, 1e9)
ASK = {"model": MODEL, "cluster": CLUSTER, "mesh": MESH, "global_batch": 8}
PLAN = {"model": MODEL, "cluster": CLUSTER, "global_batch": 8}
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
    time_module.ring_pass_seconds: ("num_devices",),
    time_module.all_reduce_seconds: ("num_devices",),
    training_seconds: ("num_devices",),
    mesh_problems: ("global_batch",),
    mesh_memory: ("global_batch",),
    explain: ("global_batch",),
    step_time: ("global_batch",),
    plan: ("global_batch",),
    candidate_meshes: ("global_batch",),
}
REAL = {
    Device: ("peak_flops", "memory_bytes", "efficiency"),
    Cluster: ("intra_bandwidth", "inter_bandwidth", "intra_latency", "inter_latency"),
    Link: ("latency", "bandwidth"),
    time_module.send_seconds: ("num_bytes",),
    time_module.ring_pass_seconds: ("num_bytes",),
    time_module.all_reduce_seconds: ("num_bytes",),
    time_module.exposed_seconds: ("communication", "computation", "overlap"),
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
    time_module.send_seconds: ("link",),
    time_module.ring_pass_seconds: ("link",),
    time_module.all_reduce_seconds: ("link",),
    training_seconds: ("recompute",),
    mesh_problems: ("model", "cluster", "mesh"),
    mesh_memory: ("model", "mesh", "recipe"),
    explain: ("model", "cluster", "mesh", "recipe"),
    step_time: ("model", "cluster", "mesh", "recipe"),
    plan: ("model", "cluster", "recipe", "choices"),
    candidate_meshes: ("model", "cluster", "choices"),
}
WORKING = {
    Model: {**SHAPE, "kv_heads": 2, "d_ff": 16},
    Mesh: {},
    Device: {"name": "d", "peak_flops": 1e12, "memory_bytes": 1e9},
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
    time_module.send_seconds: {"num_bytes": 1, "link": LINK},
    time_module.ring_pass_seconds: {"num_bytes": 1, "num_devices": 2, "link": LINK},
    time_module.all_reduce_seconds: {"num_bytes": 1, "num_devices": 2, "link": LINK},
    time_module.exposed_seconds: {"communication": 1, "computation": 1},
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
    for wrong in (-1, -1e-9, math.nan, math.inf, -math.inf, 10**400):
        with pytest.raises(ValueError, match=name):
            call(function, **{**WORKING[function], name: wrong})


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (Device, "peak_flops"),
        (Device, "memory_bytes"),
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


@pytest.mark.parametrize(
    ("function", "name"),
    [(Device, "efficiency"), (step_time, "overlap"), (time_module.exposed_seconds, "overlap")],
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
    ],
)
def test_what_does_not_exist_is_refused_by_name(function, name, wrong):
    with pytest.raises(ValueError, match=name.removesuffix("s")):
        function(**{**WORKING[function], name: wrong})


def test_numbers_of_other_kinds_give_the_same_floats():
    exact = Device("d", peak_flops=Fraction(10**12), memory_bytes=10**9, efficiency=Fraction(1, 2))
    assert exact == Device("d", 1e12, 1e9, 0.5)
    assert all(type(value) is float for value in (exact.peak_flops, exact.memory_bytes))
    assert type(step_time(**ASK, overlap=Fraction(1, 2)).total) is float
