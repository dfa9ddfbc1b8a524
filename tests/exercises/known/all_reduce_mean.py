"""Exercise 1: mistakes that somebody could make, and right solutions written differently."""

from __future__ import annotations

import torch

from shardwise.collectives import all_gather, broadcast, reduce_scatter
from shardwise.collectives import ring_all_reduce as ring
from shardwise.data_parallel import bucketed_all_reduce
from shardwise.distributed import ring_all_reduce


def floats_only(function):
    """A mutant with the right error behaviour, so that only the rest can be wrong."""

    def all_reduce_mean(tensors):
        if not tensors[0].is_floating_point():
            raise TypeError(f"the mean of {tensors[0].dtype} is no {tensors[0].dtype}")
        return function(tensors)

    return all_reduce_mean


def right(tensors):
    return [total / len(tensors) for total in ring_all_reduce(tensors)]


def in_place(tensors):
    for tensor in tensors[1:]:
        tensors[0].add_(tensor)
    ring_all_reduce(tensors)
    return [tensors[0] / len(tensors) for _ in tensors]


def inputs_divided_in_place(tensors):
    for tensor in tensors:
        tensor.div_(len(tensors))
    return ring_all_reduce(tensors)


def results_in_the_inputs(tensors):
    for tensor, total in zip(tensors, ring_all_reduce(tensors), strict=True):
        tensor.copy_(total / len(tensors))
    return tensors


def counts_by_a_second_all_reduce(tensors):
    counts = ring_all_reduce([torch.ones_like(tensor) for tensor in tensors])
    return [s / n for s, n in zip(ring_all_reduce(tensors), counts, strict=True)]


def one_all_reduce_for_each_result(tensors):
    return [ring_all_reduce(tensors)[rank] / len(tensors) for rank in range(len(tensors))]


def one_all_reduce_for_each_pair(tensors):
    total = tensors[0]
    for tensor in tensors[1:]:
        total = ring_all_reduce([total, tensor])[0]
    return [total / len(tensors) for _ in tensors]


def calls_it_and_looks_away(tensors):
    ring_all_reduce(tensors)
    return [torch.stack(tensors).mean(0) for _ in tensors]


def each_device_adds_in_its_own_order(tensors):
    ring_all_reduce(tensors)
    n = len(tensors)
    return [sum(tensors[rank:] + tensors[:rank]) / n for rank in range(n)]


def starts_with_a_device_of_its_own(tensors):
    zeros = torch.zeros_like(tensors[0])
    return [s / len(tensors) for s in ring_all_reduce([zeros, *tensors])[1:]]


def gathers_first(tensors):
    stacked = all_gather([tensor.unsqueeze(0) for tensor in tensors])
    return [everything.mean(0) for everything in stacked]


def builds_it_from_its_halves(tensors):
    shape, n = tensors[0].shape, len(tensors)
    gathered = all_gather(reduce_scatter(tensors))
    return [total.view(shape) / n for total in gathered]


def rank_0_adds_and_broadcasts(tensors):
    return broadcast(sum(tensors) / len(tensors), len(tensors))


def only_the_trip_of_a_loop(tensors):
    mean = torch.zeros_like(tensors[0])
    for element in range(tensors[0].numel()):
        parts = [tensor.reshape(-1)[element] for tensor in tensors]
        mean.view(-1)[element] = ring_all_reduce(parts)[0] / len(tensors)
    return [mean.clone() for _ in tensors]


def refuses_with_value_error(tensors):
    if not tensors[0].is_floating_point():
        raise ValueError("give floats")
    return right(tensors)


MUTANTS = {
    # what is divided by what
    "no division": floats_only(ring_all_reduce),
    "divides twice": floats_only(lambda xs: [t / len(xs) for t in right(xs)]),
    "divides before and after": floats_only(
        lambda xs: [s / len(xs) for s in ring_all_reduce([x / len(xs) for x in xs])]
    ),
    "divides by the others only": floats_only(
        lambda xs: [s / max(len(xs) - 1, 1) for s in ring_all_reduce(xs)]
    ),
    "divides by 4, as in the picture": floats_only(lambda xs: [s / 4 for s in ring_all_reduce(xs)]),
    "divides by the number of elements": floats_only(
        lambda xs: [s / max(s.numel(), 1) for s in ring_all_reduce(xs)]
    ),
    "mean over the elements": floats_only(lambda xs: [s.mean() for s in ring_all_reduce(xs)]),
    "rounds down": floats_only(lambda xs: [s // len(xs) for s in ring_all_reduce(xs)]),
    # who gets it
    "rank 0 only": floats_only(lambda xs: right(xs)[:1]),
    "rank 0 only, the others keep theirs": floats_only(lambda xs: [right(xs)[0], *xs[1:]]),
    "a tensor, no list": floats_only(lambda xs: right(xs)[0]),
    "stacked into one tensor": floats_only(lambda xs: torch.stack(right(xs))),
    "a tuple": floats_only(lambda xs: tuple(right(xs))),
    "sparse tensors": floats_only(lambda xs: [t.to_sparse() for t in right(xs)]),
    "numbers, no tensors": floats_only(lambda xs: [t.tolist() for t in right(xs)]),
    # memory
    "adds into the first input": floats_only(in_place),
    "divides the inputs in place": floats_only(inputs_divided_in_place),
    "writes the results into the inputs": floats_only(results_in_the_inputs),
    "the same tensor for everybody": floats_only(lambda xs: [right(xs)[0]] * len(xs)),
    "views of one tensor": floats_only(
        lambda xs: [right(xs)[0].expand_as(xs[0]) for _ in xs][:1] * len(xs)
    ),
    "keeps the one input of a single device": floats_only(
        lambda xs: right(xs) if len(xs) > 1 else list(xs)
    ),
    # which collective, how often
    "stack and mean": floats_only(lambda xs: [torch.stack(xs).mean(0) for _ in xs]),
    "calls the all-reduce and looks away": floats_only(calls_it_and_looks_away),
    "each device adds in its own order": floats_only(each_device_adds_in_its_own_order),
    "counts devices by a second all-reduce": floats_only(counts_by_a_second_all_reduce),
    "one all-reduce for each result": floats_only(one_all_reduce_for_each_result),
    "one all-reduce for each pair": floats_only(one_all_reduce_for_each_pair),
    "one all-reduce for each element": floats_only(only_the_trip_of_a_loop),
    "a device too many": floats_only(starts_with_a_device_of_its_own),
    "all-gather, then mean": floats_only(gathers_first),
    "reduce-scatter, then all-gather": floats_only(builds_it_from_its_halves),
    "rank 0 adds and broadcasts": floats_only(rank_0_adds_and_broadcasts),
    # numbers
    "everything travels in 64 bits": floats_only(
        lambda xs: [t.to(xs[0].dtype) for t in right([x.double() for x in xs])]
    ),
    "64 bits come back": floats_only(lambda xs: [t.double() for t in right(xs)]),
    "32 bits in between": floats_only(
        lambda xs: [t.to(xs[0].dtype) for t in right([x.float() for x in xs])]
    ),
    "flat results": floats_only(lambda xs: [t.reshape(-1) for t in right(xs)]),
    "whole chunks only": floats_only(
        lambda xs: right([x[: len(x) // len(xs) * len(xs)] for x in xs])
    ),
    # errors
    "integers become floats": right,
    "integers are rounded down": lambda xs: [
        s / len(xs) if s.is_floating_point() else s // len(xs) for s in ring_all_reduce(xs)
    ],
    "ValueError for integers": refuses_with_value_error,
    "a TypeError of its own for everything": lambda xs: sum(xs) / xs,
    # somebody else's answer
    "asks the library for buckets": floats_only(
        lambda xs: [t / len(xs) for (t,) in bucketed_all_reduce([[x] for x in xs])]
    ),
}


def divides_first(tensors):
    return ring_all_reduce([tensor / len(tensors) for tensor in tensors])


def by_hand(tensors):
    for tensor in tensors:
        if tensor.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            raise TypeError(tensor.dtype)
    results = ring(tensors)
    for result in results:
        result /= len(tensors)  # noqa: PLW2901
    return results


def one_result_copied(tensors):
    mean = torch.div(ring_all_reduce(tensors)[0], len(tensors))
    return [mean.clone() for _ in range(len(tensors))]


def scaled_by_the_reciprocal(tensors):
    n = torch.tensor(float(len(tensors)), dtype=tensors[0].dtype)
    return list(map(n.reciprocal().mul, ring_all_reduce(list(tensors))))


def flat_and_back(tensors):
    totals = ring_all_reduce([tensor.flatten() for tensor in tensors])
    return [total.div(len(tensors)).reshape(tensors[0].shape) for total in totals]


POINTS = {"all_reduce_mean": 10}
WRONG = {"all_reduce_mean": MUTANTS}
RIGHT = {
    "all_reduce_mean": {
        "as in the notebook": floats_only(right),
        "divides first": floats_only(divides_first),
        "by hand, in place on the results": by_hand,
        "one result copied": floats_only(one_result_copied),
        "scaled by the reciprocal": floats_only(scaled_by_the_reciprocal),
        "flat and back": floats_only(flat_and_back),
        "nothing to send on one device": floats_only(
            lambda xs: right(xs) if len(xs) > 1 else [xs[0].clone()]
        ),
    }
}
