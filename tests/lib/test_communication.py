"""Volume formulas against the ledger: what they say is what travels."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise import ledger
from shardwise.collectives import all_gather, reduce_scatter, ring_all_reduce
from shardwise.communication import (
    ring_all_reduce_bytes,
    ring_all_reduce_bytes_exact,
    zero_communication_elements,
    zero_communication_elements_exact,
)

property_test = settings(deadline=None, max_examples=100)


@property_test
@given(num_devices=st.integers(1, 9), per_chunk=st.integers(0, 6))
def test_ring_bytes_are_what_each_device_sends(device, num_devices, per_chunk):
    tensors = [torch.ones(num_devices * per_chunk, device=device) for _ in range(num_devices)]
    with ledger.record() as log:
        ring_all_reduce(tensors)
    each = ring_all_reduce_bytes_exact(4 * num_devices * per_chunk, num_devices)
    for rank in range(num_devices):
        assert log.sent_by(rank) == log.received_by(rank) == each


@property_test
@given(num_devices=st.integers(1, 9), size=st.integers(0, 60))
def test_ring_bytes_are_the_mean_over_devices_when_chunks_differ(device, num_devices, size):
    with ledger.record() as log:
        ring_all_reduce([torch.ones(size, device=device) for _ in range(num_devices)])
    assert log.total_bytes() == num_devices * ring_all_reduce_bytes_exact(4 * size, num_devices)


@property_test
@given(num_bytes=st.integers(0, 10**18), num_devices=st.integers(1, 10**6))
def test_the_float_is_the_exact_value_rounded_once(num_bytes, num_devices):
    exact = ring_all_reduce_bytes_exact(num_bytes, num_devices)
    assert exact == 2 * Fraction(num_devices - 1, num_devices) * num_bytes
    got = ring_all_reduce_bytes(num_bytes, num_devices)
    assert type(got) is float
    assert got == exact.numerator / exact.denominator
    assert 0 <= got <= 2 * float(num_bytes)


def step_of_stage(stage, psi, num_devices, device):
    """Move what one optimizer step of the stage moves, Ψ fp32 elements at a time."""
    full = [torch.ones(psi, device=device) for _ in range(num_devices)]
    if stage == 0:
        ring_all_reduce(full)
        return
    shards = reduce_scatter(full)  # gradients, to the device that owns the slice
    all_gather(shards)  # stages 1, 2: the updated parameters; stage 3: for the forward pass
    if stage == 3:
        all_gather(shards)  # again for the backward pass


@pytest.mark.parametrize("stage", range(4))
@property_test
@given(num_devices=st.integers(1, 6), psi=st.integers(0, 40))
def test_zero_volume_is_what_travels(device, stage, num_devices, psi):
    with ledger.record() as log:
        step_of_stage(stage, psi, num_devices, device)
    per_device = zero_communication_elements_exact(psi, num_devices, stage)
    assert log.total_bytes() == 4 * num_devices * per_device
    assert zero_communication_elements(psi, num_devices, stage) == float(per_device)


def test_four_all_reduces_per_layer_of_tensor_parallelism():
    """Narayanan et al. 2021, section 3.2: 8bsh(t-1)/t elements per layer, device, micro-batch."""
    b, s, h = 2, 2048, 4096
    for t in (1, 2, 4, 8):
        assert 4 * ring_all_reduce_bytes_exact(b * s * h, t) == Fraction(8 * b * s * h * (t - 1), t)
