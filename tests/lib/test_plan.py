"""Plans: shapes and memory against the library's formulas, rules, and published configurations."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise.memory import zero_memory_breakdown
from shardwise.memory.activations import RECOMPUTATIONS, activation_bytes
from shardwise.memory.recipes import RECIPES
from shardwise.plan import (
    A100_80GB,
    Choices,
    Cluster,
    Mesh,
    Model,
    Plan,
    candidate_meshes,
    dgx_a100,
    dgx_h100,
    explain,
    gpt_params,
    layer_activation_bytes,
    llama_model,
    mesh_memory,
    mesh_problems,
    plan,
    plan_table,
    step_time,
)
from shardwise.plan._stages import kept_bytes, stage_params, state_bytes

MEGATRON = {"recipe": "2+4+12"}


# --- shapes


@given(st.integers(1, 200), st.integers(1, 64), st.integers(1, 32), st.integers(1, 10**5))
def test_a_gpt_has_the_closed_form_and_its_last_norm(layers, heads, head_dim, ends):
    h = heads * head_dim
    model = Model(layers=layers, hidden=h, num_heads=heads, vocab=ends, seq_len=ends + 1)
    closed = gpt_params(layers, h, ends, ends + 1)
    assert model.num_params == closed + 2 * h
    assert model.layer_params == 12 * h**2 + 13 * h
    flops = 72 * layers * h**2 * (1 + (ends + 1) / (6 * h) + ends / (12 * layers * h))
    assert math.isclose(model.flops_per_token, flops, rel_tol=1e-12)


def test_other_shapes_count_what_they_have():
    llama = llama_model(layers=2, hidden=8, num_heads=4, kv_heads=2, d_ff=20, vocab=10, seq_len=6)
    layer = 8 * 8 * 2 + 8 * 4 * 2 + 3 * 8 * 20 + 2 * 8
    assert llama.num_params == 2 * layer + 2 * 10 * 8 + 8
    assert llama.flops_per_token == 3 * (2 * (2 * (layer - 16) + 4 * 6 * 8 / 2) + 2 * 10 * 8)
    odd = replace(llama, biases=True, learned_positions=True, tied=True)
    biases = 8 + 2 * 4 + 8 + 2 * 20 + 8 + 2 * 8
    assert odd.num_params == llama.num_params + 2 * biases + 8 + 6 * 8 - 10 * 8


def test_stages_hold_all_parameters_and_a_copy_of_what_is_tied():
    for tied in (True, False):
        model = Model(layers=7, hidden=8, num_heads=4, vocab=10, seq_len=6, tied=tied)
        assert stage_params(model, 1, 1, 0) == stage_params(model, 1, 1, -1) == model.num_params
        whole = stage_params(model, 2, 1, 0) + stage_params(model, 2, 1, -1)
        assert whole == model.num_params + (80 if tied else 0)
        split = stage_params(model, 1, 2, 0)
        kept = 7 * model.layer_vector_params + model.position_params + model.norm_params
        assert split == (model.num_params - kept) / 2 + kept


# --- memory


@given(
    st.sampled_from(RECOMPUTATIONS),
    st.booleans(),
    st.sampled_from([1, 2, 4]),
    st.integers(1, 4),
    st.integers(1, 6),
)
def test_a_gpt_keeps_the_published_activations(recompute, sequence_parallel, t, b, heads):
    s, a = 16, 4 * heads
    model = Model(layers=1, hidden=8 * a, num_heads=a, vocab=5, seq_len=s)
    published = activation_bytes(
        seq_len=s,
        micro_batch=b,
        hidden=8 * a,
        num_heads=a,
        tensor_parallel=t,
        sequence_parallel=sequence_parallel,
        recompute=recompute,
    )
    got = layer_activation_bytes(
        model, s * b, tensor=t, sequence_parallel=sequence_parallel, recompute=recompute
    )
    assert math.isclose(got, published, abs_tol=1)  # `published` is rounded down to bytes


def test_other_shapes_keep_what_their_tensors_hold():
    llama = llama_model(layers=1, hidden=8, num_heads=4, kv_heads=2, d_ff=20, vocab=10, seq_len=6)
    norms, matrices = 2 * 2 * 8, 2 * 2 * 8
    attention = 2 * (8 + 4 + 4 + 8)
    assert layer_activation_bytes(llama, 1) == norms + matrices + attention + 3 * 2 * 20
    unfused = replace(llama, flash_attention=False)
    assert layer_activation_bytes(unfused, 3) == 3 * (layer_activation_bytes(llama, 1) + 2 * 4 * 6)


@given(
    st.integers(1, 10**9), st.integers(1, 4096), st.integers(0, 3), st.sampled_from(sorted(RECIPES))
)
def test_state_is_that_of_zero(params, replicas, stage, recipe):
    expected = zero_memory_breakdown(params, replicas, stage, recipe=recipe)
    got = state_bytes(float(params), replicas, stage, RECIPES[recipe])
    for mine, part in zip(got, ("params", "grads", "optimizer"), strict=True):
        assert math.isclose(mine, expected[part], rel_tol=1e-12)


def test_memory_by_hand():
    model = Model(layers=6, hidden=8, num_heads=4, vocab=100, seq_len=16)
    layer = 12 * 64 + 13 * 8
    mesh = Mesh(data=2, pipeline=2, context=2, zero_stage=3, micro_batch=2)
    first = mesh_memory(model, mesh, global_batch=12)
    assert first.params == 2 * (3 * layer + 800 + 128) / 4
    assert first.optimizer == 6 * first.params
    assert first.gathered == 2 * 2 * layer
    assert first.activations == 3 * 2 * layer_activation_bytes(model, 16)
    assert (first.working, first.logits) == (0, 0)
    wide = replace(model, vocab=10**5)
    last = mesh_memory(wide, mesh, global_batch=12)
    assert last.logits == 4 * 16 * 10**5
    assert last.gathered == 2 * 2 * 8e5
    assert last.activations == 3 * layer_activation_bytes(model, 16)
    alone = mesh_memory(model, Mesh(zero_stage=3), global_batch=1)
    assert alone.gathered == 0
    assert alone.logits == 4 * 16 * 100
    assert alone.total == sum(getattr(alone, part) for part in alone.__slots__)


def test_recomputation_brings_one_layer_back():
    model = Model(layers=6, hidden=8, num_heads=4, vocab=100, seq_len=16)
    none, selective, full = (kept_bytes(model, 16, 1, False, kind) for kind in RECOMPUTATIONS)
    got = [mesh_memory(model, Mesh(recompute=kind), global_batch=1) for kind in RECOMPUTATIONS]
    assert [one.working for one in got] == [0, none - selective, none]
    assert [one.activations for one in got] == [6 * none, 6 * selective, 6 * full]


def test_no_memory_for_a_mesh_that_breaks_a_rule():
    model = Model(layers=2, hidden=8, num_heads=4, vocab=100, seq_len=16)
    with pytest.raises(ValueError, match="pipeline=4 is more than layers=2"):
        mesh_memory(model, Mesh(pipeline=4), global_batch=4)
    with pytest.raises(ValueError, match="global_batch=5 is no multiple of data=2"):
        Mesh(data=2).num_microbatches(5)


# --- rules

SMALL = Model(layers=4, hidden=24, num_heads=12, vocab=50, seq_len=48, kv_heads=6, d_ff=36)
NODE = Cluster(16, A100_80GB, 8, 240e9, 25e9)
ONE_WAY = Choices(zero_stages=(0,), recomputations=("none",), chunks=(1,), micro_batches=(1,))


@pytest.mark.parametrize(
    ("mesh", "batch", "words"),
    [
        (Mesh(data=8), 16, "are 8 devices, but the cluster has 16"),
        (Mesh(tensor=16), 16, "tensor=16 does not divide devices_per_node=8"),
        (Mesh(data=2, tensor=8), 16, "tensor=8 does not divide num_heads=12"),
        (Mesh(data=4, tensor=4), 16, "tensor=4 does not divide kv_heads=6"),
        (Mesh(data=2, tensor=8), 16, "tensor=8 does not divide d_ff=36"),
        (Mesh(data=2, pipeline=8), 16, "pipeline=8 is more than layers=4"),
        (Mesh(data=16, chunks=2), 16, "chunks=2 needs a pipeline"),
        (Mesh(data=4, pipeline=4, chunks=2), 16, "are 8 chunks, more than layers=4"),
        (Mesh(data=8, pipeline=2, chunks=2), 24, "3 micro-batches are no multiple of pipeline=2"),
        (Mesh(data=16), 24, "data=16 x micro_batch=1 does not divide global_batch=24"),
        (Mesh(data=8, pipeline=2, micro_batch=3), 16, "micro_batch=3 does not divide"),
        (Mesh(context=16), 16, "2 x context=16 does not divide seq_len=48"),
        (
            Mesh(tensor=2, context=8, sequence_parallel=True),
            16,
            "",
        ),
        (Mesh(data=16, recompute="selective"), 16, "the fused kernel keeps no scores anyway"),
    ],
)
def test_each_rule_is_explained(mesh, batch, words):
    model = replace(SMALL, flash_attention="fused" in words)
    problems = mesh_problems(model, NODE, mesh, global_batch=batch)
    assert explain(model, NODE, mesh, global_batch=batch) == problems
    if not words:
        assert problems == ()
        return
    assert any(words in problem for problem in problems), problems
    with pytest.raises(ValueError, match="breaks a rule"):
        step_time(model, NODE, mesh, global_batch=batch)


def test_a_split_sequence_divides_evenly():
    odd = replace(SMALL, seq_len=50)
    mesh = Mesh(data=2, tensor=4, pipeline=2, sequence_parallel=True)
    problems = mesh_problems(odd, NODE, mesh, global_batch=16)
    assert any("context=1 x tensor=4 does not divide seq_len=50" in each for each in problems)


@pytest.mark.parametrize(("context", "seq_len"), [(2, 50), (2, 6), (3, 9), (8, 24)])
def test_each_device_of_a_ring_gets_two_equal_chunks(context, seq_len):
    model = replace(SMALL, seq_len=seq_len)
    problems = mesh_problems(model, NODE, Mesh(context=context), global_batch=1)
    assert any(
        f"2 x context={context} does not divide seq_len={seq_len}" in each for each in problems
    )
    alone = mesh_problems(model, NODE, Mesh(data=16), global_batch=16)
    assert alone == ()


def test_what_fills_a_device_to_the_last_byte_fits():
    mesh = Mesh(data=16)
    needed = mesh_memory(SMALL, mesh, global_batch=16).total
    full = replace(NODE, device=replace(A100_80GB, memory_bytes=needed))
    assert mesh in {each.mesh for each in plan(SMALL, full, global_batch=16)}
    assert explain(SMALL, full, mesh, global_batch=16) == ()


def test_what_does_not_fit_is_explained_with_its_parts():
    big = Model(layers=96, hidden=12288, num_heads=96, vocab=51200, seq_len=2048)
    mesh = Mesh(data=2, tensor=8)
    (reason,) = explain(big, NODE, mesh, global_batch=16)
    needed = mesh_memory(big, mesh, global_batch=16)
    assert f"needs {needed.total / 1e9:.1f} GB" in reason
    assert f"optimizer {needed.optimizer / 1e9:.1f}" in reason
    assert "gathered" not in reason
    assert "but has 85.9" in reason
    least = mesh_memory(SMALL, Mesh(data=16), global_batch=16).total
    room = A100_80GB.memory_bytes - least
    fits = {"global_batch": 16, "reserved_bytes": room}
    assert explain(SMALL, NODE, Mesh(data=16), **fits) == ()
    assert explain(SMALL, NODE, Mesh(data=16), **{**fits, "reserved_bytes": room + 1}) != ()


# --- the search


@pytest.mark.parametrize(
    ("sizes_of_model", "choices"),
    [
        ({}, Choices(chunks=(1,))),
        ({"num_heads": 24, "kv_heads": 4, "d_ff": 6}, Choices(chunks=(1,))),
        ({}, Choices(chunks=(1, 2), sequence_parallel=False)),
        ({"layers": 1}, Choices()),
    ],
)
def test_the_search_finds_all_that_brute_force_finds(sizes_of_model, choices):
    cluster = Cluster(8, A100_80GB, 4, 240e9, 25e9)
    model = replace(SMALL, **sizes_of_model)
    found = set(candidate_meshes(model, cluster, global_batch=6, choices=choices))
    sizes = (1, 2, 3, 4, 6, 8)
    brute = set()
    for t in sizes:
        for p in sizes:
            for c in sizes:
                for d in sizes:
                    for b in sizes:
                        for v in choices.chunks:
                            for kind in RECOMPUTATIONS:
                                mesh = Mesh(
                                    data=d,
                                    tensor=t,
                                    pipeline=p,
                                    context=c,
                                    micro_batch=b,
                                    chunks=v,
                                    recompute=kind,
                                    sequence_parallel=choices.sequence_parallel
                                    and t > 1
                                    and 48 % (c * t) == 0,
                                )
                                if not mesh_problems(model, cluster, mesh, global_batch=6):
                                    stages = range(4) if d * c > 1 else (0,)
                                    brute |= {replace(mesh, zero_stage=z) for z in stages}
    assert found == brute
    assert len(found) > 20


def test_choices_limit_the_search():
    choices = Choices(
        zero_stages=(2, 1), recomputations=("full",), context=(1, 2), micro_batches=(2, 5)
    )
    meshes = list(candidate_meshes(SMALL, NODE, global_batch=32, choices=choices))
    assert {mesh.micro_batch for mesh in meshes} == {2}
    assert {mesh.recompute for mesh in meshes} == {"full"}
    assert {mesh.context for mesh in meshes} == {1, 2}
    assert {mesh.zero_stage for mesh in meshes} == {1, 2}
    assert {mesh.zero_stage for mesh in meshes if mesh.replicas == 1} <= {1}


def test_plans_are_those_that_fit_fastest_first_and_always_the_same():
    model = Model(layers=24, hidden=2304, num_heads=24, vocab=51200, seq_len=2048)
    ask = {"global_batch": 32, "reserved_bytes": 55e9, "overlap": 0.5, **MEGATRON}
    plans = plan(model, NODE, **ask)
    assert plans == plan(model, NODE, **ask)
    seconds = [each.time.total for each in plans]
    assert seconds == sorted(seconds)
    room = A100_80GB.memory_bytes - 55e9
    assert all(each.memory.total <= room for each in plans)
    listed = {each.mesh for each in plans}
    refused = 0
    for mesh in candidate_meshes(model, NODE, global_batch=32, choices=Choices()):
        reasons = explain(model, NODE, mesh, global_batch=32, reserved_bytes=55e9, **MEGATRON)
        assert (mesh in listed) == (reasons == ())
        refused += bool(reasons)
    assert refused > 100
    best = plans[0]
    again = step_time(model, NODE, best.mesh, global_batch=32, overlap=0.5, **MEGATRON)
    assert again == best.time
    assert mesh_memory(model, best.mesh, global_batch=32, **MEGATRON) == best.memory


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 6), st.sampled_from([1, 2, 4, 6, 12]), st.integers(1, 3), st.integers(1, 12))
def test_plans_keep_the_rules_and_less_room_never_helps(layers, heads, nodes, batch):
    model = Model(layers=layers, hidden=24 * heads, num_heads=heads, vocab=50, seq_len=48)
    cluster = Cluster(4 * nodes, A100_80GB, 4, 240e9, 25e9)
    plans = plan(model, cluster, global_batch=batch)
    for each in plans:
        assert explain(model, cluster, each.mesh, global_batch=batch) == ()
        assert 0 < each.time.mfu <= each.time.hfu <= 0.65
    if plans:
        middle = sorted(each.memory.total for each in plans)[len(plans) // 2]
        tight = plan(
            model, cluster, global_batch=batch, reserved_bytes=A100_80GB.memory_bytes - middle
        )
        assert 0 < len(tight) <= len(plans)
        assert tight[0].time.total >= plans[0].time.total


def test_nothing_fits_is_an_empty_list():
    huge = Model(layers=1, hidden=10**6, num_heads=1, vocab=1, seq_len=2)
    assert plan(huge, dgx_a100(1), global_batch=8) == []
    assert plan(SMALL, dgx_a100(1), global_batch=8, reserved_bytes=A100_80GB.memory_bytes - 1) == []


def test_nothing_is_left_of_a_device():
    whole = {"global_batch": 8, "reserved_bytes": A100_80GB.memory_bytes}
    for call in (
        lambda: plan(SMALL, dgx_a100(1), **whole),
        lambda: explain(SMALL, dgx_a100(1), Mesh(data=8), **whole),
    ):
        with pytest.raises(ValueError, match="leaves nothing of the 85899345920 bytes"):
            call()


def test_a_cluster_of_many_divisors_is_searched_without_trying_all():
    many = Cluster(735_134_400, A100_80GB, 8, 240e9, 25e9)  # 1344 divisors, 10**8 factorizations
    model = Model(layers=12, hidden=8, num_heads=8, vocab=8, seq_len=2**10)
    meshes = list(candidate_meshes(model, many, global_batch=735_134_400, choices=ONE_WAY))
    assert len(meshes) == len(set(meshes)) > 100
    assert all(mesh.num_devices == 735_134_400 for mesh in meshes)
    assert {mesh.context for mesh in meshes} <= {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}
    assert {mesh.tensor for mesh in meshes} == {1, 2, 4, 8}
    assert {mesh.pipeline for mesh in meshes} == {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}


# --- what is shown


def test_a_plan_shows_itself_in_one_line_and_its_parts_in_three():
    (alone,) = plan(SMALL, Cluster(1, A100_80GB, 1, 1e9, 1e9), global_batch=1, choices=ONE_WAY)
    totals = f"{alone.time.total:.3g} s, MFU {100 * alone.time.mfu:.1f} %, 0.0 GB"
    assert repr(alone) == f"<Plan {totals}: one device>"
    assert plan_table([alone]).startswith("| data | GB | s |")
    shared = plan(SMALL, NODE, global_batch=16, choices=ONE_WAY)[0]
    line, memory, time = str(shared).splitlines()
    assert line == repr(shared)
    assert line.endswith(": data=16>")
    assert memory.startswith("  GB: params 0.0, grads 0.0, optimizer 0.0, activations 0.0")
    assert time.startswith(f"  s: compute {shared.time.compute:.3g}, data")
    for whole in (shared.memory, shared.time):
        assert math.isclose(sum(whole.parts.values()), whole.total, rel_tol=1e-12)


def test_tables_leave_out_what_says_nothing():
    model = llama_model(layers=80, hidden=8192, num_heads=64, kv_heads=8, d_ff=28672)
    meshes = [Mesh(data=8, tensor=8, zero_stage=3), Mesh(data=4, tensor=8, pipeline=2, chunks=4)]
    plans = [
        Plan(
            mesh,
            mesh_memory(model, mesh, global_batch=64),
            step_time(model, dgx_h100(8), mesh, global_batch=64),
        )
        for mesh in meshes
    ]

    def cells(line):
        return [cell.strip() for cell in line.strip("|").split("|")]

    for show, parts, wholes, unit in (
        ("memory", "GB", [each.memory for each in plans], 1e9),
        ("time", "s", [each.time for each in plans], 1),
    ):
        titles, rule, *rows = map(cells, plan_table(plans, show=show).splitlines())
        assert titles[:5] == ["data", "tensor", "pipeline", "ZeRO", "chunks"]
        assert set(rule) == {"---:"}
        assert [row[:5] for row in rows] == [["8", "8", "1", "3", "1"], ["4", "8", "2", "0", "4"]]
        shown = {title.removesuffix(f" {parts}") for title in titles[5:]}
        assert shown == {"total"} | {
            name for whole in wholes for name, part in whole.parts.items() if part
        }
        for row, whole in zip(rows, wholes, strict=True):
            assert math.isclose(float(row[-1]), whole.total / unit, rel_tol=0.01)
    first, _, row = map(cells, plan_table(plans, limit=1).splitlines())
    assert first == ["data", "tensor", "ZeRO", "GB", "s", "MFU", "tokens/s"]
    assert row[5] == f"{100 * plans[0].time.mfu:.1f} %"
    assert plan_table(iter(plans), limit=1) == plan_table(plans[:1])
    doubled = [plans[0], plans[0], plans[1], plans[0]]
    assert plan_table(doubled).count("\n") == 5
    assert plan_table(doubled, distinct=("tensor", "pipeline")) == plan_table(plans)
    assert plan_table(doubled, distinct=("tensor",)) == plan_table(plans[:1])
    assert plan_table([]) == "No plan fits."


# --- sensible plans


def test_small_models_share_batches_and_large_ones_share_layers():
    small = Model(layers=36, hidden=4096, num_heads=32, vocab=51200, seq_len=2048)
    middle = llama_model(layers=80, hidden=8192, num_heads=64, kv_heads=8, d_ff=28672)
    choices = Choices(recomputations=("none", "full"), chunks=(1, 4), zero_stages=(1, 2, 3))
    ask = {"recipe": "2+4+12", "reserved_bytes": 5e9, "choices": choices}
    best = plan(small, dgx_a100(8), global_batch=512, **ask)[0].mesh
    assert (best.data, best.zero_stage, best.recompute) == (64, 3, "none")
    best = plan(middle, dgx_h100(32), global_batch=1024, **ask)[0].mesh
    assert best.tensor > 1 or best.pipeline > 1
    assert best.tensor <= 8
    assert best.recompute == "none"


def test_the_published_mesh_of_405_billion_is_near_the_best():
    model = llama_model(layers=126, hidden=16384, num_heads=128, kv_heads=8, d_ff=53248)
    choices = Choices(zero_stages=(1, 2), recomputations=("none",), chunks=(1, 8))
    ask = {"global_batch": 2048, "recipe": "2+4+12", "choices": choices}
    cluster = dgx_h100(2048)
    candidates = candidate_meshes(model, cluster, global_batch=2048, choices=Choices())
    assert sum(1 for _ in candidates) < 40_000
    plans = plan(model, cluster, **ask)
    assert len(plans) > 1000
    published = [
        each
        for each in plans
        if (each.mesh.tensor, each.mesh.pipeline, each.mesh.context) == (8, 16, 1)
    ]
    assert published[0].mesh.chunks == 8
    assert published[0].time.total < 1.35 * plans[0].time.total
    assert all(each.mesh.pipeline > 1 for each in plans[:100])
