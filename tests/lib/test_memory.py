"""Memory formulas against exact arithmetic, a slow search, and the bytes of real tensors."""

from __future__ import annotations

import gc
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from shardwise.memory import (
    fewest_devices,
    training_memory_bytes,
    zero_memory_breakdown,
    zero_memory_breakdown_exact,
    zero_memory_per_device,
    zero_memory_per_device_exact,
)
from shardwise.memory.recipes import PARTS, RECIPES, Recipe

property_test = settings(deadline=None, max_examples=200)
psis = st.one_of(st.integers(0, 10**6), st.integers(0, 10**15 + 1))
stages = st.integers(0, 3)
recipes = st.sampled_from(sorted(RECIPES))

# What each stage replicates and partitions under 2+2+12, as the paper's table prints it.
TABLE = {0: (16, 0), 1: (4, 12), 2: (2, 14), 3: (0, 16)}


def test_the_recipes_are_the_six_of_the_book():
    totals = {name: recipe.bytes_per_param for name, recipe in RECIPES.items()}
    assert totals == {
        "2+2+12": 16,
        "2+4+12": 18,
        "2+6+12": 20,
        "4+4+8": 16,
        "2+0+8": 10,
        "2+2+4": 8,
    }
    for name, recipe in RECIPES.items():
        assert name == recipe.name == f"{recipe.params}+{recipe.grads}+{recipe.optimizer}"
        assert recipe.description
    with pytest.raises(TypeError):
        RECIPES["mine"] = RECIPES["2+2+12"]


@property_test
@given(psi=psis, num_devices=st.integers(1, 10**6), stage=stages)
def test_the_stage_table(psi, num_devices, stage):
    replicated, partitioned = TABLE[stage]
    want = replicated * psi + Fraction(partitioned * psi, num_devices)
    assert zero_memory_per_device_exact(psi, num_devices, stage) == want
    got = zero_memory_per_device(psi, num_devices, stage)
    assert type(got) is float
    assert got == want.numerator / want.denominator  # int / int rounds once, as it must be


@property_test
@given(psi=psis, num_devices=st.integers(1, 10**6), stage=stages, recipe=recipes)
def test_the_breakdown_adds_up(psi, num_devices, stage, recipe):
    exact = zero_memory_breakdown_exact(psi, num_devices, stage, recipe=recipe)
    whole = training_memory_bytes(psi, recipe=recipe)
    assert list(exact) == list(whole) == [*PARTS, "total"]
    assert exact["total"] == sum(exact[part] for part in PARTS)
    assert whole["total"] == RECIPES[recipe].bytes_per_param * psi
    assert all(type(size) is int for size in whole.values())
    for part, from_stage in (("optimizer", 1), ("grads", 2), ("params", 3)):
        assert exact[part] * (num_devices if stage >= from_stage else 1) == whole[part]
    rounded = zero_memory_breakdown(psi, num_devices, stage, recipe=recipe)
    assert rounded == {part: float(size) for part, size in exact.items()}
    assert rounded["total"] == zero_memory_per_device(psi, num_devices, stage, recipe=recipe)


@property_test
@given(psi=psis, num_devices=st.integers(1, 10**6), recipe=recipes)
def test_more_stages_and_more_devices_never_cost_memory(psi, num_devices, recipe):
    sizes = [zero_memory_per_device(psi, num_devices, s, recipe=recipe) for s in range(4)]
    assert sizes == sorted(sizes, reverse=True)
    for stage, size in enumerate(sizes):
        assert zero_memory_per_device(psi, num_devices + 1, stage, recipe=recipe) <= size
        one = zero_memory_per_device(psi, 1, stage, recipe=recipe)
        assert one == training_memory_bytes(psi, recipe=recipe)["total"]


def test_the_recipe_changes_the_stage_table():
    got = zero_memory_breakdown_exact(100, 4, 2, recipe="4+4+8")
    assert got == {"params": 400, "grads": 100, "optimizer": 200, "total": 700}
    mine = Recipe("2+2+6", 2, 2, 6, "8-bit Adam moments with an fp32 master copy")
    assert zero_memory_per_device(100, 2, 1, recipe=mine) == 400 + 300
    assert training_memory_bytes(100, recipe=mine)["total"] == 1000


def test_whole_numbers_may_be_written_as_floats_or_fractions():
    assert training_memory_bytes(7.5e9) == training_memory_bytes(7_500_000_000)
    assert training_memory_bytes(Fraction(8, 2)) == training_memory_bytes(4)
    assert zero_memory_per_device(1e6, 8, 2) == 3750000.0


@settings(deadline=None, max_examples=100)
@given(
    psi=st.integers(0, 200),
    stage=stages,
    gpu_bytes=st.one_of(st.integers(0, 4000), st.floats(0, 4000)),
    recipe=recipes,
    reserved_bytes=st.integers(0, 500),
)
def test_fewest_devices_against_a_search(psi, stage, gpu_bytes, recipe, reserved_bytes):
    def fits(num_devices):
        state = zero_memory_per_device_exact(psi, num_devices, stage, recipe=recipe)
        return state + reserved_bytes <= Fraction(gpu_bytes)

    got = fewest_devices(psi, stage, gpu_bytes, recipe=recipe, reserved_bytes=reserved_bytes)

    want = next(filter(fits, range(1, 40)), None)
    if want is not None:
        assert got == want
    elif got is not None:  # beyond the search: minimal all the same
        assert type(got) is int
        assert fits(got)
        assert not fits(got - 1)
    else:
        assert not fits(10**9)


def test_fewest_devices_at_the_edges():
    assert fewest_devices(0, 0, 0) == 1
    assert fewest_devices(5, 0, 80) == 1
    assert fewest_devices(5, 0, 79) is None
    assert fewest_devices(10, 1, 40) is None  # 4Ψ alone fills it: 12Ψ/N never fits
    assert fewest_devices(10, 1, 40 + 1e-9) > 10**9
    assert fewest_devices(10**30, 3, 1) == 16 * 10**30  # no search
    assert fewest_devices(70e9, 3, 80e9) == 14
    assert fewest_devices(7.5e9, 3, 80e9, reserved_bytes=60e9) == 6


# ---------------------------------------------------------------- measured bytes of real tensors


class Births(TorchDispatchMode):
    """Sees every tensor that comes into being, and knows which storages are still there."""

    def __init__(self):
        super().__init__()
        self.storages = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        results = func(*args, **(kwargs or {}))
        for result in tree_leaves(results):
            if isinstance(result, torch.Tensor):
                storage = result.untyped_storage()
                reference = StorageWeakRef(storage)
                self.storages.setdefault(reference.cdata, (reference, storage.nbytes()))
        return results

    def bytes_alive(self):
        return sum(size for reference, size in self.storages.values() if not reference.expired())


class AdamAsGradientsCome:
    """Adam with fp32 moments on 16-bit weights, run on each gradient as soon as it is there."""

    def __init__(self, params):
        self.moments = {p: [torch.zeros_like(p, dtype=torch.float32) for _ in "mv"] for p in params}
        for p in params:
            p.register_post_accumulate_grad_hook(self.update)

    @torch.no_grad()
    def update(self, p):
        gradient, (m, v) = p.grad.float(), self.moments[p]
        m.lerp_(gradient, 0.1)
        v.lerp_(gradient.square(), 0.001)
        p -= (0.001 * (m / 0.1) / ((v / 0.001).sqrt() + 1e-8)).to(p.dtype)
        p.grad = None


def gradients_of(params):
    return [p.grad for p in params if p.grad is not None]


def step_on_masters(params, gradients, kept):
    """Let Adam step on fp32 master copies; return what stays, the masters' gradients not."""
    masters = [nn.Parameter(p.detach().float()) for p in params]
    for master, gradient in zip(masters, gradients, strict=True):
        master.grad = gradient.float()
    adam = torch.optim.Adam(masters)
    adam.step()
    adam.zero_grad(set_to_none=True)
    with torch.no_grad():
        for p, master in zip(params, masters, strict=True):
            p.copy_(master)
    return {"params": params, "grads": kept, "optimizer": [*masters, *moments(adam)]}, adam


def moments(adam):
    return [state[key] for state in adam.state.values() for key in ("exp_avg", "exp_avg_sq")]


def train(name, device):
    """Take a step as the recipe's users do; return the tensors that stay by kind, and the owner."""
    dtype = torch.float32 if name == "4+4+8" else torch.bfloat16
    model = nn.Sequential(nn.Linear(12, 20), nn.GELU(), nn.Linear(20, 4)).to(device, dtype)
    params = list(model.parameters())
    as_they_come = AdamAsGradientsCome(params) if name == "2+0+8" else None
    x = torch.randn(3, 12, device=device, dtype=dtype)
    with torch.autocast(device, torch.bfloat16, enabled=name == "4+4+8"):
        loss = model(x).square().mean()
    loss.backward()
    if as_they_come:
        both = [moment for pair in as_they_come.moments.values() for moment in pair]
        return {"params": params, "grads": gradients_of(params), "optimizer": both}, as_they_come
    if name == "2+2+12":
        return step_on_masters(params, gradients_of(params), kept=gradients_of(params))
    if name in {"2+4+12", "2+6+12"}:
        buffers = [torch.zeros_like(p, dtype=torch.float32) for p in params]
        for buffer, p in zip(buffers, params, strict=True):
            buffer.add_(p.grad)
            if name == "2+4+12":  # Megatron-LM accumulates in the buffer and drops the 16-bit one
                p.grad = None
        return step_on_masters(params, buffers, kept=[*gradients_of(params), *buffers])
    adam = torch.optim.Adam(params)
    adam.step()
    kept = {"params": params, "grads": gradients_of(params), "optimizer": moments(adam)}
    return kept, adam


def size(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_recipes_are_the_bytes_of_all_that_stays_after_a_real_step(device, name):
    torch.manual_seed(0)
    with Births() as births:
        state, owner = train(name, device)
        gc.collect()
        alive = births.bytes_alive()
    params = state["params"]
    predicted = training_memory_bytes(sum(p.numel() for p in params), recipe=name)
    assert {part: size(state[part]) for part in PARTS} == {p: predicted[p] for p in PARTS}
    counters = 4 * len(params) if isinstance(owner, torch.optim.Adam) else 0  # of Adam's steps
    assert alive == predicted["total"] + counters
