"""The ring against exact sums, on awkward inputs, and by the schedule that the book explains."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise import ledger
from shardwise.collectives import ring_all_reduce

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.mT if x.ndim > 1 else x,
    "strided": lambda x: torch.stack([x, x + 1], dim=-1)[..., 0],
    "expanded": lambda x: x[:1].expand(x.shape) if x.ndim and x.shape[0] else x,
    "reversed": lambda x: x.flip(0)[: x.shape[0] // 2] if x.ndim else x,
    "leaf": lambda x: x.detach().requires_grad_(),
}
shapes = st.lists(st.integers(0, 6), max_size=3).map(tuple)
property_test = settings(deadline=None, max_examples=150)


def tensors_of(seed, num_devices, shape, dtype, layout, device):
    """Random tensors between -8 and 8 whose sizes spread over a few orders of magnitude."""
    generator = torch.Generator().manual_seed(seed)
    build = LAYOUTS[layout]
    tensors = []
    for _ in range(num_devices):
        x = torch.rand(shape, generator=generator, dtype=torch.float64) * 16 - 8
        scale = torch.randint(-6, 1, shape, generator=generator).double().exp2()
        tensors.append(build((x * scale).to(dtype).to(device)))
    return tensors


def exact_sums(tensors):
    """The sum of each element over devices, correctly rounded to float64, without torch's help."""
    columns = zip(*(t.detach().cpu().double().flatten().tolist() for t in tensors), strict=True)
    return [(math.fsum(c), math.fsum(map(abs, c))) for c in columns]


@property_test
@given(
    seed=st.integers(0, 2**31),
    num_devices=st.integers(1, 9),
    shape=shapes,
    dtype=st.sampled_from(FLOATS),
    layout=st.sampled_from(sorted(LAYOUTS)),
)
def test_floats_sum_to_rounding(
    device, rounding_bound, bits, seed, num_devices, shape, dtype, layout
):
    tensors = tensors_of(seed, num_devices, shape, dtype, layout, device)
    before = [bits(t) for t in tensors]
    versions = [t._version for t in tensors]

    results = ring_all_reduce(tensors)

    assert len(results) == num_devices
    for result in results:
        assert (result.shape, result.dtype, result.device) == (
            tensors[0].shape,
            dtype,
            tensors[0].device,
        )
        assert not result.requires_grad
        assert bits(result) == bits(results[0])
    for got, (want, magnitude) in zip(
        results[0].double().flatten().tolist(), exact_sums(tensors), strict=True
    ):
        assert abs(got - want) <= rounding_bound(dtype, num_devices - 1, magnitude)
    assert [bits(t) for t in tensors] == before
    assert [t._version for t in tensors] == versions


@property_test
@given(data=st.data(), num_devices=st.integers(1, 9), dtype=st.sampled_from(INTEGERS))
def test_integers_sum_exactly(device, data, num_devices, dtype):
    limits = torch.iinfo(dtype)
    fits = st.integers(-(-limits.min // num_devices), limits.max // num_devices)
    size = data.draw(st.integers(0, 7))
    rows = data.draw(
        st.lists(
            st.lists(fits, min_size=size, max_size=size),
            min_size=num_devices,
            max_size=num_devices,
        )
    )

    results = ring_all_reduce([torch.tensor(row, dtype=dtype, device=device) for row in rows])

    for result in results:
        assert result.dtype == dtype
        assert result.tolist() == [sum(column) for column in zip(*rows, strict=True)]


@property_test
@given(data=st.data(), num_devices=st.integers(1, 6), dtype=st.sampled_from(INTEGERS[:-1]))
def test_narrow_integers_are_refused_only_if_a_sum_leaves_their_range(
    device, data, num_devices, dtype
):
    limits = torch.iinfo(dtype)
    row = st.lists(st.integers(limits.min, limits.max), min_size=3, max_size=3)
    rows = data.draw(st.lists(row, min_size=num_devices, max_size=num_devices))
    tensors = [torch.tensor(row, dtype=dtype, device=device) for row in rows]
    sums = [sum(column) for column in zip(*rows, strict=True)]
    if limits.min <= min(sums) and max(sums) <= limits.max:
        assert [t.tolist() for t in ring_all_reduce(tensors)] == [sums] * num_devices
    else:
        reach = rf"tensors reach from {min(sums)} to {max(sums)}, beyond the range of {dtype}"
        with pytest.raises(ValueError, match=reach):
            ring_all_reduce(tensors)


def test_large_integers_of_different_places_do_not_add_up(device):
    one, other = torch.tensor([[100, 0], [0, 100]], dtype=torch.int8, device=device)
    assert ring_all_reduce([one, other])[1].tolist() == [100, 100]


def test_partial_sums_may_leave_the_range_and_come_back(device):
    tensors = [torch.tensor([value], dtype=torch.int8, device=device) for value in (100, 100, -90)]
    assert [t.tolist() for t in ring_all_reduce(tensors)] == [[110]] * 3


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_that_would_wrap_around_are_refused(device, dtype):
    limits = torch.iinfo(dtype)
    one = torch.ones(2, dtype=dtype, device=device)
    remedy = "give smaller numbers" if dtype == torch.int64 else "convert to a wider dtype"
    with pytest.raises(ValueError, match=rf"tensors .*reach .* beyond the range .* {remedy}"):
        ring_all_reduce([torch.full_like(one, limits.max), one])
    if limits.min < 0:
        with pytest.raises(ValueError, match=remedy):
            ring_all_reduce([torch.full_like(one, limits.min), -one])


def test_int64_is_bounded_by_its_extremes(device):
    largest = torch.iinfo(torch.int64).max
    one, other = torch.tensor([[largest, 0], [0, largest]], device=device)
    with pytest.raises(ValueError, match=rf"tensors may reach from 0 to {2 * largest}"):
        ring_all_reduce([one, other])
    assert ring_all_reduce([one, other * 0])[0].tolist() == [largest, 0]


@pytest.mark.parametrize("num_devices", [1, 2, 3, 8])
@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (5,), (7, 3), (2, 3, 4)])
def test_outputs_share_no_storage(device, num_devices, shape):
    one = torch.ones(shape, device=device)
    results = ring_all_reduce([one] * num_devices)  # one object for all devices is fine too
    pointers = [t.untyped_storage().data_ptr() for t in [one, *results]]
    if one.numel():
        assert len(set(pointers)) == num_devices + 1
    for result in results:
        assert result.is_contiguous()
        assert result.untyped_storage().nbytes() == one.numel() * 4
        assert torch.equal(result, torch.full_like(one, num_devices))


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_and_inf_reach_every_device(device, bits, dtype):
    inf, nan = math.inf, math.nan
    rows = [[nan, inf, inf, 1.0], [1.0, 2.0, -inf, 2.0], [0.0, inf, 1.0, 3.0]]
    results = ring_all_reduce([torch.tensor(row, dtype=dtype, device=device) for row in rows])
    for result in results:
        assert bits(result) == bits(results[0])
        first, second, third, fourth = result.tolist()
        assert math.isnan(first)
        assert second == inf
        assert math.isnan(third)
        assert fourth == 6.0


def test_halves_overflow_as_the_sum_does(device):
    tensors = [torch.full((4,), 30000.0, dtype=torch.float16, device=device)] * 4
    assert ring_all_reduce(tensors)[0].tolist() == [math.inf] * 4
    assert ring_all_reduce([t / 4 for t in tensors])[0].tolist() == [30000.0] * 4


def test_a_parameter_gives_a_plain_tensor_and_keeps_its_grad(device):
    parameter = torch.nn.Parameter(torch.ones(3, device=device))
    parameter.grad = torch.full_like(parameter, 5.0)
    (result,) = ring_all_reduce([parameter])
    assert type(result) is torch.Tensor
    assert not result.requires_grad
    assert parameter.grad.tolist() == [5.0] * 3


@property_test
@given(num_devices=st.integers(1, 9), size=st.integers(0, 20), seed=st.integers(0, 2**31))
def test_the_schedule_is_the_books(device, bits, num_devices, size, seed):
    """Replay the recorded messages on a plain model: rows of lists, one list for each chunk."""
    generator = torch.Generator().manual_seed(seed)
    tensors = [torch.randn(size, generator=generator).to(device) for _ in range(num_devices)]
    rows = [list(t.clone().tensor_split(num_devices)) for t in tensors]

    with ledger.record(payloads=True) as log:
        results = ring_all_reduce(tensors)

    assert log.calls == ["ring_all_reduce"]
    assert log.num_steps == 2 * (num_devices - 1)
    for step in range(log.num_steps):
        messages = [t for t in log.transfers if t.step == step]
        gathering = step >= num_devices - 1
        assert [t.source for t in messages] == list(range(num_devices))
        assert {t.op for t in messages} == {"all_gather" if gathering else "reduce_scatter"}
        for t in messages:  # all messages of a step are taken before any of them arrives
            within = step - (num_devices - 1) * gathering
            assert t.destination == (t.source + 1) % num_devices
            assert t.chunk == (t.source + gathering - within) % num_devices
            assert bits(t.payload) == bits(rows[t.source][t.chunk])
            assert t.num_bytes == rows[t.source][t.chunk].numel() * 4
        for t in messages:
            here = rows[t.destination]
            here[t.chunk] = t.payload if gathering else here[t.chunk] + t.payload
        if step == num_devices - 2:  # device i owns chunk i + 1 complete
            for rank, row in enumerate(rows):
                owned = (rank + 1) % num_devices
                assert bits(row[owned]) == bits(results[0].tensor_split(num_devices)[owned])
    for row, result in zip(rows, results, strict=True):
        assert bits(torch.cat(row)) == bits(result)


@property_test
@given(num_devices=st.integers(1, 12), size=st.integers(0, 40), dtype=st.sampled_from(FLOATS))
def test_all_devices_together_send_twice_n_minus_one_tensors(device, num_devices, size, dtype):
    tensors = [torch.ones(size, dtype=dtype, device=device) for _ in range(num_devices)]
    with ledger.record() as log:
        ring_all_reduce(tensors)
    num_bytes = size * tensors[0].element_size()
    assert log.total_bytes() == 2 * (num_devices - 1) * num_bytes
    largest = -(-size // num_devices) * tensors[0].element_size()
    for rank in range(num_devices):
        for moved in (log.sent_by(rank), log.received_by(rank)):
            assert moved <= 2 * (num_devices - 1) * largest


def test_it_differs_from_the_plain_sum_only_by_rounding(device):
    """The book's claim about exactness: equal at N = 2, not in every bit at N = 8."""
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(10_000, generator=generator).to(device) for _ in range(8)]
    assert torch.equal(ring_all_reduce(tensors[:2])[0], tensors[0] + tensors[1])
    differing = (ring_all_reduce(tensors)[0] != torch.stack(tensors).sum(0)).double().mean()
    assert differing > 0.1
