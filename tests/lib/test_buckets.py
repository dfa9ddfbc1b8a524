"""Gradient buckets: which gradient goes where, and the same sums in fewer steps."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise import ledger
from shardwise.collectives import ring_all_reduce
from shardwise.communication import ring_all_reduce_bytes_exact
from shardwise.data_parallel.buckets import BUCKET_BYTES, bucket_gradients, bucketed_all_reduce

property_test = settings(deadline=None, max_examples=60)
shapes = st.lists(st.lists(st.integers(0, 4), max_size=3).map(tuple), min_size=1, max_size=6)
floats = st.sampled_from([torch.bfloat16, torch.float32, torch.float64])


def draw(seed, shapes, dtypes, num_devices, device):
    generator = torch.Generator().manual_seed(seed)
    return [
        [
            (torch.rand(shape, generator=generator, dtype=torch.float64) * 8 - 4).to(device, dtype)
            for shape, dtype in zip(shapes, dtypes, strict=True)
        ]
        for _ in range(num_devices)
    ]


def nbytes(tensor):
    return tensor.numel() * tensor.element_size()


@property_test
@given(data=st.data(), shapes=shapes, bucket_bytes=st.integers(1, 200))
def test_buckets_are_filled_from_the_back(device, data, shapes, bucket_bytes):
    dtypes = [data.draw(floats) for _ in shapes]
    (gradients,) = draw(0, shapes, dtypes, 1, device)
    buckets = bucket_gradients(gradients, bucket_bytes=bucket_bytes)
    assert sorted(i for bucket in buckets for i in bucket) == list(range(len(gradients)))
    assert [bucket[0] for bucket in buckets] == sorted((b[0] for b in buckets), reverse=True)
    for bucket in buckets:
        assert bucket == sorted(bucket, reverse=True)
        assert len({gradients[i].dtype for i in bucket}) == 1
        assert len(bucket) == 1 or sum(nbytes(gradients[i]) for i in bucket) <= bucket_bytes
    for kind in set(dtypes):
        mine = [b for b in buckets if gradients[b[0]].dtype == kind]
        flat = [i for bucket in mine for i in bucket]
        assert flat == sorted(flat, reverse=True)  # within a dtype none overtakes another
        for bucket, following in itertools.pairwise(mine):
            filled = sum(nbytes(gradients[i]) for i in bucket)
            assert filled + nbytes(gradients[following[0]]) > bucket_bytes


@property_test
@given(
    data=st.data(),
    seed=st.integers(0, 2**31),
    shapes=shapes,
    num_devices=st.integers(1, 5),
    bucket_bytes=st.integers(1, 200),
)
def test_the_sums_are_those_of_one_all_reduce_per_tensor(
    device, bits, rounding_bound, data, seed, shapes, num_devices, bucket_bytes
):
    dtypes = [data.draw(floats) for _ in shapes]
    devices = draw(seed, shapes, dtypes, num_devices, device)
    before = [[bits(g) for g in grads] for grads in devices]
    results = bucketed_all_reduce(devices, bucket_bytes=bucket_bytes)
    assert before == [[bits(g) for g in grads] for grads in devices]
    for i, gradients in enumerate(zip(*devices, strict=True)):
        mine = [grads[i] for grads in results]
        assert all(bits(total) == bits(mine[0]) for total in mine)
        assert (mine[0].shape, mine[0].dtype) == (gradients[0].shape, gradients[0].dtype)
        exact = sum(g.double() for g in gradients)
        magnitude = sum(g.double().abs() for g in gradients)
        for got, want, scale in zip(
            mine[0].double().view(-1).tolist(),
            exact.view(-1).tolist(),
            magnitude.view(-1).tolist(),
            strict=True,
        ):
            assert abs(got - want) <= rounding_bound(dtypes[i], num_devices, scale)
        if num_devices <= 2:
            assert bits(mine[0]) == bits(ring_all_reduce(gradients)[0])


@property_test
@given(shapes=shapes, num_devices=st.integers(1, 5), bucket_bytes=st.integers(1, 200))
def test_integers_are_exact(device, shapes, num_devices, bucket_bytes):
    devices = draw(1, shapes, [torch.int64] * len(shapes), num_devices, device)
    for i, total in enumerate(bucketed_all_reduce(devices, bucket_bytes=bucket_bytes)[-1]):
        assert torch.equal(total, sum(grads[i] for grads in devices))


@pytest.mark.parametrize("num_devices", [1, 2, 4])
@pytest.mark.parametrize(("bucket_bytes", "num_buckets"), [(1, 20), (40, 10), (100, 4), (400, 1)])
def test_one_collective_per_bucket(device, num_devices, bucket_bytes, num_buckets):
    devices = [[torch.ones(5, device=device) for _ in range(20)] for _ in range(num_devices)]
    with ledger.record() as log:
        bucketed_all_reduce(devices, bucket_bytes=bucket_bytes)
    assert len(bucket_gradients(devices[0], bucket_bytes=bucket_bytes)) == num_buckets
    assert log.calls == ["ring_all_reduce"] * num_buckets
    assert log.num_steps == 2 * (num_devices - 1) * num_buckets
    each = ring_all_reduce_bytes_exact(20 * 20, num_devices)
    assert log.total_bytes() == num_devices * each


def test_each_dtype_has_buckets_of_its_own(device):
    kinds = [torch.float32, torch.bfloat16] * 3
    (gradients,) = draw(0, [(2,)] * 6, kinds, 1, device)
    assert bucket_gradients(gradients) == [[5, 3, 1], [4, 2, 0]]
    assert BUCKET_BYTES == 26_214_400


def test_results_are_detached_and_share_nothing(device):
    leaf = torch.ones(3, 2, device=device).T.requires_grad_()
    devices = [[leaf, torch.ones(2, device=device).expand(2, 2)] for _ in range(2)]
    results = bucketed_all_reduce(tuple(map(tuple, devices)))
    storages = {t.untyped_storage().data_ptr() for grads in results for t in grads}
    assert len(storages) == 4
    assert not any(t.requires_grad for grads in results for t in grads)
    assert torch.equal(results[1][0], 2 * leaf)
    assert torch.equal(results[1][1], torch.full((2, 2), 2.0, device=device))
    assert leaf.grad is None


ONE = [torch.ones(2), torch.ones(3)]


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (None, TypeError, r"grads_per_device=None must be a list with one list of tensors"),
        (torch.ones(2), TypeError, r"grads_per_device=tensor.* must be a list"),
        ([], ValueError, r"grads_per_device is empty: give one list"),
        ([ONE, 3], TypeError, r"grads_per_device\[1\] must be a list"),
        ([ONE, torch.ones(2)], TypeError, r"grads_per_device\[1\] must be a list"),
        ([ONE, []], ValueError, r"grads_per_device\[1\] is empty"),
        ([ONE, [ONE[0], None]], TypeError, r"grads_per_device\[1\]\[1\]=None must be a torch.T"),
        ([ONE, ONE[:1]], ValueError, r"grads_per_device\[1\] has 1 tensors and .*\[0\] has 2"),
        (
            [ONE, ONE[::-1]],
            ValueError,
            r"^\[grads\[0\] for grads in grads_per_device\]\[1\] has shape \(3,\)",
        ),
        ([ONE, [t.double() for t in ONE]], ValueError, r"has dtype torch.float64, .* bring all"),
        ([ONE, [t.to("meta") for t in ONE]], ValueError, r"has device meta, "),
        ([[ONE[0] > 0]], TypeError, r"of torch.bool can't be summed"),
        ([[torch.tensor([100], dtype=torch.int8)]] * 2, ValueError, r"beyond the range of torch"),
    ],
)
def test_nonsense_is_refused(value, error, message):
    with pytest.raises(error, match=message):
        bucketed_all_reduce(value)


@pytest.mark.parametrize("value", [0, -1, 1.5, True, None, "25", 4.0, [4], float("nan")])
def test_bucket_sizes_are_positive_integers(value):
    for call in (
        lambda: bucket_gradients(ONE, bucket_bytes=value),
        lambda: bucketed_all_reduce([ONE], bucket_bytes=value),
    ):
        with pytest.raises((TypeError, ValueError), match=r"^bucket_bytes="):
            call()


def test_gradients_are_a_list_of_tensors():
    for value in (None, ONE[0], 3, "ab"):
        with pytest.raises(TypeError, match="gradients must be a list"):
            bucket_gradients(value)
    with pytest.raises(ValueError, match="gradients is empty"):
        bucket_gradients([])
    with pytest.raises(TypeError, match=r"gradients\[1\]=None must be a torch.Tensor"):
        bucket_gradients([ONE[0], None])
