"""Volume formulas against the ledger: what they say is what travels."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from shardwise import ledger
from shardwise.collectives import ring_all_reduce
from shardwise.communication import (
    ring_all_reduce_bytes,
    ring_all_reduce_bytes_exact,
    zero_communication_elements,
    zero_communication_elements_exact,
)
from shardwise.zero import ZeroTrainer

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


@pytest.mark.parametrize("stage", range(4))
@property_test
@given(num_devices=st.integers(1, 6), inputs=st.integers(1, 5), outputs=st.integers(1, 5))
def test_zero_volume_is_what_a_real_step_moves(device, stage, num_devices, inputs, outputs):
    layer = nn.Linear(inputs, outputs * num_devices, device=device)  # N divides Ψ: no padding
    trainer = ZeroTrainer([layer], num_devices=num_devices, stage=stage, dtype=torch.float32)
    xs = [torch.ones(1, inputs, device=device)] * num_devices
    ys = [torch.ones(1, outputs * num_devices, device=device)] * num_devices
    with ledger.record() as log:
        trainer.step(xs, ys)
    exact = zero_communication_elements_exact(trainer.num_parameters, num_devices, stage)
    rounded = zero_communication_elements(trainer.num_parameters, num_devices, stage)
    assert rounded == exact.numerator / exact.denominator
    for rank in range(num_devices):
        assert log.sent_by(rank) == log.received_by(rank) == 4 * exact
