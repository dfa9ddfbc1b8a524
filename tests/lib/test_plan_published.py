"""Plans against published runs: parameters, devices, memory, and how far off the times are.

`published_plans.json` says where each number was looked up. Ratios are ours / published, at
overlap 1 unless a test says otherwise.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from shardwise.plan import (
    A100_80GB,
    H100_80GB,
    Choices,
    Mesh,
    Model,
    all_reduce_seconds,
    dgx_a100,
    dgx_h100,
    explain,
    group_link,
    layer_activation_bytes,
    llama_model,
    mesh_memory,
    plan,
    step_time,
    training_seconds,
)
from shardwise.plan._layer_time import layer_time, recomputed_flops
from shardwise.plan._stages import inflight_microbatches

PUBLISHED = json.loads(Path(__file__).with_name("published_plans.json").read_text(encoding="utf-8"))
NUMBERS = {entry["id"]: entry["value"] for entry in PUBLISHED["hardware"]}
FORMULAS = {entry["id"]: entry for entry in PUBLISHED["formulas"]}
MEGATRON = {"recipe": "2+4+12"}


def entries(kind):
    return pytest.mark.parametrize("entry", PUBLISHED[kind], ids=[e["id"] for e in PUBLISHED[kind]])


def last_digit(value):
    return 10.0 ** -len(str(value).partition(".")[2])


def gpt(row, **shape):
    sizes = {name: row[name] for name in ("layers", "hidden", "num_heads")}
    return Model(**{"vocab": 51200, "seq_len": 2048, **sizes, **shape})


def mesh_of(row, **how):
    axes = {name: row.get(name, 1) for name in ("tensor", "pipeline", "chunks", "micro_batch")}
    data = row["num_devices"] // (axes["tensor"] * axes["pipeline"])
    return Mesh(data=data, **axes, **how)


# --- hardware


def test_hardware_has_the_published_numbers():
    node, newer = dgx_a100(1), dgx_h100(1)
    assert A100_80GB.peak_flops == NUMBERS["a100_peak"]
    assert A100_80GB.memory_bytes == NUMBERS["a100_memory_mib"] * 2**20
    assert A100_80GB.memory_bandwidth == NUMBERS["a100_memory_bandwidth"]
    assert node.intra_bandwidth == NUMBERS["a100_nvlink"] == 12 * 20e9
    assert node.inter_bandwidth == NUMBERS["a100_adapter"] == 200e9 / 8
    assert H100_80GB.peak_flops == NUMBERS["h100_peak"]
    assert H100_80GB.memory_bytes == NUMBERS["h100_memory_mib"] * 2**20
    assert H100_80GB.memory_bandwidth == NUMBERS["h100_memory_bandwidth"]
    assert math.isclose(newer.intra_bandwidth, NUMBERS["h100_nvlink"])
    assert math.isclose(newer.intra_bandwidth, 18 * 20.6e9)
    assert newer.inter_bandwidth == NUMBERS["h100_adapter"] == 400e9 / 8
    for cluster in (node, newer):
        assert cluster.intra_latency == NUMBERS["nvlink_latency"]
        assert cluster.inter_latency == NUMBERS["network_latency"]


def test_the_efficiency_follows_from_one_published_layer():
    forward = PUBLISHED["layer_22B"]["entries"][0]["inputs"]["forward"] * 1e-3
    model, tokens, t = Model(**PUBLISHED["layer_22B"]["model"]), 4 * 2048, 8
    message = 2 * tokens * model.hidden
    reduces = 2 * all_reduce_seconds(message, t, group_link(dgx_a100(1), t))
    touched = 2 * layer_activation_bytes(model, tokens, tensor=t) / A100_80GB.memory_bandwidth
    flops = tokens * (model.layer_matrix_flops + model.layer_core_flops) / t
    reached = flops / (forward - reduces - touched) / A100_80GB.peak_flops
    assert round(reached, 2) == A100_80GB.efficiency
    scaled = reached * NUMBERS["h100_best_matmul"] / NUMBERS["a100_best_matmul"]
    assert round(scaled, 2) == H100_80GB.efficiency


# --- layers


@pytest.mark.parametrize("entry", PUBLISHED["layer_22B"]["entries"], ids=lambda entry: entry["id"])
def test_layer_times_of_table_4(entry):
    model = Model(**PUBLISHED["layer_22B"]["model"])
    inputs = entry["inputs"]
    assert math.isclose(inputs["forward"] + inputs["backward"], entry["value"])
    # only the forward time of the first row is known to the efficiency
    got = layer_time(model, dgx_a100(1), Mesh(**entry["mesh"]), 1.0)
    assert abs(got.total * 1e3 / entry["value"] - 1) < 0.025


def test_selective_recomputation_repeats_the_published_share_of_a_forward_pass():
    published = FORMULAS["act_mtnlg_extra_flops"]["value"]
    model = gpt({"layers": 105, "hidden": 20480, "num_heads": 128})
    share = recomputed_flops(model, "selective") / model.layer_matrix_flops
    assert math.isclose(share, 2048 / (6 * 20480), rel_tol=1e-12)
    assert abs(100 * share - published) < last_digit(published)  # 1.67 is cut to 1.6


# --- Megatron-LM, 2021


@entries("megatron_table_1")
def test_table_1_parameters_and_devices(entry):
    row, published = entry["inputs"], entry["published"]
    model, mesh = gpt(row), mesh_of(row)
    assert mesh.num_devices == row["num_devices"]
    if "params" in published:
        assert abs(model.num_params / 1e9 - published["params"]["value"]) < 0.05 + 1e-9
    if "gpus" in published:
        assert mesh.num_devices == published["gpus"]["value"]
    if "aggregate" in published:
        value = published["aggregate"]["value"]
        from_row = row["num_devices"] * row["tflops_per_device"] / 1e3
        # the row's TFLOP/s are rounded to whole ones
        assert abs(from_row - value) < row["num_devices"] * 0.5e-3 + last_digit(value)


@entries("megatron_table_1")
def test_table_1_fits_and_its_speed_is_predicted_within_a_tenth(entry):
    row = entry["inputs"]
    model, mesh = gpt(row), mesh_of(row, recompute="full")
    cluster, batch = dgx_a100(row["num_devices"] // 8), row["global_batch"]
    choices = Choices(
        zero_stages=(0,),
        recomputations=("full",),
        chunks=(mesh.chunks,),
        context=(1,),
        micro_batches=(mesh.micro_batch,),
        sequence_parallel=False,
    )
    plans = plan(model, cluster, global_batch=batch, choices=choices, **MEGATRON)
    (mine,) = [each for each in plans if each.mesh == mesh]
    predicted = mine.time.hfu * cluster.device.peak_flops / 1e12
    assert 0.95 < predicted / row["tflops_per_device"] < 1.08
    slowest = step_time(model, cluster, mesh, global_batch=batch, overlap=0, **MEGATRON)
    # with nothing hidden all ten are slower than published, or at most a hundredth faster
    assert 0.92 < slowest.hfu * 312 / row["tflops_per_device"] < 1.015
    if "aggregate" in entry["published"]:
        petaflops = predicted * row["num_devices"] / 1e3
        assert 0.95 < petaflops / entry["published"]["aggregate"]["value"] < 1.08


@entries("megatron_table_2")
def test_table_2_with_model_parallelism_and_without(entry):
    row = entry["inputs"]
    model, cluster = gpt(row), dgx_a100(row["num_devices"] // 8)
    mesh = mesh_of(row, recompute="full", zero_stage=row["zero_stage"])
    seconds = training_seconds(300e9, model.num_params, row["num_devices"], 1e12)
    days = seconds / row["tflops_per_device"] / 86400
    # the paper counts the FLOPs of equation 3, which are a little more than 8 for each parameter
    assert 0.96 < days / row["days"] < 1
    recipe = "2+2+12" if row["zero_stage"] else "2+4+12"
    time = step_time(model, cluster, mesh, global_batch=row["global_batch"], recipe=recipe)
    ratio = time.hfu * 312 / row["tflops_per_device"]
    if not row["zero_stage"]:
        assert 0.95 < ratio < 1.05
        return
    # ZeRO-3 of 2021 is the case that this model cannot predict: those steps took as long as if 20
    # to 60 GB/s went into each device with nothing hidden, where rings through all eight adapters
    # reach 200. PyTorch's later one is met below.
    counted = model.layers * (model.layer_matrix_flops + model.layer_core_flops)
    flops = row["global_batch"] * model.seq_len * (model.flops_per_token + counted)
    step = flops / (row["num_devices"] * row["tflops_per_device"] * 1e12)
    micro_batches = row["global_batch"] / (row["num_devices"] * row["micro_batch"])
    rate = micro_batches * 3 * 2 * model.num_params / (step - time.compute)
    assert 20e9 < rate < 60e9
    assert 1.3 < ratio < 4.3


@entries("megatron_days")
def test_training_days(entry):
    days = training_seconds(**entry["arguments"]) / 86400
    assert abs(days - entry["value"]) <= 0.5
    without = training_seconds(**entry["arguments"], recompute=False) / 86400
    assert math.isclose(without, days * 6 / 8, rel_tol=1e-12)


# --- selective recomputation, 2022

# Ratios of seconds at full and selective recomputation. The 22B model's step has parts that no
# layer has (embeddings, loss, data) and of which its 4 sequences hide nothing: we are too fast. The
# matrices of the largest models reach more than the 65 % of the 22B layer: we are too slow.
TABLE_5 = {"22B": (0.97, 0.93), "175B": (1.02, 1.00), "530B": (1.08, 1.05), "1T": (1.13, 1.13)}


@entries("korthikanti_table_5")
def test_times_of_table_5(entry):
    row = entry["inputs"]
    cluster, batch = dgx_a100(row["num_devices"] // 8), row["global_batch"]
    full, selective = (
        step_time(gpt(row), cluster, mesh, global_batch=batch, **MEGATRON)
        for mesh in (
            mesh_of(row, recompute="full"),
            mesh_of(row, recompute="selective", sequence_parallel=True),
        )
    )
    ratios = full.total / row["full_seconds"], selective.total / row["selective_seconds"]
    for ratio, expected in zip(ratios, TABLE_5[entry["id"].removeprefix("act_t5_")], strict=True):
        assert abs(ratio - expected) < 0.01
    assert abs(100 * selective.mfu * ratios[1] - row["mfu_percent"]) < 0.5
    gain = 100 * (full.total / selective.total - 1)
    assert abs(gain - row["gain_percent"]) < 5.5
    if entry["published"]:
        assert abs(gain - entry["published"]["speedup"]["value"]) < 3.5  # 33.0 for 29.7


@entries("korthikanti_table_5")
def test_what_table_5_compares_fits_and_what_it_leaves_out_does_not(entry):
    row = entry["inputs"]
    model, cluster = gpt(row), dgx_a100(row["num_devices"] // 8)
    ask = {"global_batch": row["global_batch"], **MEGATRON}
    for how in (
        {"recompute": "full"},
        {"recompute": "selective", "sequence_parallel": True},
    ):
        assert explain(model, cluster, mesh_of(row, **how), **ask) == ()
    for how in ({"recompute": "selective"}, {"sequence_parallel": True}):
        # "without both together, none of these models will fit" (section 6.1); by our count, which
        # leaves out buffers and fragments, the two smaller ones just would with one of them
        needs = mesh_memory(model, mesh_of(row, **how), **ask).total
        assert needs > 0.85 * cluster.device.memory_bytes


def test_replicas_of_530_billion_wait_longer_than_we_say():
    row = PUBLISHED["korthikanti_table_5"][2]["inputs"]
    mesh = replace(mesh_of(row, recompute="selective", sequence_parallel=True), data=8)
    batch = 8 * row["global_batch"]
    time = step_time(gpt(row), dgx_a100(280), mesh, global_batch=batch, overlap=0, **MEGATRON)
    published = row["seconds_with_8_replicas"] - row["selective_seconds"]
    # one all-reduce at the end, not overlapped: 1.32 s, where eight adapters of each node at their
    # full rate would need 0.58 s. Congestion, and copies to and from buckets, are not modelled.
    assert 0.4 < time.data / published < 0.5


# --- Llama 3, 2024


@entries("llama3_table_4")
def test_llama_3_fits_and_its_mfu_is_predicted_within_a_fifth(entry):
    row, published = entry["inputs"], entry["published"]
    sizes = {"layers": 126, "hidden": 16384, "num_heads": 128, "kv_heads": 8, "d_ff": 53248}
    model = llama_model(**sizes, seq_len=row["seq_len"])
    mesh = Mesh(
        data=row["data"],
        tensor=row["tensor"],
        pipeline=row["pipeline"],
        context=row["context"],
        zero_stage=2,  # gradients and optimizer state are sharded, weights stay
        sequence_parallel=True,
        chunks=8,  # not published; 8 is a layer each, with embedding and output layer two more
    )
    cluster = dgx_h100(mesh.num_devices // 8)
    batch = row["data"] * row["batch_per_replica"]
    if "tokens" in published:
        assert batch * model.seq_len == published["tokens"]["value"]
    if "gpus" in published:
        assert mesh.num_devices == published["gpus"]["value"]
    if "mfu" in published:
        assert int(100 * row["tflops_per_device"] / 989) == published["mfu"]["value"]
    choices = Choices(
        zero_stages=(2,),
        recomputations=("none",),
        chunks=(8,),
        context=(row["context"],),
        micro_batches=(1,),
    )
    plans = plan(model, cluster, global_batch=batch, choices=choices, **MEGATRON)
    (mine,) = [each for each in plans if each.mesh == mesh]
    # too slow at 8K: we reduce gradients after each micro-batch, and the paper does not say that it
    # did; too fast at 128K: there half of the FLOPs are attention's, and FlashAttention-2 reaches
    # 335 of 989 TFLOP/s (its section 4.1), not 61 %
    expected = {"llama3_t4_row1": 0.90, "llama3_t4_row2": 0.92, "llama3_t4_row3": 1.21}[entry["id"]]
    assert abs(mine.time.mfu / (row["tflops_per_device"] / 989) - expected) < 0.01
    # one stage above the next in ZeRO: whole 32-bit gradients do not fit beside the activations
    whole = replace(mesh, zero_stage=1)
    assert "grads 13.8" in explain(model, cluster, whole, global_batch=batch, **MEGATRON)[0]


# --- PyTorch's fully sharded data parallelism, 2023


@entries("mpt_fsdp")
def test_fully_sharded_runs_lie_between_no_overlap_and_all(entry):
    row = entry["inputs"]
    plain = {"biases": False, "learned_positions": False, "dropout": False}
    model = gpt(row, vocab=50368, flash_attention=True, **plain)
    assert abs(model.num_params / row["num_params"] - 1) < 0.005
    mesh = mesh_of(row, zero_stage=3, recompute=row["recompute"])
    newer = row["device"] == "h100"
    cluster = (dgx_h100 if newer else dgx_a100)(row["num_devices"] // 8)
    ask = {"global_batch": mesh.data * mesh.micro_batch * row["accumulation"]}
    assert explain(model, cluster, mesh, **ask) == ()
    hidden, open_ = (
        step_time(model, cluster, mesh, overlap=overlap, **ask).tokens_per_second
        / row["num_devices"]
        / row["tokens_per_device"]
        for overlap in (1, 0)
    )
    if newer:
        # software of the first year of H100s: narrow models reached little, and the smallest batch
        # (13b, two sequences) ran as if nothing were hidden
        assert 0.96 < hidden < 1.45
        assert 0.96 < open_ < 1.25
    else:
        assert 0.87 <= hidden < 1.07
        assert 0.80 <= open_ < 1.01


# --- formulas and simulations


def test_two_whole_layers_and_the_shards_are_what_deepspeed_estimates():
    # deepspeed_zero3_gpu: 4 bytes for each parameter of the largest layer, 18 for each of a shard
    assert FORMULAS["deepspeed_zero3_gpu"]["formula"] == "4*largest_layer + 18*Psi/N"
    for vocab in (1000, 10**6):
        model = Model(layers=12, hidden=512, num_heads=8, vocab=vocab, seq_len=128)
        memory = mesh_memory(model, Mesh(data=16, zero_stage=3), global_batch=16, **MEGATRON)
        largest = max(model.layer_params, vocab * 512)
        estimate = 4 * largest + 18 * model.num_params / 16
        assert math.isclose(memory.state + memory.gathered, estimate, rel_tol=1e-12)


def test_interleaving_has_the_simulated_bubble_and_peak():
    # sim_Interleaved1F1B v2_P8_M24: makespan 82.5 for 72 of work, 11.5 micro-batches at the peak
    published = FORMULAS["sim_Interleaved1F1B v2_P8_M24"]
    assert "busy 72; makespan-busy 10.5" in published["formula"]
    stages, chunks, count = 8, 2, 24
    model = Model(layers=32, hidden=1024, num_heads=8, vocab=1, seq_len=64)
    cluster = replace(dgx_a100(1), intra_bandwidth=1e30, intra_latency=0.0)
    mesh = Mesh(pipeline=stages, chunks=chunks)
    time = step_time(model, cluster, mesh, global_batch=count)
    assert math.isclose(72 * time.bubble / time.compute, 10.5, rel_tol=1e-3)
    assert math.isclose(72 * (1 + time.bubble / time.compute), published["value"], rel_tol=1e-3)
    assert inflight_microbatches(stages, chunks, count, 0) == 11.5


@pytest.mark.parametrize("stages", [1, 4, 16])
def test_1f1b_holds_as_many_micro_batches_as_stages(stages):
    assert FORMULAS["zb_mem_1F1B"]["formula"] == "p*M_B"
    assert inflight_microbatches(stages, 1, 10 * stages, 0) == stages


def test_sequences_are_cut_into_two_chunks_a_device():
    assert FORMULAS["llama3_cp_chunks"]["formula"].startswith("2*CP chunks")
    model = llama_model(layers=4, hidden=64, num_heads=4, kv_heads=4, d_ff=64, seq_len=24)
    problems = explain(model, dgx_a100(1), Mesh(context=8), global_batch=1)
    assert problems[0].startswith("2 x context=8 does not divide seq_len=24")
