"""The collectives against torch.distributed's own, on real processes over gloo."""

from __future__ import annotations

import math

import pytest
import torch
import torch.distributed as dist
from gloo_ranks import on_ranks

from shardwise.collectives import all_gather, broadcast, reduce_scatter, ring_all_reduce

NUM_RANKS = 3


@pytest.fixture(scope="module")
def tensors():
    """What the devices hold: floats, with sizes that 3 divides and others, and integers."""
    generator = torch.Generator().manual_seed(0)
    return [
        {
            "even": torch.randn(12, generator=generator, dtype=torch.float64),
            "odd": torch.randn(2, 7, generator=generator),
            "few": torch.randn(1, generator=generator),
            "integers": torch.randint(-(10**6), 10**6, (5, 3), generator=generator),
            "half": torch.randn(9, generator=generator).bfloat16(),
        }
        for _ in range(NUM_RANKS)
    ]


@pytest.fixture(scope="module")
def theirs(tensors, tmp_path_factory):
    """What each rank has after PyTorch's own collectives."""

    def work(rank):
        sums, sources = {}, {}
        for name, tensor in tensors[rank].items():
            sums[name] = tensor.clone()
            dist.all_reduce(sums[name])
            sources[name] = tensor.clone()
            dist.broadcast(sources[name], src=2)
        gathered = [torch.empty_like(tensors[rank]["odd"]) for _ in range(NUM_RANKS)]
        dist.all_gather(gathered, tensors[rank]["odd"])
        chunk = torch.empty(4, dtype=torch.float64)
        dist.reduce_scatter(chunk, list(tensors[rank]["even"].clone().chunk(NUM_RANKS)))
        return {"sums": sums, "sources": sources, "gathered": gathered, "chunk": chunk}

    return on_ranks(work, NUM_RANKS, tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize("name", ["even", "odd", "few", "integers", "half"])
def test_all_reduce(tensors, theirs, rounding_bound, name):
    own = [device[name] for device in tensors]
    for rank, result in enumerate(ring_all_reduce(own)):
        want = theirs[rank]["sums"][name]
        assert (result.shape, result.dtype) == (want.shape, want.dtype)
        if not result.is_floating_point():
            assert torch.equal(result, want)
            continue
        sizes = torch.stack(own).double().abs().sum(0)  # of the terms of each sum
        for got, other, size in zip(
            result.flatten().tolist(),
            want.flatten().tolist(),
            sizes.flatten().tolist(),
            strict=True,
        ):
            # Each of the two adds NUM_RANKS numbers, in an order of its own.
            assert abs(got - other) <= rounding_bound(result.dtype, 2 * (NUM_RANKS - 1), size)


def test_reduce_scatter(tensors, theirs, rounding_bound):
    even = [device["even"] for device in tensors]
    for rank, chunk in enumerate(reduce_scatter(even)):
        want = theirs[rank]["chunk"]
        size = torch.stack(even).abs().sum(0).max().item()
        assert (chunk - want).abs().max() <= rounding_bound(torch.float64, 2 * NUM_RANKS, size)


def test_all_gather_and_broadcast(tensors, theirs):
    for rank, result in enumerate(all_gather([device["odd"] for device in tensors], dim=1)):
        assert torch.equal(result, torch.cat(theirs[rank]["gathered"], dim=1))
    for name, tensor in tensors[2].items():
        for rank, result in enumerate(broadcast(tensor, NUM_RANKS, source=2)):
            assert torch.equal(result, theirs[rank]["sources"][name])


def test_a_rank_that_fails_is_heard(tmp_path):
    def work(rank):
        return rank / (rank - 1) if rank else math.inf

    with pytest.raises(AssertionError, match=r"rank 1:\n(.*\n)*ZeroDivisionError"):
        on_ranks(work, 2, tmp_path)
