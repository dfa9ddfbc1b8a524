"""Collectives over N simulated devices: a list of N tensors, one for each device, in one process.

The devices form a ring: device i sends only to device (i + 1) mod N. Every tensor is cut into N
chunks as `torch.tensor_split` cuts it, so any number of elements works. In one step the chunk that
a device sends and the chunk that it receives are different ones, which is why adding in place on
views of a device's own working copy gives what simultaneous messages would give.

All functions leave their inputs alone and return detached tensors that share no storage with the
inputs or with one another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

import torch

from shardwise._checks import integer
from shardwise._tensors import dense_tensor, same_kind_tensors, split_dim, summable_tensors
from shardwise.ledger import Recorder

Chunks = Sequence[Sequence[torch.Tensor]]  # [device][chunk], views of the device's working copy


def _ring_steps(
    recorder: Recorder,
    op: str,
    chunks: Chunks,
    receive: Callable[[torch.Tensor, torch.Tensor], object],
    *,
    offset: int,
    first_step: int = 0,
) -> None:
    """Run N-1 ring steps; in step t device i sends chunk (i + offset - t) mod N to its right."""
    num_devices = len(chunks)
    for step in range(num_devices - 1):
        for source in range(num_devices):
            destination = (source + 1) % num_devices
            chunk = (source + offset - step) % num_devices
            message = chunks[source][chunk]
            recorder.note(op, first_step + step, source, destination, chunk, message)
            receive(chunks[destination][chunk], message)


def _working_copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone(memory_format=torch.contiguous_format)


def ring_all_reduce(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Leave every device with the sum of all devices' tensors, in two trips around a ring.

    Reduce-scatter: in step t = 0 … N-2 device i sends chunk (i - t) mod N, and the receiver adds
    it. Then device i owns chunk (i + 1) mod N complete. All-gather: in step t device i sends chunk
    (i + 1 - t) mod N, and the receiver stores it. Each chunk is summed once, in one order, and then
    copied: the devices' results are the same bits. Against the exact sum a float result is off by
    at most about (N-1)·eps·Σ|x|, as the order of additions is the ring's.

    Args:
        tensors: one tensor for each device, N ≥ 1, all of one shape, dtype and device. Floats are
            added in their own dtype; integers exactly, though partial sums may wrap around on the
            way and come back.

    Returns:
        N tensors of the input's shape and dtype, detached, without shared storage.

    Raises:
        TypeError: if an element is no dense tensor of a dtype that torch adds up as numbers (bool,
            complex and float8 are none).
        ValueError: if there are no tensors, if they differ in shape, dtype or device, or if a sum
            of integers leaves the range of their dtype. int64, which no wider type can check, is
            refused already where the tensors' extremes add up to more.

    Example:
        >>> total = ring_all_reduce([torch.tensor([1., 2., 3.]), torch.tensor([10., 20., 30.])])
        >>> [t.tolist() for t in total]
        [[11.0, 22.0, 33.0], [11.0, 22.0, 33.0]]

    Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", JPDC 69(2), 2009.
    """
    results = [_working_copy(tensor) for tensor in summable_tensors("tensors", tensors)]
    num_devices = len(results)
    chunks = [result.view(-1).tensor_split(num_devices) for result in results]
    recorder = Recorder("ring_all_reduce")
    _ring_steps(recorder, "reduce_scatter", chunks, torch.Tensor.add_, offset=0)
    _ring_steps(
        recorder, "all_gather", chunks, torch.Tensor.copy_, offset=1, first_step=num_devices - 1
    )
    return results


def reduce_scatter(
    tensors: Sequence[torch.Tensor], *, dim: int | None = None
) -> list[torch.Tensor]:
    """Leave device i with chunk i of the sum of all devices' tensors, in N-1 ring steps.

    In step t device i sends chunk (i - 1 - t) mod N, and the receiver adds it. Each device sends
    (N-1)/N · M bytes.

    Args:
        tensors: one tensor for each device, N ≥ 1, all of one shape, dtype and device.
        dim: the dimension to cut into N chunks; None cuts the flattened tensor.

    Returns:
        N chunks: 1-D ones for `dim=None`, else ones that are shorter along `dim`. Sizes differ
            by at most one where N does not divide.

    Raises:
        TypeError: as `ring_all_reduce`.
        ValueError: as `ring_all_reduce`, or if the tensors have no dimension `dim`.

    Example:
        >>> ones, tens = torch.tensor([1., 2., 3.]), torch.tensor([10., 20., 30.])
        >>> [chunk.tolist() for chunk in reduce_scatter([ones, tens])]
        [[11.0, 22.0], [33.0]]

    Source: Chan et al., "Collective communication: theory, practice, and experience", CCPE, 2007.
    """
    copies = [_working_copy(tensor) for tensor in summable_tensors("tensors", tensors)]
    num_devices = len(copies)
    if dim is None:
        chunks = [copy.view(-1).tensor_split(num_devices) for copy in copies]
    else:
        axis = split_dim("dim", dim, copies[0])
        chunks = [copy.tensor_split(num_devices, dim=axis) for copy in copies]
    recorder = Recorder("reduce_scatter")
    _ring_steps(recorder, "reduce_scatter", chunks, torch.Tensor.add_, offset=-1)
    return [_working_copy(chunks[rank][rank]) for rank in range(num_devices)]


def all_gather(shards: Sequence[torch.Tensor], *, dim: int = 0) -> list[torch.Tensor]:
    """Leave every device with all shards, joined along `dim`, in N-1 ring steps.

    In step t device i sends shard (i - t) mod N, and the receiver stores it. With M bytes
    joined from shards of one size, each device sends (N-1)/N · M bytes. It joins what
    `reduce_scatter` cuts.

    Args:
        shards: one tensor for each device, N ≥ 1, of one dtype and device, and of one shape but for
            the size along `dim`. Any dtype: nothing is added.
        dim: the dimension along which they are joined.

    Returns:
        N equal tensors, detached, without shared storage.

    Raises:
        TypeError: if an element is no dense tensor.
        ValueError: if there are no shards, if they don't fit together, or if they are 0-d.

    Example:
        >>> [t.tolist() for t in all_gather([torch.tensor([1, 2]), torch.tensor([3])])]
        [[1, 2, 3], [1, 2, 3]]

    Source: Chan et al., "Collective communication: theory, practice, and experience", CCPE, 2007.
    """
    checked = same_kind_tensors("shards", shards, but_dim=dim)
    axis = split_dim("dim", dim, checked[0])
    sizes = [shard.shape[axis] for shard in checked]
    *boundaries, total = accumulate(sizes)
    shape = list(checked[0].shape)
    shape[axis] = total
    results = [torch.empty(shape, dtype=shard.dtype, device=shard.device) for shard in checked]
    chunks = [result.tensor_split(boundaries, dim=axis) for result in results]
    for rank, shard in enumerate(checked):
        chunks[rank][rank].copy_(shard.detach())
    _ring_steps(Recorder("all_gather"), "all_gather", chunks, torch.Tensor.copy_, offset=0)
    return results


def broadcast(tensor: torch.Tensor, num_devices: int, *, source: int = 0) -> list[torch.Tensor]:
    """Leave every device with a copy of the source's tensor, passed on along the ring.

    In step t = 0 … N-2 device (source + t) mod N sends all M bytes of what it has to its right
    neighbour: N-1 hops, one after the other. Each device but the last sends M, and the last one
    waits for (N-1)·M bytes to pass. Real libraries cut the tensor up or use a tree instead.

    Args:
        tensor: what device `source` holds, of any shape and dtype.
        num_devices: N ≥ 1.
        source: rank of the device that has it, 0 ≤ source < N.

    Returns:
        N equal tensors, detached, without shared storage.

    Raises:
        TypeError: if `tensor` is no dense tensor or a number is no int.
        ValueError: if N < 1 or there is no device `source`.

    Example:
        >>> [t.tolist() for t in broadcast(torch.tensor([1, 2]), 3)]
        [[1, 2], [1, 2], [1, 2]]

    Source: the definition; the chain is the simplest way around a ring.
    """
    checked = dense_tensor("tensor", tensor)
    count = integer("num_devices", num_devices, minimum=1)
    first = integer("source", source, maximum=count - 1)
    recorder = Recorder("broadcast")
    held = {first: _working_copy(checked)}
    for step in range(count - 1):
        sender = (first + step) % count
        receiver = (sender + 1) % count
        recorder.note("broadcast", step, sender, receiver, chunk=0, message=held[sender])
        held[receiver] = _working_copy(held[sender])
    return [held[rank] for rank in range(count)]
