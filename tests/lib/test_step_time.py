"""The alpha-beta model against arithmetic by hand, the simulator, and published numbers."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise.communication import ring_all_reduce_bytes, zero_communication_elements
from shardwise.memory.activations import RECOMPUTATIONS
from shardwise.memory.recipes import RECIPES
from shardwise.pipeline import (
    bubble_fraction,
    partition_layers,
    peak_inflight_per_stage,
    pipeline_schedule,
    schedule_makespan,
)
from shardwise.plan import (
    A100_80GB,
    Cluster,
    Device,
    Link,
    Mesh,
    Model,
    all_reduce_seconds,
    dgx_a100,
    exposed_seconds,
    group_link,
    layer_activation_bytes,
    llama_model,
    neighbour_link,
    ring_pass_seconds,
    send_seconds,
    step_time,
)
from shardwise.plan._data_time import Traffic, data_traffic, exposed_traffic, gradient_bytes
from shardwise.plan._layer_time import layer_time, recomputed_flops
from shardwise.plan._stages import inflight_microbatches, stage_layers

PUBLISHED = json.loads(Path(__file__).with_name("published_plans.json").read_text(encoding="utf-8"))
CLOSE = 1e-12  # relative: a few dozen roundings of 2**-53
PARTS = ("compute", "tensor", "context", "bubble", "sends", "data", "optimizer")
BOUNDLESS = 1e30  # a memory bandwidth that takes no time


def entries(kind):
    return pytest.mark.parametrize("entry", kind, ids=[entry["id"] for entry in kind])


def plain_cluster(num_devices, memory_bandwidth=BOUNDLESS, **links):
    """A device that reaches its peak of 1 TFLOP/s, in one node unless said otherwise."""
    device = Device("plain", 1e12, 1e15, memory_bandwidth, efficiency=1.0)
    settings = {
        "devices_per_node": num_devices,
        "intra_bandwidth": 1e9,
        "inter_bandwidth": 1e9,
        "intra_latency": 0.0,
        "inter_latency": 0.0,
    }
    return Cluster(num_devices, device, **{**settings, **links})


def gpt(**sizes):
    plain = {"layers": 8, "hidden": 64, "num_heads": 8, "vocab": 128, "seq_len": 32}
    return Model(**{**plain, **sizes})


# --- links and collectives


@given(
    st.integers(0, 10**12),
    st.integers(1, 4096),
    st.floats(0, 1e-3),
    st.floats(1e6, 1e13),
)
def test_collectives_move_what_the_formulas_say(num_bytes, devices, latency, bandwidth):
    link = Link(latency, bandwidth)
    by_hand = 2 * (devices - 1) * latency + ring_all_reduce_bytes(num_bytes, devices) / bandwidth
    got = all_reduce_seconds(num_bytes, devices, link)
    assert math.isclose(got, by_hand, rel_tol=CLOSE)
    assert got == 2 * ring_pass_seconds(num_bytes, devices, link)
    assert type(got) is float
    assert send_seconds(num_bytes, link) == latency + num_bytes / bandwidth


def test_a_ring_uses_the_adapters_of_its_members_and_a_message_only_one():
    cluster = dgx_a100(16)
    assert group_link(cluster, 8) == Link(3.4e-6, 240e9)
    assert group_link(cluster, 16, 8) == group_link(cluster, 4, 32) == Link(14e-6, 25e9)
    assert neighbour_link(cluster, 4, 2) == Link(3.4e-6, 240e9)
    assert neighbour_link(cluster, 8, 2) == neighbour_link(cluster, 16) == Link(14e-6, 25e9)
    slow_inside = Cluster(16, A100_80GB, 8, intra_bandwidth=1e9, inter_bandwidth=25e9)
    assert group_link(slow_inside, 16).bandwidth == neighbour_link(slow_inside, 16).bandwidth == 1e9


@pytest.mark.parametrize(
    ("num_devices", "stride", "members", "nodes"),
    [(128, 1, 8, 16), (64, 2, 4, 16), (24, 1, 8, 3), (3, 1, 1, 2), (12, 1, 4, 2), (6, 2, 2, 2)],
)
def test_only_hops_between_nodes_take_their_latency(num_devices, stride, members, nodes):
    link = group_link(dgx_a100(18), num_devices, stride)
    assert link.bandwidth == members * 25e9
    hops = (nodes - 1) * 14e-6 + (num_devices - nodes) * 3.4e-6
    assert math.isclose(link.latency * (num_devices - 1), hops, rel_tol=CLOSE)


def test_a_ring_that_fits_a_node_may_still_lie_across_two():
    # of rings of three ranks in nodes of eight the third has ranks 6, 7 and 8
    assert group_link(dgx_a100(3), 3).bandwidth == neighbour_link(dgx_a100(3), 3).bandwidth == 25e9
    assert (
        group_link(dgx_a100(1), 3) == neighbour_link(dgx_a100(1), 3) == group_link(dgx_a100(1), 8)
    )
    assert group_link(dgx_a100(3), 1, 20) == Link(3.4e-6, 240e9)


def test_no_ring_is_larger_than_its_cluster():
    for link in (group_link, neighbour_link):
        with pytest.raises(
            ValueError, match="num_devices=9 at stride=1 reach beyond the 8 devices"
        ):
            link(dgx_a100(1), 9)
        with pytest.raises(ValueError, match="num_devices=3 at stride=4 reach beyond the 8"):
            link(dgx_a100(1), 3, 4)


def test_data_parallelism_hides_from_the_published_number_of_tokens_per_chip():
    entry = next(e for e in PUBLISHED["formulas"] if e["id"] == "scalingbook_v5p_dp")
    flops, bandwidth, params, chips = 4.59e14, 1.8e11, 1e9, 10**6

    def waits(tokens):
        reduction = all_reduce_seconds(2 * params, chips, Link(0.0, bandwidth))
        return exposed_seconds(reduction, 4 * params * tokens / flops)

    assert waits(entry["value"] - 1) > 0
    assert waits(entry["value"] + 1) == 0


# --- one layer


@pytest.mark.parametrize("t", [1, 2, 4, 8])
@pytest.mark.parametrize(("recompute", "reduces"), [("none", 4), ("selective", 4), ("full", 6)])
def test_tensor_parallel_traffic_is_the_published(t, recompute, reduces):
    model, cluster = gpt(), plain_cluster(t)
    mesh = Mesh(tensor=t, micro_batch=3, recompute=recompute)
    elements = 8 * 3 * model.seq_len * model.hidden * (t - 1) / t  # megatron_tp_comm: 4 all-reduces
    seconds = 2 * elements * reduces / 4 / 1e9
    assert math.isclose(layer_time(model, cluster, mesh, 0.0).tensor, seconds, rel_tol=CLOSE)
    if t < 8:  # heads of 8 and sequences of 32 are split
        split = replace(mesh, sequence_parallel=True)
        assert math.isclose(layer_time(model, cluster, split, 0.0).tensor, seconds, rel_tol=CLOSE)


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("recompute", ["none", "full"])
def test_gradients_of_inputs_hide_behind_weight_gradients(gated, recompute):
    t, b, s, h, k, f = 4, 3, 32, 64, 32, 96
    model = gpt(kv_heads=4, d_ff=f, gated=gated)
    one_pass = 2 * b * s * h * (t - 1) / t / 1e12
    into_attention = 2 * b * s * h * (h + 2 * k) / t / 1e12
    into_mlp = 2 * b * s * h * f * (2 if gated else 1) / t / 1e12
    passes = 12 if recompute == "full" else 8
    for split, beside in ((False, 2), (True, 1)):
        mesh = Mesh(tensor=t, micro_batch=b, recompute=recompute, sequence_parallel=split)
        for overlap in (0.0, 0.3, 1.0):
            for speed in (1e10, 3e10, 1e12):
                cluster = plain_cluster(t, intra_bandwidth=speed)
                travel = one_pass * 1e12 / speed
                waits = (passes - 2 * beside) * travel + sum(
                    max(0.0, beside * travel - overlap * work)
                    for work in (into_attention, into_mlp)
                )
                got = layer_time(model, cluster, mesh, overlap).tensor
                assert math.isclose(got, waits, rel_tol=1e-9)


@pytest.mark.parametrize("flash", [False, True])
def test_a_ring_hides_keys_behind_blocks_of_the_core(flash):
    c = 4
    base = llama_model(layers=2, hidden=64, num_heads=8, kv_heads=2, d_ff=96, vocab=64, seq_len=64)
    model = replace(base, flash_attention=flash)
    mesh = Mesh(context=c)
    keys = 2 * 16 * 16 * 2  # K and V, 16 tokens, width 16, 2 bytes
    core = 16 * 4 * 64 * 64 / 1e12 / (2 if flash else 1)
    open_ring = layer_time(model, plain_cluster(c), mesh, 0.0)
    assert math.isclose(
        open_ring.context, (3 * keys + 3 * 3 * keys + 2 * keys) / 1e9, rel_tol=CLOSE
    )
    again = layer_time(model, plain_cluster(c), replace(mesh, recompute="full"), 0.0)
    assert math.isclose(again.context, open_ring.context + 3 * keys / 1e9, rel_tol=CLOSE)
    # at a bandwidth between the two, forward hides and backward, with 3/2 the bytes, does not
    bandwidth = 1.2 * keys / (core / c)
    cluster = plain_cluster(c, intra_bandwidth=bandwidth)
    left = 3 * (3 * keys / bandwidth - 2 * core / c) + 2 * keys / bandwidth
    assert math.isclose(layer_time(model, cluster, mesh, 1.0).context, left, rel_tol=CLOSE)
    fast = plain_cluster(c, intra_bandwidth=1e15)
    assert layer_time(model, fast, mesh, 1.0).context == 2 * keys / 1e15


def test_a_ring_over_nodes_pays_for_each_hop():
    # every second rank of two nodes of four: 3 hops forward, 3 x 2 backward, 1 home
    model = gpt(seq_len=64)
    cluster = plain_cluster(
        8, devices_per_node=4, intra_latency=1.0, inter_latency=10.0, inter_bandwidth=1e30
    )
    mesh = Mesh(tensor=2, context=4)
    assert math.isclose(layer_time(model, cluster, mesh, 1.0).context, 100, rel_tol=1e-3)
    one_node = replace(mesh, context=2)
    assert math.isclose(layer_time(model, cluster, one_node, 1.0).context, 1 + 2 + 1, rel_tol=1e-3)


def test_recomputation_costs_what_it_computes_again():
    model, cluster = gpt(), plain_cluster(1)
    none, selective, full = (
        layer_time(model, cluster, Mesh(recompute=kind), 1.0)
        for kind in ("none", "selective", "full")
    )
    forward = 24 * 32 * 64**2 + 4 * 32**2 * 64
    assert math.isclose(none.forward, forward / 1e12, rel_tol=CLOSE)
    assert none.backward == 2 * none.forward
    assert math.isclose(selective.backward - none.backward, 4 * 32**2 * 64 / 1e12, rel_tol=1e-9)
    assert math.isclose(full.backward, 3 * full.forward, rel_tol=CLOSE)
    assert recomputed_flops(model, "selective") == 4 * 32 * 64
    fused = layer_time(gpt(flash_attention=True), cluster, Mesh(), 1.0)
    core = 2 * 32**2 * 64 / 1e12
    assert math.isclose(fused.forward, none.forward - core, rel_tol=CLOSE)
    assert math.isclose(fused.backward, 2 * fused.forward + core / 2, rel_tol=CLOSE)


def test_kernels_that_multiply_nothing_take_the_time_of_their_bytes():
    tokens, rate = 3 * 32, 1e6
    model, cluster = gpt(), plain_cluster(1, memory_bandwidth=rate)
    mesh = Mesh(micro_batch=3)
    kept = layer_activation_bytes(model, tokens)
    bare = layer_activation_bytes(model, tokens, recompute="selective")
    arithmetic = layer_time(model, plain_cluster(1), mesh, 1.0).forward
    reading = 2 * model.layer_matrix_params / rate  # the weights, which few tokens do not hide
    core = tokens * model.layer_core_flops / 1e12
    assert reading > arithmetic
    none, selective, full = (
        layer_time(model, cluster, replace(mesh, recompute=kind), 1.0) for kind in RECOMPUTATIONS
    )
    assert math.isclose(none.forward, reading + core + 2 * kept / rate, rel_tol=CLOSE)
    assert none.backward == 2 * none.forward
    again = core + 2 * (kept - bare) / rate
    assert math.isclose(selective.backward - none.backward, again, rel_tol=1e-9)
    assert full.backward == 3 * full.forward


@given(st.integers(1, 64), st.integers(1, 64), st.sampled_from([1, 2, 4]))
def test_narrow_layers_and_few_tokens_reach_less_of_the_peak(micro_batch, heads, tensor):
    cluster = Cluster(8, A100_80GB, 8, 240e9, 25e9)

    def rate(heads, **sizes):
        model = gpt(num_heads=8 * heads, hidden=512 * heads)
        mesh = Mesh(**{"micro_batch": micro_batch, "tensor": tensor, **sizes})
        time = layer_time(model, cluster, mesh, 1.0)
        flops = 3 * (model.layer_matrix_flops + model.layer_core_flops)
        return flops * mesh.micro_batch / mesh.tensor / (time.forward + time.backward)

    assert rate(heads) < rate(2 * heads)
    assert rate(heads) <= rate(heads, micro_batch=2 * micro_batch) * (1 + CLOSE)
    assert rate(heads, tensor=2 * tensor) < rate(heads)


# --- replicas


@given(st.integers(1, 10**9), st.integers(1, 512), st.integers(0, 3))
def test_one_micro_batch_moves_what_zero_says(params, devices, stage):
    recipe = RECIPES["2+2+12"]
    moved = sum(part.num_bytes for part in data_traffic(params, 1, stage, 1, recipe))
    expected = 2 * zero_communication_elements(params, devices, stage)
    assert math.isclose(moved * (devices - 1) / devices, expected, rel_tol=CLOSE)


def test_micro_batches_repeat_what_partitions_need():
    recipe = RECIPES["2+4+12"]
    assert data_traffic(10, 3, 0, 5, recipe) == (Traffic(0, 0, 0), Traffic(80, 2, 1))
    assert data_traffic(10, 3, 1, 5, recipe) == (Traffic(20, 1, 1), Traffic(40, 1, 1))
    assert data_traffic(10, 3, 2, 5, recipe) == (Traffic(20, 1, 1), Traffic(200, 5, 5))
    assert data_traffic(10, 3, 3, 5, recipe) == (Traffic(100, 15, 5), Traffic(300, 30, 5))


def test_gradients_travel_in_at_most_four_bytes_and_never_in_none():
    widths = {name: gradient_bytes(recipe) for name, recipe in RECIPES.items()}
    assert widths == {
        "2+2+12": 2,
        "2+4+12": 4,
        "2+6+12": 4,
        "4+4+8": 4,
        "2+0+8": 2,
        "2+2+4": 2,
    }


def test_what_is_hidden_never_counts_twice():
    link = Link(1.0, 1e9)
    assert exposed_traffic(Traffic(8e9, 2, 3), 4, link, 0.0) == 3 * (2 + 2)
    assert exposed_traffic(Traffic(8e9, 2, 3), 4, link, 2.0) == 12 - 6
    assert exposed_traffic(Traffic(8e9, 2, 3), 4, link, 4.1) == 0


@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_data_time_shrinks_with_overlap_and_vanishes_with_one_replica(stage):
    model, cluster = gpt(), plain_cluster(4)
    mesh = Mesh(data=4, zero_stage=stage)

    def waits(overlap):
        return step_time(model, cluster, mesh, global_batch=16, overlap=overlap).data

    assert waits(0) > waits(0.5) > waits(1) >= 0
    alone = step_time(model, plain_cluster(1), Mesh(zero_stage=stage), global_batch=16, overlap=0)
    assert alone.data == 0


def test_replicas_wait_for_the_stage_with_most_parameters_and_for_each_layer():
    # two stages of three and two layers; the last has the output layer, the first positions too
    model = gpt(layers=5, vocab=64, seq_len=4096)
    first = 3 * model.layer_params + model.vocab_params + model.position_params
    last = 2 * model.layer_params + model.vocab_params + model.norm_params
    assert first > last
    mesh = Mesh(data=2, pipeline=2)
    plain = step_time(model, plain_cluster(4), mesh, global_batch=4, overlap=0)
    assert math.isclose(plain.data, 2 * 2 * first / 2 / 1e9, rel_tol=CLOSE)
    slow = plain_cluster(4, intra_latency=1.0)
    sharded = replace(mesh, zero_stage=3)
    waits = step_time(model, slow, sharded, global_batch=4, overlap=0).data
    # two micro-batches, three layers, gathered twice and reduced once, one hop each
    assert math.isclose(waits, 2 * 3 * 3 + 2 * 3 * 2 * first / 2 / 1e9, rel_tol=CLOSE)


# --- pipelines


def worked(time):
    return time.compute + time.tensor + time.context


@settings(max_examples=60)
@given(st.integers(1, 6), st.integers(1, 4), st.integers(1, 30), st.integers(1, 10**7))
def test_uneven_stages_never_take_less_than_the_simulator_says(stages, per_stage, count, vocab):
    model = gpt(layers=stages * per_stage, vocab=vocab)
    cluster = plain_cluster(stages, intra_bandwidth=1e30)
    time = step_time(model, cluster, Mesh(pipeline=stages), global_batch=count)
    layer = layer_time(model, cluster, Mesh(), 1.0)
    shares = [len(held) for held in partition_layers(model.layers, stages)]
    forward = [held * layer.forward for held in shares]
    forward[-1] += model.seq_len * model.output_flops / 1e12
    cells = pipeline_schedule(
        stages, count, "1f1b", forward_cost=forward, backward_cost=[2 * f for f in forward]
    )
    simulated = schedule_makespan(cells)
    assert simulated * (1 - 1e-9) <= time.total <= simulated * 1.2


@settings(max_examples=60)
@given(st.integers(2, 8), st.integers(1, 24), st.floats(0, 3))
def test_equal_stages_and_their_sends_bracket_the_simulator(stages, count, hops):
    model = gpt(layers=2 * stages, vocab=1)
    layer = layer_time(model, plain_cluster(1), Mesh(), 1.0)
    latency = hops * layer.forward
    cluster = plain_cluster(stages, intra_latency=latency, intra_bandwidth=1e30)
    mesh = Mesh(pipeline=stages, micro_batch=1)
    hidden, exposed = (
        step_time(model, cluster, mesh, global_batch=count, overlap=overlap) for overlap in (1, 0)
    )
    cells = pipeline_schedule(
        stages,
        count,
        "1f1b",
        forward_cost=2 * layer.forward,
        backward_cost=2 * layer.backward,
        latency=latency,
    )
    simulated = schedule_makespan(cells)
    slack = 1 + 1e-3  # the output layer of one word, which the simulator is not told of
    assert hidden.total <= simulated * slack
    assert exposed.total * slack >= simulated
    assert exposed.sends >= hidden.sends >= 2 * (stages - 1) * latency * (1 - 1e-9)


@pytest.mark.parametrize("chunks", [1, 2, 4])
def test_the_bubble_is_the_published_share_of_ideal_time(chunks):
    # megatron_bubble, megatron_bubble_interleaved, llama3_pp_bubble: (p - 1)/(v·m) of ideal time
    stages, count = 4, 12
    model = gpt(layers=32, hidden=1024, vocab=1)
    mesh = Mesh(pipeline=stages, chunks=chunks)
    cluster = plain_cluster(stages, intra_bandwidth=1e30)
    time = step_time(model, cluster, mesh, global_batch=count)
    ideal = bubble_fraction(stages, count, "ideal") / chunks
    assert math.isclose(time.bubble / worked(time), ideal, rel_tol=1e-4)
    # megatron_iter_time: (m + p - 1)(t_f + t_b) without interleaving
    if chunks == 1:
        step = worked(time) / count
        assert math.isclose(time.total, (count + stages - 1) * step, rel_tol=1e-4)


@pytest.mark.parametrize("stages", [1, 2, 5, 8])
@pytest.mark.parametrize("count", [1, 3, 8, 20])
def test_micro_batches_in_flight_are_the_simulators(stages, count):
    counted = peak_inflight_per_stage(pipeline_schedule(stages, count, "1f1b"))
    got = [inflight_microbatches(stages, 1, count, rank) for rank in range(stages)]
    assert got == counted


@pytest.mark.parametrize("stages", [2, 4, 16])
@pytest.mark.parametrize("chunks", [2, 3, 8])
def test_interleaving_holds_the_published_factor_more(stages, chunks):
    # act_interleave_factor: 1 + (p - 1)/(p·m) of 1F1B's, with m chunks
    got = Fraction(inflight_microbatches(stages, chunks, 10**6, 0))
    factor = 1 + Fraction(stages - 1, stages * chunks)
    assert math.isclose(got, stages * factor, rel_tol=CLOSE)


@given(st.integers(1, 200), st.integers(1, 200))
def test_stages_are_those_of_partition_layers(layers, stages):
    if stages <= layers:
        dealt = partition_layers(layers, stages)
        assert stage_layers(layers, stages, 0) == len(dealt[0])
        assert stage_layers(layers, stages, -1) == len(dealt[-1])


def test_sends_are_shares_that_are_gathered_unless_the_sequence_is_split():
    model = gpt(layers=8)
    # two stages in two nodes, four tensor-parallel devices in each
    cluster = plain_cluster(8, devices_per_node=4, inter_bandwidth=1e8)
    message = 32 * 64 * 2
    mesh = Mesh(tensor=4, pipeline=2, sequence_parallel=True)
    split, whole = (
        step_time(
            model, cluster, replace(mesh, sequence_parallel=flag), global_batch=3, overlap=0
        ).sends
        for flag in (True, False)
    )
    hop = message / 4 / 1e8
    assert math.isclose(split, 8 * hop, rel_tol=CLOSE)
    assert math.isclose(whole, 8 * (hop + message * 3 / 4 / 1e9), rel_tol=CLOSE)
    interleaved = replace(mesh, chunks=2)
    twice = step_time(model, cluster, interleaved, global_batch=4, overlap=0).sends
    assert math.isclose(twice, (4 * 2 * 2 + 2) * hop, rel_tol=CLOSE)


# --- whole steps


def test_parts_add_up_and_rates_follow():
    model = gpt(layers=6, num_heads=4, flash_attention=True, dropout=False)
    cluster = plain_cluster(16, devices_per_node=4, inter_bandwidth=1e8, inter_latency=1e-6)
    mesh = Mesh(data=2, tensor=2, pipeline=2, context=2, zero_stage=2, recompute="full")
    time = step_time(model, cluster, mesh, global_batch=8, recipe="2+4+12", overlap=0.3)
    assert math.isclose(time.total, sum(getattr(time, part) for part in PARTS), rel_tol=CLOSE)
    assert all(type(getattr(time, field.name)) is float for field in fields(time))
    assert all(getattr(time, part) > 0 for part in PARTS)
    assert math.isclose(time.tokens_per_second, 8 * 32 / time.total, rel_tol=CLOSE)
    per_second = time.tokens_per_second / 16 / 1e12
    assert math.isclose(time.mfu, per_second * model.flops_per_token, rel_tol=CLOSE)
    again = 6 * (model.layer_matrix_flops + 1.5 * model.layer_core_flops)
    assert math.isclose(time.hfu, per_second * (model.flops_per_token + again), rel_tol=CLOSE)


def test_one_device_with_a_boundless_memory_runs_at_its_efficiency():
    device = replace(A100_80GB, memory_bandwidth=BOUNDLESS)
    time = step_time(gpt(), Cluster(1, device, 1, 1e9, 1e9), Mesh(), global_batch=4)
    assert math.isclose(time.mfu, device.efficiency, rel_tol=CLOSE)
    assert time.hfu == time.mfu
    assert [getattr(time, part) for part in PARTS[1:-1]] == [0.0] * 5


@pytest.mark.parametrize(("stage", "split"), [(0, 1), (1, 8), (2, 8), (3, 8)])
def test_the_optimizer_reads_and_writes_its_share(stage, split):
    model = gpt()
    mesh = Mesh(data=4, context=2, zero_stage=stage)
    cluster = plain_cluster(8, memory_bandwidth=1e9)
    time = step_time(model, cluster, mesh, global_batch=4, recipe="2+4+12")
    # gradients are read, the state is read and written, weights are written
    assert math.isclose(
        time.optimizer, model.num_params / split * (4 + 24 + 2) / 1e9, rel_tol=CLOSE
    )


def test_the_output_layer_writes_and_reads_its_logits():
    model, mesh = gpt(vocab=10**5), Mesh(micro_batch=2)
    slow, fast = plain_cluster(1, memory_bandwidth=1e12), plain_cluster(1)
    with_logits, without = (
        step_time(model, cluster, mesh, global_batch=2).compute for cluster in (slow, fast)
    )
    layers = 8 * sum(
        sign * (layer.forward + layer.backward)
        for sign, layer in (
            (1, layer_time(model, slow, mesh, 1.0)),
            (-1, layer_time(model, fast, mesh, 1.0)),
        )
    )
    logits = 3 * 2 * 4 * 64 * 10**5 / 1e12  # touched twice forward, twice that backward, 4 bytes
    assert math.isclose(with_logits - without, layers + logits, rel_tol=1e-9)


@given(st.floats(0, 1), st.floats(0, 1))
def test_more_overlap_never_takes_longer(one, other):
    model = gpt(layers=6, num_heads=4)
    cluster = plain_cluster(16, devices_per_node=4, inter_bandwidth=1e8, inter_latency=1e-6)
    mesh = Mesh(data=4, pipeline=2, context=2, zero_stage=3)
    little, much = sorted((one, other))
    slow, fast = (
        step_time(model, cluster, mesh, global_batch=8, overlap=share).total
        for share in (little, much)
    )
    assert fast <= slow * (1 + CLOSE)
