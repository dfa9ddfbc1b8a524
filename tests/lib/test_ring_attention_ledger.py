"""What travels around the ring: the formulas of the docstring, transfer by transfer."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise import ledger
from shardwise.ring_attention import KERNELS, LAYOUTS, ring_attention, sequence_layout


def nbytes(tensor):
    return tensor.numel() * tensor.element_size()


def inputs(length, heads=(1, 1), size=2, dtype=torch.float32, device="cpu"):
    torch.manual_seed(0)
    key_heads, group = heads
    shapes = [(2, key_heads * group, length, size), *[(2, key_heads, length, size)] * 2]
    return [torch.randn(s).to(dtype).to(device).requires_grad_() for s in shapes]


@settings(deadline=None, max_examples=60)
@given(
    length=st.integers(1, 20),
    devices=st.integers(1, 20),
    layout=st.sampled_from(LAYOUTS),
    causal=st.booleans(),
    masked=st.booleans(),
    heads=st.tuples(st.integers(1, 2), st.integers(1, 3)),
    dtype=st.sampled_from([torch.float64, torch.float32, torch.bfloat16]),
)
def test_bytes_are_the_docstrings(length, devices, layout, causal, masked, heads, dtype, device):
    devices = min(devices, length)
    q, k, v = inputs(length, heads, dtype=dtype, device=device)
    mask = torch.ones(2, length, dtype=torch.bool, device=device) if masked else None
    options = {"num_devices": devices, "layout": layout, "causal": causal, "key_mask": mask}
    with ledger.record() as forward:
        out = ring_attention(q, k, v, **options)
    with torch.autograd.set_multithreading_enabled(False), ledger.record() as backward:
        out.sum().backward()
    kv = (devices - 1) * (nbytes(k) + nbytes(v) + (nbytes(mask) if masked else 0))
    element = 8 if dtype == torch.float64 else 4
    dkv = (devices if devices > 1 else 0) * (k.numel() + v.numel()) * element
    assert forward.total_bytes() == kv
    assert backward.total_bytes() == kv + dkv
    assert forward.num_steps == devices - 1
    assert backward.num_steps == (devices if devices > 1 else 0)
    assert (forward.calls, backward.calls) == (["ring_attention"], ["ring_attention_backward"])
    assert {t.op for t in forward.transfers} <= {"ring_attention_kv"}
    travelled = [t for t in backward.transfers if t.op == "ring_attention_dkv"]
    assert sum(t.num_bytes for t in travelled) == dkv
    for t in (*forward.transfers, *backward.transfers):
        assert t.source == (t.chunk + t.step) % devices
        assert t.destination == (t.source + 1) % devices


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_payloads_are_the_blocks_and_gradients_come_home_complete(layout, kernel):
    q, k, v = inputs(11)
    ids = sequence_layout(11, 4, layout)
    with ledger.record(payloads=True) as log:
        out = ring_attention(q, k, v, num_devices=4, layout=layout, causal=True, kernel=kernel)
        out.square().sum().backward()
    for t, pair in zip(log.transfers, [k, v] * (len(log.transfers) // 2), strict=True):
        if t.op == "ring_attention_kv":
            assert torch.equal(t.payload, pair[:, :, ids[t.chunk]])
    assert log.num_steps == 3 + 4
    last = [t for t in log.transfers if t.step == 6]
    assert [t.op for t in last] == ["ring_attention_dkv"] * 8
    for t, pair in zip(last, [k, v] * 4, strict=True):
        assert t.destination == t.chunk
        assert torch.equal(t.payload, pair.grad[:, :, ids[t.chunk]])


def test_gradients_travel_and_grow_hop_by_hop(rounding_bound):
    """After t steps the dV of block j holds what devices j … j + t added, and no more."""
    length, devices, size = 12, 4, 2
    q, k, v = inputs(length, size=size, dtype=torch.float64)
    grad = torch.randn(q.shape, dtype=torch.float64)
    with ledger.record(payloads=True) as log:
        out = ring_attention(q, k, v, num_devices=devices, layout="striped")
        first = log.num_steps
        torch.autograd.grad(out, (q, k, v), grad)
    weights = torch.softmax(q @ k.mT * size**-0.5, -1).detach()
    ids = sequence_layout(length, devices, "striped")
    travelled = [t for t in log.transfers if t.op == "ring_attention_dkv"]
    assert len(travelled) == 2 * devices * devices
    for dv in travelled[1::2]:  # dK, dV, dK, …
        givers = [(dv.chunk + hop) % devices for hop in range(dv.step - first + 1)]
        rows = torch.cat([ids[giver] for giver in givers])
        wanted = weights[:, :, rows][..., ids[dv.chunk]].mT @ grad[:, :, rows]
        bound = rounding_bound(torch.float64, 8 * length, grad.abs().sum().item())
        assert (dv.payload - wanted).abs().max() <= bound


def test_a_device_holds_the_six_blocks_of_the_paper():
    """Liu et al., table 1: 6bch, for Q, K, V, the next K and V, and the output."""
    batch, length, heads, size, devices = 2, 12, 3, 4, 4
    q, k, v = inputs(length, heads=(heads, 1), size=size)
    with ledger.record() as log:
        out = ring_attention(q, k, v, num_devices=devices)
    own = sum(x.numel() for x in (q, k, v, out)) // devices
    arriving = sum(t.num_bytes for t in log.transfers if t.step == 0 and t.destination == 1) // 4
    assert own + arriving == 6 * batch * (length // devices) * (heads * size)


def test_one_device_sends_nothing_and_none_is_noted_without_a_ledger():
    q, k, v = inputs(5)
    with ledger.record() as log:
        ring_attention(q, k, v, num_devices=1).sum().backward()
    assert log.calls == ["ring_attention", "ring_attention_backward"]
    assert log.total_bytes() == 0
    ring_attention(q, k, v, num_devices=5)
    assert not log.transfers


def test_grouped_query_attention_sends_only_the_heads_of_the_keys():
    with ledger.record() as grouped:
        ring_attention(*inputs(12, heads=(1, 4)), num_devices=3)
    with ledger.record() as full:
        ring_attention(*inputs(12, heads=(4, 1)), num_devices=3)
    assert 4 * grouped.sent_by(0) == full.sent_by(0)
    assert full.sent_by(0) == full.received_by(0) == 2 * 2 * 2 * 4 * 4 * 2 * 4
