"""Executed schedules against a slow reference: one device, sample by sample, in float64."""

from __future__ import annotations

import copy
import random
import weakref

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from shardwise import ledger
from shardwise.pipeline import (
    Cell,
    exactness,
    gradient_match,
    partition_layers,
    peak_inflight_per_stage,
    pipeline_schedule,
    run_schedule,
)

POLICIES = ["gpipe", "1f1b"]


def cut(layers, num_stages):
    parts = partition_layers(len(layers), num_stages)
    return [nn.Sequential(*(layers[index] for index in part)) for part in parts]


def layers_of(count, width, seed, **kind):
    torch.manual_seed(seed)
    return [nn.Sequential(nn.Linear(width, width), nn.Tanh()).to(**kind) for _ in range(count)]


def sample_by_sample(model, inputs, targets, loss):
    """Gradients of the mean loss, their scale Σ|terms|, and the loss; one sample at a time."""
    model = copy.deepcopy(model).to("cpu", torch.float64)
    inputs, targets = inputs.cpu(), targets.cpu()
    inputs = inputs.double() if inputs.is_floating_point() else inputs
    targets = targets.double() if targets.is_floating_point() else targets
    wanted = [p for p in model.parameters() if p.requires_grad]
    total = [torch.zeros_like(p) for p in wanted]
    scale = [torch.zeros_like(p) for p in wanted]
    losses = []
    for index in range(len(inputs)):
        value = loss(model(inputs[index : index + 1]), targets[index : index + 1])
        losses.append(value.item())
        for sums, sizes, part in zip(
            total, scale, torch.autograd.grad(value, wanted, materialize_grads=True), strict=True
        ):
            sums.add_(part / len(inputs))
            sizes.add_(part.abs() / len(inputs))
    return total, scale, sum(losses) / len(losses)


def flat(run):
    return [gradient for stage in run.gradients for gradient in stage.values()]


def same_bits(one, other):
    return all(torch.equal(a, b) for a, b in zip(flat(one), flat(other), strict=True))


@given(
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(0, 3),
    st.sampled_from(POLICIES),
    st.data(),
)
@settings(deadline=None, max_examples=60)
def test_gradients_are_those_of_one_device(rounding_bound, device, p, m, size, more, policy, data):
    dtype = data.draw(st.sampled_from([torch.float64, torch.float32]))
    width, batch = 5, m * size
    layers = layers_of(p + more, width, seed=batch, dtype=dtype, device=device)
    inputs = torch.randn(batch, width, dtype=dtype, device=device)
    targets = torch.randn(batch, width, dtype=dtype, device=device)
    costs = st.lists(st.integers(0, 3), min_size=p, max_size=p)
    forward, backward, latency = (data.draw(costs) for _ in range(3))
    cells = pipeline_schedule(
        p, m, policy, forward_cost=forward, backward_cost=backward, latency=latency[1:]
    )
    run = run_schedule(cut(layers, p), inputs, targets, functional.mse_loss, cells)
    exact, scale, loss = sample_by_sample(
        nn.Sequential(*layers), inputs, targets, functional.mse_loss
    )
    # each of a gradient's terms went through all layers twice, `width` products in each
    terms = batch + 2 * width * len(layers)
    for got, want, size_of_terms in zip(flat(run), exact, scale, strict=True):
        bound = rounding_bound(dtype, terms, size_of_terms.max().item())
        assert (got.cpu().double() - want).abs().max() <= bound
        assert got.dtype == dtype
        assert not got.requires_grad
    assert abs(run.loss.item() - loss) <= rounding_bound(dtype, terms, loss)
    assert run.loss.shape == ()
    assert not run.loss.requires_grad
    assert run.peak_inflight == peak_inflight_per_stage(cells)


def classifier(device):
    torch.manual_seed(3)
    stages = [
        nn.Sequential(nn.Embedding(11, 6, sparse=True), nn.LayerNorm(6)),
        nn.Sequential(nn.ReLU(inplace=True), nn.Linear(6, 6)),
        nn.Sequential(nn.GELU(), nn.Linear(6, 4)),
    ]
    tokens, classes = torch.randint(11, (12,)), torch.randint(4, (12,))
    return [stage.to(device) for stage in stages], tokens.to(device), classes.to(device)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_classifier_of_tokens_with_layers_that_work_in_place(rounding_bound, device, policy):
    stages, tokens, classes = classifier(device)
    before = tokens.clone()
    cells = pipeline_schedule(3, 4, policy)
    run = run_schedule(stages, tokens, classes, functional.cross_entropy, cells)
    whole = nn.Sequential(*stages)
    exact, scale, _ = sample_by_sample(whole, tokens, classes, functional.cross_entropy)
    for got, want, size in zip(flat(run), exact, scale, strict=True):
        bound = rounding_bound(torch.float32, 200, size.max().item())
        assert (got.cpu().double() - want.to_dense()).abs().max() <= bound
    assert torch.equal(tokens, before)
    names = [list(gradients) for gradients in run.gradients]
    assert names == [["0.weight", "1.weight", "1.bias"], *[["1.weight", "1.bias"]] * 2]


@pytest.mark.parametrize("policy", POLICIES)
def test_nothing_of_the_caller_changes(policy):
    layers = layers_of(3, 4, seed=0)
    layers[0].insert(0, nn.ReLU(inplace=True))
    inputs = torch.randn(6, 4, requires_grad=True)
    kept = torch.randn_like(layers[1][0].weight)
    layers[1][0].weight.grad = kept
    state = copy.deepcopy(nn.Sequential(*layers).state_dict())
    before, bits = inputs.detach().clone(), kept.clone()
    with torch.no_grad():
        run = run_schedule(
            cut(layers, 3), inputs, inputs, functional.mse_loss, pipeline_schedule(3, 2, policy)
        )
    assert torch.equal(inputs, before)
    assert inputs.grad is None
    assert layers[1][0].weight.grad is kept
    assert torch.equal(kept, bits)
    assert all(p.grad is None for index in (0, 2) for p in layers[index].parameters())
    after = nn.Sequential(*layers).state_dict()
    assert all(torch.equal(after[name], state[name]) for name in state)
    assert all(gradient.abs().sum() > 0 for gradient in flat(run))


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad])
@pytest.mark.parametrize("policy", POLICIES)
def test_gradients_do_not_depend_on_the_callers_mode(policy, mode):
    stages, cells = cut(layers_of(2, 4, seed=0), 2), pipeline_schedule(2, 3, policy)
    x, y = torch.randn(2, 6, 4)
    plain = run_schedule(stages, x, y, functional.mse_loss, cells)
    with mode():
        inside = run_schedule(stages, x.clone(), y.clone(), functional.mse_loss, cells)
        made_here = [x.clone(), y.clone()]
    after = run_schedule(stages, *made_here, functional.mse_loss, cells)
    for other in (inside, after):
        assert same_bits(plain, other)
        assert torch.equal(plain.loss, other.loss)
        assert not any(tensor.is_inference() for tensor in (other.loss, *flat(other)))


@pytest.mark.parametrize("frozen", [(0,), (1,), (2,), (0, 1), (0, 1, 2)])
def test_frozen_stages_pass_gradients_on_and_have_none(frozen):
    layers = layers_of(3, 4, seed=1)
    x, y = torch.randn(6, 4), torch.randn(6, 4)
    cells = pipeline_schedule(3, 3, "1f1b")
    free = run_schedule(cut(layers, 3), x, y, functional.mse_loss, cells)
    for index in frozen:
        layers[index].requires_grad_(requires_grad=False)
    with ledger.record() as log:
        run = run_schedule(cut(layers, 3), x, y, functional.mse_loss, cells)
    for stage in range(3):
        assert bool(run.gradients[stage]) == (stage not in frozen)
        for name, gradient in run.gradients[stage].items():
            assert torch.equal(gradient, free.gradients[stage][name])
    assert torch.equal(run.loss, free.loss)
    assert len(log.transfers) == 2 * 2 * 3


class Detached(nn.Module):
    def forward(self, x):
        return x.detach()


class Unused(nn.Module):
    def __init__(self):
        super().__init__()
        self.spare = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x


def test_parameters_that_nothing_depends_on_have_a_gradient_of_zero():
    first, last = nn.Linear(2, 2), nn.Linear(2, 2)
    cells = pipeline_schedule(3, 2)
    x, y = torch.randn(4, 2), torch.randn(4, 2)
    run = run_schedule([first, Unused(), last], x, y, functional.mse_loss, cells)
    assert torch.equal(run.gradients[1]["spare"], torch.zeros(3))
    assert all(gradient.any() for stage in (0, 2) for gradient in run.gradients[stage].values())
    run = run_schedule([first, Detached(), last], x, y, functional.mse_loss, cells)
    assert not any(gradient.any() for gradient in run.gradients[0].values())
    assert all(gradient.any() for gradient in run.gradients[2].values())


def test_a_layer_in_two_stages_gets_a_part_of_its_gradient_in_each(rounding_bound):
    torch.manual_seed(5)
    tied, middle = nn.Linear(3, 3).double(), nn.Tanh()
    x, y = torch.randn(2, 8, 3, dtype=torch.float64)
    cells = pipeline_schedule(3, 4, "1f1b")
    run = run_schedule([tied, middle, tied], x, y, functional.mse_loss, cells)
    exact, scale, _ = sample_by_sample(nn.Sequential(tied, middle, tied), x, y, functional.mse_loss)
    for name, want, size in zip(("weight", "bias"), exact, scale, strict=True):
        got = run.gradients[0][name] + run.gradients[2][name]
        bound = rounding_bound(torch.float64, 100, size.max().item())
        assert (got - want).abs().max() <= bound
        assert (run.gradients[0][name] - want).abs().max() > 1000 * bound


@pytest.mark.parametrize(
    "layout", [lambda x: x.t().contiguous().t(), lambda x: x[::2], lambda x: x[:1].expand(6, 4)]
)
def test_strided_and_expanded_inputs(layout):
    layers = layers_of(2, 4, seed=2)
    x = layout(torch.randn(12, 4))
    x = x[:6]
    cells = pipeline_schedule(2, 3)
    runs = [run_schedule(cut(layers, 2), i, i, functional.mse_loss, cells) for i in (x, x.clone())]
    assert same_bits(*runs)


def test_half_precision_and_more_dimensions(rounding_bound):
    layers = layers_of(4, 6, seed=4, dtype=torch.bfloat16)
    x, y = torch.randn(2, 4, 3, 6).bfloat16()
    run = run_schedule(cut(layers, 2), x, y, functional.mse_loss, pipeline_schedule(2, 2, "1f1b"))
    exact, scale, _ = sample_by_sample(nn.Sequential(*layers), x, y, functional.mse_loss)
    for got, want, size in zip(flat(run), exact, scale, strict=True):
        assert got.dtype == torch.bfloat16
        bound = rounding_bound(torch.bfloat16, 100, size.max().item())
        assert (got.double() - want).abs().max() <= bound


def test_both_policies_give_the_same_bits():
    for m in (1, 2, 4, 8):
        layers = layers_of(4, 8, seed=m)
        x, y = torch.randn(2, 16, 8)
        runs = [
            run_schedule(cut(layers, 4), x, y, functional.mse_loss, pipeline_schedule(4, m, policy))
            for policy in POLICIES
        ]
        assert same_bits(*runs)
        assert torch.equal(runs[0].loss, runs[1].loss)


def test_nan_and_inf_arrive_in_the_gradients():
    layers = layers_of(2, 3, seed=0)
    for poison in (float("nan"), float("inf")):
        x = torch.ones(4, 3)
        x[2, 1] = poison
        run = run_schedule(cut(layers, 2), x, x, functional.mse_loss, pipeline_schedule(2, 2))
        assert not run.loss.isfinite()
        assert any(not gradient.isfinite().all() for gradient in flat(run))


class Handle:
    """What a graph holds in place of a tensor; its end can be watched."""

    def __init__(self, tensor):
        self.tensor = tensor


class Watched(nn.Module):
    """A layer that notes what it is called with, and what autograd keeps for its backward."""

    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)
        self.rows, self.alive, self.peak = [], 0, 0

    def forward(self, x):
        self.rows.append(len(x))
        with torch.autograd.graph.saved_tensors_hooks(self.pack, lambda handle: handle.tensor):
            return torch.sigmoid(self.layer(x))

    def pack(self, tensor):
        if tensor.shape == self.layer.weight.shape:  # the weight is no activation
            return Handle(tensor)
        self.alive += 1
        self.peak = max(self.peak, self.alive)
        handle = Handle(tensor)
        weakref.finalize(handle, self.freed)
        return handle

    def freed(self):
        self.alive -= 1


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("p", "m"), [(1, 1), (1, 4), (4, 1), (4, 2), (4, 4), (3, 12)])
def test_devices_really_hold_no_more_activations_than_the_schedule_says(policy, p, m):
    stages = [Watched(7) for _ in range(p)]
    cells = pipeline_schedule(p, m, policy)
    run = run_schedule(
        stages, torch.ones(2 * m, 7), torch.ones(2 * m, 7), functional.mse_loss, cells
    )
    per_microbatch = 2  # the input of the linear layer, and the output of the sigmoid
    assert [stage.peak for stage in stages] == [per_microbatch * n for n in run.peak_inflight]
    assert [stage.alive for stage in stages] == [0] * p
    assert all(stage.rows == [2] * m for stage in stages)
    assert run.peak_inflight == [m if policy == "gpipe" else min(m, p - s) for s in range(p)]


class Diary(nn.Module):
    """A layer that writes down its forwards and backwards."""

    def __init__(self, stage, pages):
        super().__init__()
        self.stage, self.pages = stage, pages
        self.layer = nn.Linear(1, 1)

    def forward(self, x):
        self.pages.append((self.stage, "F"))
        output = self.layer(x)
        output.register_hook(lambda _: self.pages.append((self.stage, "B")))
        return output


@pytest.mark.parametrize("policy", POLICIES)
def test_cells_run_in_the_order_in_which_they_end(policy):
    pages, num_stages = [], 3
    stages = [Diary(stage, pages) for stage in range(num_stages)]
    cells = pipeline_schedule(3, 5, policy, forward_cost=[1, 3, 2], backward_cost=2, latency=1)
    x = torch.ones(5, 1)
    random.Random(0).shuffle(cells)
    run_schedule(stages, x, x, functional.mse_loss, cells)
    assert pages == [(c.stage, c.op) for c in sorted(cells, key=lambda c: (c.end, c.start))]


def test_a_schedule_of_ones_own():
    """Backwards in reverse order, as GPipe's figure draws them."""
    p, m = 2, 3
    cells = [Cell(s, i, "F", s + i, s + i + 1) for s in range(p) for i in range(m)]
    cells += [Cell(1, i, "B", 6 - i, 7 - i) for i in range(m)]
    cells += [Cell(0, i, "B", 7 - i, 8 - i) for i in range(m)]
    layers = layers_of(2, 3, seed=0, dtype=torch.float64)
    x, y = torch.randn(2, 6, 3, dtype=torch.float64)
    mine = run_schedule(cut(layers, 2), x, y, functional.mse_loss, cells)
    theirs = run_schedule(
        cut(layers, 2), x, y, functional.mse_loss, pipeline_schedule(p, m, "gpipe")
    )
    for one, other in zip(flat(mine), flat(theirs), strict=True):
        assert (one - other).abs().max() <= 8 * torch.finfo(one.dtype).eps * other.abs().max()
    assert mine.peak_inflight == [3, 3]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("p", "m"), [(1, 3), (2, 1), (3, 2), (3, 5), (4, 8)])
def test_the_ledger_has_every_message(policy, p, m):
    width, size = 5, 2
    cells = pipeline_schedule(p, m, policy, backward_cost=2, latency=0.5)
    layers = layers_of(p, width, seed=0, dtype=torch.float64)
    x = torch.randn(m * size, width, dtype=torch.float64)
    with ledger.record(payloads=True) as log:
        run_schedule(cut(layers, p), x, x, functional.mse_loss, cells)
    assert log.calls == ["run_schedule"]
    assert log.total_bytes() == 2 * (p - 1) * m * size * width * 8
    expected = {("send_forward", s, s + 1, i) for s in range(p - 1) for i in range(m)}
    expected |= {("send_backward", s + 1, s, i) for s in range(p - 1) for i in range(m)}
    assert {(t.op, t.source, t.destination, t.chunk) for t in log.transfers} == expected
    assert len(log.transfers) == len(expected)
    end = {(c.op, c.stage, c.microbatch): c.end for c in cells}
    instants = [end[t.op[5].upper(), t.source, t.chunk] for t in log.transfers]
    numbers = {instant: step for step, instant in enumerate(sorted(set(instants)))}
    assert [t.step for t in log.transfers] == [numbers[instant] for instant in instants]
    with torch.no_grad():
        for t in log.transfers:
            if t.op == "send_forward":
                part = x[t.chunk * size : (t.chunk + 1) * size]
                sent = nn.Sequential(*layers[: t.destination])(part)
                assert torch.equal(t.payload, sent)
            assert t.payload.shape == (size, width)
            assert t.num_bytes == size * width * 8


def test_the_next_run_continues_the_ledgers_steps():
    layers = layers_of(2, 2, seed=0)
    x = torch.ones(2, 2)
    with ledger.record() as log:
        for _ in range(2):
            run_schedule(cut(layers, 2), x, x, functional.mse_loss, pipeline_schedule(2, 1))
    assert [(t.op, t.step) for t in log.transfers] == [
        ("send_forward", 0),
        ("send_backward", 1),
        ("send_forward", 2),
        ("send_backward", 3),
    ]


@given(
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(1, 6),
    st.integers(1, 4),
    st.sampled_from(POLICIES),
    st.integers(0, 2**40),
    st.data(),
)
@settings(deadline=None, max_examples=60)
def test_gradient_match_matches(num_layers, width, m, size, policy, seed, data):
    num_stages = data.draw(st.integers(1, num_layers))
    shape = (num_layers, width, m * size, num_stages, m, policy)
    found = gradient_match(*shape, seed=seed)
    assert found["allclose"] is True
    assert 0 <= found["max_rel_diff"] <= found["tolerance"] < 1e-4
    assert found["peak_inflight"] == [
        m if policy == "gpipe" else min(m, num_stages - s) for s in range(num_stages)
    ]
    assert found["makespan"] == 2 * (m + num_stages - 1)
    assert found["loss"] == pytest.approx(found["single_device_loss"], rel=found["tolerance"])
    assert found == gradient_match(*shape, seed=seed)


@pytest.mark.parametrize("m", [1, 4])
def test_gradient_match_of_one_microbatch_has_the_same_bits_as_one_device(m):
    found = gradient_match(num_layers=6, width=8, batch=12, num_stages=3, num_microbatches=m)
    assert (found["max_rel_diff"] == 0) == (m == 1)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_gradient_match_follows_torchs_defaults(device, dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            found = gradient_match(4, 8, 12, 2, 3, "1f1b")
    finally:
        torch.set_default_dtype(before)
    assert found["allclose"]
    assert found["tolerance"] == 8 * torch.finfo(dtype).eps * (12 + 64) ** 0.5
    assert found["max_rel_diff"] > 0


@pytest.mark.parametrize(
    "mode",
    [
        torch.inference_mode,
        torch.no_grad,
        lambda: torch.autocast("cpu", dtype=torch.bfloat16),
        lambda: torch.autograd.set_detect_anomaly(mode=True),
    ],
)
def test_gradient_match_does_not_depend_on_the_callers_mode(mode):
    plain = gradient_match(4, 8, 12, 2, 3, "1f1b")
    with mode():
        assert gradient_match(4, 8, 12, 2, 3, "1f1b") == plain


def test_gradient_match_needs_a_device_with_numbers():
    with torch.device("meta"), pytest.raises(ValueError, match=r"default device is .meta., wh"):
        gradient_match(4, 8, 12, 2, 3)


def test_schedules_run_on_tensors_that_have_only_shapes():
    stages = [stage.to("meta") for stage in cut(layers_of(2, 4, seed=0), 2)]
    x = torch.zeros(6, 4, device="meta")
    with ledger.record() as log:
        run = run_schedule(stages, x, x, functional.mse_loss, pipeline_schedule(2, 3, "1f1b"))
    assert run.peak_inflight == [2, 1]
    assert {g.device.type for g in flat(run)} == {"meta"}
    assert log.total_bytes() == 2 * x.numel() * 4


def test_gradient_match_leaves_random_numbers_alone_and_follows_its_seed():
    state = torch.random.get_rng_state()
    losses = {gradient_match(2, 3, 4, 2, 2, seed=seed)["loss"] for seed in (0, 0, 1, 2)}
    assert len(losses) == 3
    assert torch.equal(state, torch.random.get_rng_state())


def test_gradient_match_measures_against_one_device(monkeypatch):
    def doubled(*arguments):
        run = run_schedule(*arguments)
        for gradient in flat(run):
            gradient.mul_(2)
        return run

    monkeypatch.setattr(exactness, "run_schedule", doubled)
    found = gradient_match(num_layers=2, width=3, batch=4, num_stages=2, num_microbatches=2)
    assert found["max_rel_diff"] == pytest.approx(1, rel=1e-5)


def test_the_layers_of_gradient_match_are_those_of_its_docstring():
    layer = exactness._Residual(3, 4, torch.Generator().manual_seed(0))
    x = torch.randn(2, 3)
    assert torch.equal(layer(x), x + 0.25 * torch.tanh(x @ layer.weight.T + layer.bias))
    deep = gradient_match(num_layers=400, width=3, batch=4, num_stages=4, num_microbatches=2)
    assert deep["allclose"]
    assert deep["loss"] < 1000


@pytest.mark.parametrize("poison", ["lost", "twice", "nan"])
def test_gradient_match_sees_a_gradient_that_is_wrong(monkeypatch, poison):
    """One micro-batch is lost or counted twice, or the last parameter's gradient is no number."""

    def wrong(*arguments):
        run = run_schedule(*arguments)
        gradient = list(run.gradients[-1].values())[-1]
        gradient.mul_({"lost": 0.75, "twice": 1.25, "nan": float("nan")}[poison])
        return run

    monkeypatch.setattr(exactness, "run_schedule", wrong)
    found = gradient_match(num_layers=6, width=8, batch=12, num_stages=3, num_microbatches=4)
    assert found["allclose"] is False
    assert not found["max_rel_diff"] <= 0.001
