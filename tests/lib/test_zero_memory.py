"""What each device keeps, holds for a while, and sends: measured, against the formulas."""

from __future__ import annotations

import gc
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef

from shardwise import ledger
from shardwise.communication import zero_communication_elements_exact
from shardwise.memory import zero_memory_breakdown_exact
from shardwise.zero import ZeroTrainer, _units

BF16, FP16, FP32, FP64 = torch.bfloat16, torch.float16, torch.float32, torch.float64
RECIPES = {  # weights, gradients
    "2+2+12": [(BF16, None), (FP16, FP16)],
    "2+4+12": [(BF16, FP32)],
    "4+4+8": [(FP32, None)],
}
CASES = [(recipe, *dtypes) for recipe, kinds in RECIPES.items() for dtypes in kinds]
property_test = settings(deadline=None, max_examples=15)
widths = st.lists(st.integers(1, 6), min_size=2, max_size=4)


def chain(widths, device):
    return [nn.Linear(a, b, device=device) for a, b in pairwise(widths)]


def one_step(trainer, widths, num_devices, device):
    xs = [torch.ones(1, widths[0], device=device)] * num_devices
    ys = [torch.ones(1, widths[-1], device=device)] * num_devices
    with ledger.record() as log:
        trainer.step(xs, ys)
    return log


def padding(numels, num_devices):
    return sum(-numel % num_devices for numel in numels)


def tensors_kept_by(*roots):
    """Return the bytes of all tensors that can be reached from these, each storage once."""
    seen, storages, queue = set(), {}, list(roots)
    while queue:
        thing = queue.pop()
        if id(thing) in seen or isinstance(thing, type):
            continue
        seen.add(id(thing))
        if isinstance(thing, torch.Tensor):
            storage = thing.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
        queue += gc.get_referents(thing)
    return sum(storages.values())


@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize(("recipe", "dtype", "grad_dtype"), CASES)
@property_test
@given(widths=widths, num_devices=st.integers(1, 6))
def test_what_a_device_keeps(device, stage, recipe, dtype, grad_dtype, widths, num_devices):
    layers = chain(widths, device)
    numels = [sum(p.numel() for p in layer.parameters()) for layer in layers]
    trainer = ZeroTrainer(
        layers, num_devices=num_devices, stage=stage, dtype=dtype, grad_dtype=grad_dtype
    )
    padded = padding(numels, num_devices) if stage else 0
    assert trainer.num_parameters == sum(numels)
    assert trainer.padded_elements == padded
    expected = zero_memory_breakdown_exact(sum(numels) + padded, num_devices, stage, recipe=recipe)
    assert trainer.bytes_per_device() == [expected] * num_devices
    one_step(trainer, widths, num_devices, device)
    assert trainer.bytes_per_device() == [expected] * num_devices


def test_nothing_else_is_kept(device):
    """The same bytes, found by walking through everything that a trainer refers to."""
    for stage in range(4):
        layers = chain([3, 5, 2], device)
        trainer = ZeroTrainer(layers, num_devices=3, stage=stage)
        one_step(trainer, [3, 5, 2], 3, device)
        for unit in trainer._units:
            unit.layout.parameters.clear()  # the caller's
        kept = tensors_kept_by(
            *(
                getattr(unit, name)
                for unit in trainer._units
                for name in ("weights", "grads", "full", "unreduced")
            ),
            *(vars(adam) for unit in trainer._units for adam in unit.adams),
        )
        total = sum(device_bytes["total"] for device_bytes in trainer.bytes_per_device())
        assert kept == total > 0


def test_float64_costs_32_bytes(device):
    trainer = ZeroTrainer(chain([3, 3], device), num_devices=4, stage=3, dtype=FP64)
    assert trainer.bytes_per_device()[3] == {
        "params": 24,
        "grads": 24,
        "optimizer": 48,
        "total": 96,
    }


def test_frozen_parameters_cost_their_weights_only(device):
    layers = chain([4, 4, 4], device)
    layers[0].requires_grad_(requires_grad=False)
    expected = {0: (80, 40, 240), 1: (80, 40, 60), 2: (80, 10, 60), 3: (20, 10, 60)}
    for stage, (params, grads, optimizer) in expected.items():
        trainer = ZeroTrainer(layers, num_devices=4, stage=stage)
        assert trainer.bytes_per_device()[1] == {
            "params": params,
            "grads": grads,
            "optimizer": optimizer,
            "total": params + grads + optimizer,
        }
        log = one_step(trainer, [4, 4, 4], 4, device)
        # Stage 3 gathers the 20 frozen ones twice, and nobody reduces them.
        trained = zero_communication_elements_exact(20, 4, stage)
        frozen = 2 * 20 * 3 // 4 if stage == 3 else 0
        assert log.total_bytes() == 4 * 2 * (trained + frozen)


@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize("dtype", [BF16, FP32, FP64])
@property_test
@given(widths=widths, num_devices=st.integers(1, 6))
def test_what_travels(device, stage, dtype, widths, num_devices):
    layers = chain(widths, device)
    trainer = ZeroTrainer(layers, num_devices=num_devices, stage=stage, dtype=dtype)
    log = one_step(trainer, widths, num_devices, device)
    psi = trainer.num_parameters + trainer.padded_elements
    each = zero_communication_elements_exact(psi, num_devices, stage) * dtype.itemsize
    assert log.total_bytes() == num_devices * each
    if stage:  # all slices have one size, so devices send the same
        for rank in range(num_devices):
            assert log.sent_by(rank) == log.received_by(rank) == each
    calls = {
        0: ["ring_all_reduce"],
        1: ["reduce_scatter", "all_gather"],
        2: ["reduce_scatter", "all_gather"],
        3: ["all_gather", "all_gather", "reduce_scatter"],
    }
    assert sorted(log.calls) == sorted(calls[stage] * len(layers))


def test_padding_is_part_of_what_travels(device):
    """9 and 6 parameters on 4 devices: 12 and 8, 5 of them padding."""
    trainer = ZeroTrainer(chain([2, 3, 1, 1], device), num_devices=4, stage=3)
    assert (trainer.num_parameters, trainer.padded_elements) == (9 + 4 + 2, 3 + 0 + 2)
    log = one_step(trainer, [2, 1], 4, device)
    assert log.total_bytes() == 4 * 2 * zero_communication_elements_exact(20, 4, 3)
    assert log.total_bytes() > 4 * 2 * zero_communication_elements_exact(15, 4, 3)


def test_fp32_gradients_travel_in_fp32(device):
    layers = chain([4, 4], device)
    for stage, elements_bytes in {0: 2 * 4, 1: 4 + 2, 2: 4 + 2, 3: 4 + 2 + 2}.items():
        trainer = ZeroTrainer(layers, num_devices=4, stage=stage, grad_dtype=FP32)
        log = one_step(trainer, [4, 4], 4, device)
        assert log.sent_by(0) == 20 * 3 // 4 * elements_bytes


class Spy(nn.Module):
    """A layer that notes how many bytes of gathered weights are alive, on both ways."""

    def __init__(self, width, alive, log):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.alive, self.log = alive, log

    def forward(self, x):
        self.log.append(self.alive())
        if x.requires_grad:
            x.register_hook(lambda _: self.log.append(self.alive()))
        return torch.tanh(self.inner(x))


@pytest.fixture
def gathered(monkeypatch):
    """What all-gathers returned and somebody still holds, in bytes."""
    storages = []

    def all_gather(shards):
        results = real(shards)
        storages.extend((StorageWeakRef(r.untyped_storage()), r.nbytes) for r in results)
        return results

    real = _units.all_gather
    monkeypatch.setattr(_units, "all_gather", all_gather)
    return lambda: sum(size for reference, size in storages if not reference.expired())


def test_stage_3_holds_one_layer_at_a_time(device, gathered):
    num_devices, log = 3, []
    layers = [Spy(4, gathered, log).to(device) for _ in range(6)]
    trainer = ZeroTrainer(layers, num_devices=num_devices, stage=3)
    one_step(trainer, [4, 4], num_devices, device)
    layer = 2 * 21  # 20 parameters, padded to 21, 2 bytes each
    assert log == [num_devices * layer] * (6 + 5) * num_devices
    assert gathered() == 0
    assert trainer.peak_gathered_bytes == layer
    assert trainer.peak_unreduced_bytes == layer
    one_step(trainer, [4, 4], num_devices, device)
    assert trainer.peak_gathered_bytes == layer


@pytest.mark.parametrize("stage", range(4))
def test_peaks(device, stage):
    layers = [nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 5), nn.Linear(5, 1)]
    trainer = ZeroTrainer([layer.to(device) for layer in layers], num_devices=4, stage=stage)
    assert trainer.peak_gathered_bytes == trainer.peak_unreduced_bytes == 0
    one_step(trainer, [2, 1], 4, device)
    assert trainer.peak_gathered_bytes == (2 * 20 if stage == 3 else 0)
    assert trainer.peak_unreduced_bytes == (2 * 20 if stage >= 2 else 0)


class Reuse(nn.Module):
    def __init__(self, other):
        super().__init__()
        self.weight = other.weight

    def forward(self, x):
        return x @ self.weight


def test_tied_weights_stay_from_their_first_layer_to_their_last(device):
    first = nn.Linear(4, 4)  # its bias is a unit of its own: one layer uses it
    layers = [first, nn.Linear(4, 8), nn.Linear(8, 4), Reuse(first), nn.Linear(4, 4)]
    trainer = ZeroTrainer([layer.to(device) for layer in layers], num_devices=4, stage=3)
    log = one_step(trainer, [4, 4], 4, device)
    assert trainer.num_parameters == 20 + 40 + 36 + 20
    assert trainer.padded_elements == 0
    assert trainer.peak_gathered_bytes == 2 * (16 + 40)
    assert trainer.peak_unreduced_bytes == 2 * (16 + 40)
    assert log.total_bytes() == 4 * 2 * zero_communication_elements_exact(116, 4, 3)


class Alias(nn.Module):
    """Returns a view of its own weight: what it returns keeps the memory, and stays right."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.ones(2, 3))

    def forward(self, x):
        return self.table[: len(x)]


class Bits(nn.Module):
    """Saves its weight for the backward pass under another dtype: zeros, read as indices."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1, 12))

    def forward(self, x):
        return x.index_select(1, self.weight.view(torch.int64)[0])  # four bf16 make one int64


@pytest.mark.parametrize("module", [Alias, Bits])
def test_layers_that_hand_out_their_weights(device, module):
    layers = [nn.Linear(3, 3).to(device), module().to(device), nn.Linear(3, 1).to(device)]
    results = []
    for stage in range(4):
        trainer = ZeroTrainer(layers, num_devices=2, stage=stage, lr=0.1)
        one_step(trainer, [3, 1], 2, device)
        results.append(trainer.parameters_full())
    for name, want in results[0].items():
        assert all(torch.equal(result[name], want) for result in results)
    (name,) = dict(layers[1].named_parameters())
    before = dict(layers[1].named_parameters())[name].to(BF16)
    assert torch.equal(results[0][f"1.{name}"], before) == (module is Bits)
    assert torch.equal(results[0]["0.weight"], layers[0].weight.to(BF16)) == (module is Alias)
