"""Reduce-scatter, all-gather and broadcast: values, traffic, and how they compose."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise import collectives, ledger
from shardwise.collectives import all_gather, broadcast, reduce_scatter, ring_all_reduce

ANY_DTYPE = [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64]
property_test = settings(deadline=None, max_examples=100)


def normal(seed, *shapes, device="cpu"):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator).to(device) for shape in shapes]


def nbytes(tensor):
    return tensor.numel() * tensor.element_size()


@property_test
@given(
    seed=st.integers(0, 2**31),
    num_devices=st.integers(1, 8),
    shape=st.lists(st.integers(0, 5), min_size=1, max_size=3).map(tuple),
    axis=st.one_of(st.none(), st.integers(-3, 2)),
)
def test_reduce_scatter(device, rounding_bound, bits, seed, num_devices, shape, axis):
    if axis is not None and not -len(shape) <= axis < len(shape):
        axis = None
    tensors = normal(seed, *[shape] * num_devices, device=device)
    before = [bits(t) for t in tensors]

    with ledger.record() as log:
        chunks = reduce_scatter(tensors, dim=axis)

    assert [bits(t) for t in tensors] == before
    assert log.calls == ["reduce_scatter"]
    assert {t.op for t in log.transfers} <= {"reduce_scatter"}
    assert log.num_steps == num_devices - 1
    assert log.total_bytes() == (num_devices - 1) * nbytes(tensors[0])
    whole = [t.double() for t in tensors]
    cut = [
        t.flatten().tensor_split(num_devices)
        if axis is None
        else t.tensor_split(num_devices, dim=axis)
        for t in whole
    ]
    for rank, chunk in enumerate(chunks):
        parts = [row[rank] for row in cut]
        assert chunk.shape == parts[0].shape
        assert chunk.is_contiguous()
        assert chunk.untyped_storage().nbytes() == nbytes(chunk)
        columns = zip(*(part.flatten().tolist() for part in parts), strict=True)
        for got, column in zip(chunk.flatten().tolist(), columns, strict=True):
            bound = rounding_bound(chunk.dtype, num_devices - 1, math.fsum(map(abs, column)))
            assert abs(got - math.fsum(column)) <= bound


@property_test
@given(
    seed=st.integers(0, 2**31),
    sizes=st.lists(st.integers(0, 4), min_size=1, max_size=6),
    rest=st.lists(st.integers(0, 3), max_size=2),
    axis=st.integers(-3, 2),
    dtype=st.sampled_from(ANY_DTYPE),
)
def test_all_gather(device, bits, seed, sizes, rest, axis, dtype):
    ndim = len(rest) + 1
    axis = max(-ndim, min(axis, ndim - 1))
    place = axis % ndim
    shapes = [(*rest[:place], size, *rest[place:]) for size in sizes]
    shards = [(t * 3).to(dtype) for t in normal(seed, *shapes, device=device)]

    with ledger.record() as log:
        results = all_gather(shards, dim=axis)

    want = torch.cat(shards, dim=axis)
    for result in results:
        assert result.shape == want.shape
        assert result.dtype == dtype
        assert bits(result) == bits(want)
    if want.numel():
        assert len({r.untyped_storage().data_ptr() for r in results}) == len(sizes)
    assert log.num_steps == len(sizes) - 1
    assert log.total_bytes() == (len(sizes) - 1) * nbytes(want)
    for t in log.transfers:
        assert t.op == "all_gather"
        assert t.destination == (t.source + 1) % len(sizes)
        assert t.chunk == (t.source - t.step) % len(sizes)
        assert t.num_bytes == nbytes(shards[t.chunk])


@pytest.mark.parametrize("num_devices", [1, 2, 3, 5])
@pytest.mark.parametrize("dim", [None, 0, 1])
def test_scatter_then_gather_is_an_all_reduce(device, num_devices, dim):
    tensors = [torch.arange(14, device=device).reshape(2, 7) * 10**i for i in range(num_devices)]
    gathered = all_gather(reduce_scatter(tensors, dim=dim), dim=dim or 0)
    for got, want in zip(gathered, ring_all_reduce(tensors), strict=True):
        assert torch.equal(got.reshape(2, 7), want)


@pytest.mark.parametrize("source", [0, 2])
@pytest.mark.parametrize("num_devices", [1, 3, 4])
@pytest.mark.parametrize("dtype", ANY_DTYPE)
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_broadcast(device, bits, source, num_devices, dtype, shape):
    source %= num_devices
    tensor = torch.ones(shape, dtype=dtype, device=device)
    with ledger.record(payloads=True) as log:
        results = broadcast(tensor, num_devices, source=source)
    assert [bits(r) for r in results] == [bits(tensor)] * num_devices
    assert {r.shape for r in results} == {tensor.shape}
    if tensor.numel():
        pointers = {t.untyped_storage().data_ptr() for t in [tensor, *results]}
        assert len(pointers) == num_devices + 1
    assert [(t.step, t.source, t.destination) for t in log.transfers] == [
        (hop, (source + hop) % num_devices, (source + hop + 1) % num_devices)
        for hop in range(num_devices - 1)
    ]
    assert all(t.num_bytes == nbytes(tensor) for t in log.transfers)
    assert all(bits(t.payload) == bits(tensor) for t in log.transfers)


def test_broadcast_passes_on_what_arrived(device, monkeypatch):
    """A hop that spoils its message spoils it for all devices behind it, and no other."""
    real, copies = collectives._working_copy, itertools.count()

    def spoiling(tensor):  # the first copy is the source's own, the third the second hop's
        return real(tensor) + (10 if next(copies) == 2 else 0)

    monkeypatch.setattr(collectives, "_working_copy", spoiling)
    results = broadcast(torch.tensor([1.0], device=device), 4, source=3)
    assert [r.item() for r in results] == [1.0, 11.0, 11.0, 1.0]


def test_leaves_come_back_detached(device):
    leaf = torch.ones(4, device=device, requires_grad=True)
    for results in (reduce_scatter([leaf, leaf]), all_gather([leaf, leaf]), broadcast(leaf, 2)):
        assert not any(r.requires_grad for r in results)
    assert leaf.grad is None


X = torch.ones(2, 3)
SUMS = [ring_all_reduce, reduce_scatter]
LISTS = [*SUMS, all_gather]


@pytest.mark.parametrize("collective", LISTS)
@pytest.mark.parametrize(
    "junk", [None, 4, "text", X, {"a": X}, (x for x in [X]), {1}, range(3), b"x"]
)
def test_what_is_no_list_is_refused(collective, junk):
    with pytest.raises(TypeError, match="must be a list with one tensor for each device"):
        collective(junk)


@pytest.mark.parametrize("collective", LISTS)
@pytest.mark.parametrize("junk", [None, 4, 1.5, "text", True, [1.0], math.nan])
@pytest.mark.parametrize("place", [0, 1])
def test_what_is_no_tensor_is_refused(collective, junk, place):
    tensors = [X, X]
    tensors[place] = junk
    with pytest.raises(TypeError, match=rf"\[{place}\]=.* must be a torch.Tensor"):
        collective(tensors)


@pytest.mark.parametrize("collective", LISTS)
def test_lists_that_do_not_fit_together_are_refused(collective):
    for empty in ([], ()):
        with pytest.raises(ValueError, match="is empty: give one tensor for each device"):
            collective(empty)
    with pytest.raises(ValueError, match=r"\[1\] has dtype torch.float64, .*\.to\("):
        collective([X, X.double()])
    with pytest.raises(ValueError, match=r"\[2\] has device meta, .*\.to\("):
        collective([X, X, X.to("meta")])
    with pytest.raises(ValueError, match=r"\[1\] has shape \(2, 4\), .* the same shape"):
        collective([X, torch.ones(2, 4)])
    with pytest.raises(ValueError, match=r"\[1\] has shape"):
        collective([X, torch.ones(2, 3, 1)])
    with pytest.raises(TypeError, match=r"\[0\] is sparse or nested: .*to_dense"):
        collective([X.to_sparse(), X])


@pytest.mark.parametrize("collective", SUMS)
@pytest.mark.parametrize("dtype", [torch.bool, torch.complex64, torch.float8_e4m3fn, torch.uint16])
def test_dtypes_without_a_sum_are_refused(collective, dtype):
    message = rf"of {dtype} can't be summed: convert to one of float16, .*int64, as .*\.to\("
    with pytest.raises(TypeError, match=message):
        collective([torch.ones(3).to(dtype)] * 2)


def test_bad_dimensions_are_refused():
    for collective in (reduce_scatter, all_gather):
        for dim in (2, -3):
            with pytest.raises(ValueError, match=f"dim={dim} is out of range"):
                collective([X, X], dim=dim)
        for junk in (True, 0.0, "0", (0,)):
            with pytest.raises(TypeError, match=r"dim=.* must be an int"):
                collective([X, X], dim=junk)
        with pytest.raises(ValueError, match="0-d tensor has no dimension"):
            collective([torch.tensor(1.0)], dim=0)
    with pytest.raises(TypeError, match="dim=None must be an int"):
        all_gather([X], dim=None)


def test_broadcast_refuses_nonsense():
    for junk in (None, 4, [X]):
        with pytest.raises(TypeError, match=r"tensor=.* must be a torch.Tensor"):
            broadcast(junk, 2)
    with pytest.raises(TypeError, match="sparse"):
        broadcast(X.to_sparse(), 2)
    for junk in (0, -1):
        with pytest.raises(ValueError, match=f"num_devices={junk} is out of range"):
            broadcast(X, junk)
    for junk in (True, 2.0, "2", None):
        with pytest.raises(TypeError, match=r"num_devices=.* must be an int"):
            broadcast(X, junk)
        with pytest.raises(TypeError, match=r"source=.* must be an int"):
            broadcast(X, 3, source=junk)
    for junk in (-1, 3):
        with pytest.raises(ValueError, match=r"source=.* from 0 to 2"):
            broadcast(X, 3, source=junk)
