"""f and g and their sequence forms: what each does forward and backward, and what it moves."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise import ledger
from shardwise.tensor_parallel import (
    collapse,
    f,
    g,
    gather_sequence,
    replicate,
    ring_all_reduce,
    scatter_sequence,
)

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
property_test = settings(deadline=None, max_examples=60)


def leaves(seed, sizes, dtype, device):
    """One leaf for each device; a transposed one, so that none is contiguous."""
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(size, 3, 2, generator=generator).to(dtype).to(device).mT.requires_grad_()
        for size in sizes
    ]


def recorded_gradients(outputs, inputs, upstream):
    with ledger.record() as log:
        return torch.autograd.grad(outputs, inputs, upstream), log


def parts(length, count):
    return [part.numel() for part in torch.arange(length).tensor_split(count)]


@property_test
@given(st.integers(0, 2**31), st.integers(1, 5), st.sampled_from(FLOATS))
def test_f_is_the_identity_forward_and_an_all_reduce_backward(device, seed, count, dtype):
    inputs = leaves(seed, [4] * count, dtype, device)
    upstream = [x.detach() for x in leaves(seed + 1, [4] * count, dtype, device)]
    with ledger.record() as forward:
        outputs = f(inputs)
    assert forward.calls == []
    assert all(torch.equal(y, x) for y, x in zip(outputs, inputs, strict=True))
    gradients, log = recorded_gradients(outputs, inputs, upstream)
    assert log.calls == ["ring_all_reduce"]
    expected = ring_all_reduce(upstream)
    assert all(torch.equal(mine, e) for mine, e in zip(gradients, expected, strict=True))
    assert all(torch.equal(mine, gradients[0]) for mine in gradients)


@property_test
@given(st.integers(0, 2**31), st.integers(1, 5), st.sampled_from(FLOATS))
def test_g_is_an_all_reduce_forward_and_the_identity_backward(device, seed, count, dtype):
    inputs = leaves(seed, [4] * count, dtype, device)
    upstream = [x.detach() for x in leaves(seed + 1, [4] * count, dtype, device)]
    with ledger.record() as forward:
        outputs = g(inputs)
    assert forward.calls == ["ring_all_reduce"]
    expected = ring_all_reduce(inputs)
    assert all(torch.equal(y, e) for y, e in zip(outputs, expected, strict=True))
    gradients, log = recorded_gradients(outputs, inputs, upstream)
    assert log.calls == []
    assert all(torch.equal(mine, e) for mine, e in zip(gradients, upstream, strict=True))


@property_test
@given(st.data(), st.integers(0, 2**31), st.integers(1, 5), st.sampled_from(FLOATS))
def test_the_sequence_forms_are_each_others_backward(device, data, seed, count, dtype):
    length = data.draw(st.integers(count, 9))
    dim = data.draw(st.sampled_from([0, -3]))
    shards = leaves(seed, parts(length, count), dtype, device)
    wholes = leaves(seed + 1, [length] * count, dtype, device)
    size = wholes[0].numel() * wholes[0].element_size()
    once = (count - 1) * size  # (N-1)/N · M from each of N

    with ledger.record() as forward:
        gathered = gather_sequence(shards, dim=dim)
    assert (forward.calls, forward.total_bytes()) == (["all_gather"], once)
    assert all(torch.equal(y, torch.cat(shards)) for y in gathered)
    gradients, log = recorded_gradients(gathered, shards, [x.detach() for x in wholes])
    assert (log.calls, log.total_bytes()) == (["reduce_scatter"], once)

    with ledger.record() as forward:
        scattered = scatter_sequence(wholes, dim=dim)
    assert (forward.calls, forward.total_bytes()) == (["reduce_scatter"], once)
    assert all(torch.equal(y, e) for y, e in zip(scattered, gradients, strict=True))
    gradients, log = recorded_gradients(scattered, wholes, [x.detach() for x in shards])
    assert (log.calls, log.total_bytes()) == (["all_gather"], once)
    assert all(torch.equal(mine, torch.cat(shards)) for mine in gradients)


def test_scatter_sums_and_keeps_the_devices_own_part():
    whole = torch.arange(5.0).unsqueeze(-1)
    first, second = scatter_sequence([whole, 10 * whole])
    assert first.flatten().tolist() == [0.0, 11.0, 22.0]
    assert second.flatten().tolist() == [33.0, 44.0]


def test_replicate_and_collapse_own_their_memory_and_move_nothing(device):
    x = torch.ones(3, device=device, requires_grad=True)
    with ledger.record() as log:
        copies = replicate(x, 3)
        z = collapse(copies)
        z.add_(1)
        z.sum().backward()
    assert log.calls == []
    assert len({t.untyped_storage().data_ptr() for t in (x, z, *copies)}) == 5
    assert x.tolist() == x.grad.tolist() == [1.0, 1.0, 1.0]


def test_only_equal_tensors_collapse_into_one(device):
    nan = torch.tensor([1.0, math.nan, math.inf, -0.0], device=device)
    assert collapse([nan, nan.clone()])[:1].item() == 1.0
    for other in ([1.0, 2.0, math.inf, 0.0], [1.0, math.nan, -math.inf, 0.0]):
        with pytest.raises(ValueError, match=r"tensors\[2\] holds other numbers .* with g before"):
            collapse([nan, nan, torch.tensor(other, device=device)])


def split_square(x, weights, enter, leave):
    """Σᵢ (x wᵢ)² as a split block: device i holds wᵢ."""
    inputs = enter(replicate(x, len(weights)))
    return collapse(leave([(own * w) ** 2 for own, w in zip(inputs, weights, strict=True)]))


def test_a_block_between_f_and_g_has_true_gradients_twice():
    generator = torch.Generator().manual_seed(0)
    x, *weights = (
        torch.randn(4, generator=generator, dtype=torch.float64, requires_grad=True)
        for _ in range(4)
    )

    def block(x, *weights):
        return split_square(x, weights, f, g)

    assert torch.autograd.gradcheck(block, (x, *weights))
    assert torch.autograd.gradgradcheck(block, (x, *weights))


def test_without_f_a_device_knows_its_own_part_of_the_gradient_only():
    x = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    weights = [torch.tensor([w], dtype=torch.float64) for w in (1.0, 2.0)]
    gradients = {
        enter: torch.autograd.grad(split_square(x, weights, enter, g).sum(), x)[0].item()
        for enter in (f, list)
    }
    assert gradients == {f: 2 * (1.0**2 + 2.0**2), list: 2 * 1.0**2}


def test_a_sequence_between_gather_and_scatter_has_true_gradients_twice():
    generator = torch.Generator().manual_seed(0)
    x, *weights = (
        torch.randn(5, 2, generator=generator, dtype=torch.float64, requires_grad=True)
        for _ in range(4)
    )

    def block(x, *weights):
        inputs = gather_sequence(x.tensor_split(3))
        partial = [(own.cumsum(0) * w) ** 2 for own, w in zip(inputs, weights, strict=True)]
        return torch.cat(scatter_sequence(partial))

    assert torch.equal(block(x, *weights), block(x, *weights))
    assert torch.autograd.gradcheck(block, (x, *weights))
    assert torch.autograd.gradgradcheck(block, (x, *weights))


def test_a_device_whose_output_is_not_used_adds_a_zero_gradient():
    one, two = (torch.ones(2, requires_grad=True) for _ in range(2))
    f([one, two])[0].sum().backward()
    assert one.grad.tolist() == two.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("operator", [f, g, collapse, gather_sequence, scatter_sequence])
def test_what_the_operators_reject(operator):
    ones = torch.ones(2, 2)
    for wrong, error, match in (
        (None, TypeError, "must be a list"),
        ([], ValueError, "empty"),
        ([1.0], TypeError, r"tensors\[0\]"),
        ([ones, ones.double()], ValueError, r"tensors\[1\] has dtype"),
        ([ones, ones.to("meta")], ValueError, r"tensors\[1\] has device"),
        ([ones, ones[:, :1]], ValueError, r"tensors\[1\] has shape"),
        ([ones.long()] * 2, TypeError, "torch.float32"),
        ([ones.to(torch.complex64)] * 2, TypeError, "torch.float32"),
        ([ones.to_sparse()], TypeError, "dense"),
    ):
        with pytest.raises(error, match=match):
            operator(wrong)


def test_sequences_that_cannot_be_split():
    with pytest.raises(ValueError, match=r"\[1, 2\] positions.*tensor_split\(2, dim=-2\)"):
        gather_sequence([torch.ones(1, 2), torch.ones(2, 2)])
    with pytest.raises(ValueError, match=r"\[1, 0\] positions"):
        gather_sequence([torch.ones(1, 2), torch.ones(0, 2)])
    with pytest.raises(ValueError, match="3 devices share a sequence of 2"):
        scatter_sequence([torch.ones(2, 1)] * 3)
    for operator in (gather_sequence, scatter_sequence):
        with pytest.raises(ValueError, match="dim"):
            operator([torch.ones(2)] * 2)
        with pytest.raises(ValueError, match="0-d"):
            operator([torch.tensor(1.0)] * 2)
        with pytest.raises(TypeError, match="dim"):
            operator([torch.ones(2, 2)] * 2, dim=0.5)


def test_numbers_of_devices_that_cannot_be():
    for wrong, error in ((0, ValueError), (-1, ValueError), (True, TypeError), (1.0, TypeError)):
        with pytest.raises(error, match="num_devices"):
            replicate(torch.ones(1), wrong)
    with pytest.raises(TypeError, match="tensor"):
        replicate([1.0], 2)
