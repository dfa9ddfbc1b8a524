"""Gradient buckets: many small tensors reduced as few large ones.

A ring all-reduce takes 2(N-1) steps, however small its tensor, so a model's hundreds of gradients
would pay that latency hundreds of times. Backward passes finish the last layers first: buckets are
filled in that order, and each could be reduced while earlier layers still compute.
"""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING

import torch

from shardwise._checks import integer
from shardwise._tensors import summable_tensors, tensor_list
from shardwise.collectives import ring_all_reduce

if TYPE_CHECKING:
    from collections.abc import Sequence

BUCKET_BYTES = 25 * 2**20
"""The default size of a bucket: 25 MiB."""


def bucket_gradients(
    gradients: Sequence[torch.Tensor], *, bucket_bytes: int = BUCKET_BYTES
) -> list[list[int]]:
    """Sort gradients into buckets of at most `bucket_bytes`, from the last one to the first.

    Each gradient joins the bucket that is being filled for its dtype and device if it fits, and
    starts a new one if not. One that is larger than `bucket_bytes` gets a bucket of its own.

    Args:
        gradients: tensors in the order of the forward pass, at least one.
        bucket_bytes: most bytes of a bucket, at least 1.

    Returns:
        For each bucket the indices of its gradients, in the order in which they join; every index
        is in exactly one bucket.

    Raises:
        TypeError: if an element is no dense tensor, or `bucket_bytes` no int.
        ValueError: if there are no gradients, or `bucket_bytes` < 1.

    Example:
        >>> bucket_gradients([torch.ones(n) for n in (2, 1, 9, 3)], bucket_bytes=16)
        [[3], [2], [1, 0]]

    Source: Li et al., "PyTorch Distributed", arXiv:2006.15704, section 3.2.3; the 25 MiB are the
    default of `torch.nn.parallel.DistributedDataParallel`, which closes a bucket once it has
    reached that size, and so may pass it by one gradient, and its first one at 1 MiB.
    """
    checked = tensor_list("gradients", gradients)
    limit = integer("bucket_bytes", bucket_bytes, minimum=1)
    buckets: list[list[int]] = []
    filling: dict[tuple[torch.dtype, torch.device], tuple[list[int], int]] = {}
    for index in reversed(range(len(checked))):
        gradient = checked[index]
        size = gradient.numel() * gradient.element_size()
        kind = gradient.dtype, gradient.device
        bucket, filled = filling.get(kind, ([], 0))
        if not bucket or filled + size > limit:
            bucket, filled = [], 0
            buckets.append(bucket)
        bucket.append(index)
        filling[kind] = bucket, filled + size
    return buckets


def bucketed_all_reduce(
    grads_per_device: Sequence[Sequence[torch.Tensor]], *, bucket_bytes: int = BUCKET_BYTES
) -> list[list[torch.Tensor]]:
    """Leave every device with the sums of all devices' gradients, one ring all-reduce per bucket.

    The sums are those of a ring all-reduce for each gradient, up to the order of additions, which
    follows the chunks of the bucket (integers, and floats of up to two devices: the same bits).
    B buckets of together M bytes take 2(N-1)·B steps, and all devices together send 2(N-1)·M.

    Args:
        grads_per_device: for each of N ≥ 1 devices its gradients, in the order of the forward pass;
            the i-th has one shape, dtype and device everywhere. Floats are added in their dtype.
        bucket_bytes: most bytes of a bucket, at least 1.

    Returns:
        For each device the sums, with the gradients' shapes, detached, without shared storage.

    Raises:
        TypeError: if an argument is no list of lists of dense tensors of a float or integer dtype.
        ValueError: if devices differ in the number, shape, dtype or place of their gradients, or
            integer sums may leave the range of their dtype.

    Example:
        >>> grads = [[torch.tensor([1.0, 2.0]), torch.tensor(3.0)] for _ in range(2)]
        >>> bucketed_all_reduce(grads)[0]
        [tensor([2., 4.]), tensor(6.)]

    Source: Li et al., "PyTorch Distributed", arXiv:2006.15704, section 3.2.3.
    """
    devices = _check_gradients(grads_per_device)
    results = [list(gradients) for gradients in devices]
    for bucket in bucket_gradients(devices[0], bucket_bytes=bucket_bytes):
        flat = [torch.cat([grads[i].detach().reshape(-1) for i in bucket]) for grads in devices]
        for rank, total in enumerate(ring_all_reduce(flat)):
            pieces = torch.split(total, [devices[0][i].numel() for i in bucket])
            for i, piece in zip(bucket, pieces, strict=True):
                results[rank][i] = piece.clone().view(devices[0][i].shape)
    return results


def _check_gradients(
    grads_per_device: Sequence[Sequence[torch.Tensor]],
) -> list[list[torch.Tensor]]:
    """Return each device's gradients as a list, or say which ones can't be added up."""
    name = "grads_per_device"
    if not isinstance(grads_per_device, (list, tuple)):
        raise TypeError(
            f"{name}={reprlib.repr(grads_per_device)} must be a list with one list of tensors for "
            "each device"
        )
    if not grads_per_device:
        raise ValueError(f"{name} is empty: give one list of gradients for each device")
    devices = [tensor_list(f"{name}[{rank}]", grads) for rank, grads in enumerate(grads_per_device)]
    for rank, grads in enumerate(devices):
        if len(grads) != len(devices[0]):
            raise ValueError(
                f"{name}[{rank}] has {len(grads)} tensors and {name}[0] has {len(devices[0])}: "
                "every device holds one gradient for each parameter"
            )
    for index in range(len(devices[0])):
        across = f"[grads[{index}] for grads in {name}]"
        summable_tensors(across, [grads[index] for grads in devices])
    return devices
