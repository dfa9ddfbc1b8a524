"""The ring all-reduce against the bandwidth floor of its moves, and against a ring that clones.

Run from the repository's root: `python benchmarks/bench_ring.py`. One thread; times are CPU times,
which other programs lengthen least, and every number is the median of ratios, each taken between
two neighbours of one round.
"""

from __future__ import annotations

import statistics
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

import torch

from shardwise.collectives import ring_all_reduce

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 21
MEGABYTES = 16


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of `work`."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def floor(tensors: list[torch.Tensor]) -> None:
    """Move what the ring has to move, chunk by chunk, and nothing else.

    N working copies, then N(N-1) additions and N(N-1) copies of one chunk each.
    """
    num_devices = len(tensors)
    copies = [tensor.clone() for tensor in tensors]
    chunks = [copy.tensor_split(num_devices) for copy in copies]
    for move in (torch.Tensor.add_, torch.Tensor.copy_):
        for step in range(num_devices - 1):
            for rank in range(num_devices):
                move(chunks[rank][step], chunks[rank - 1][step])


def cloning_ring(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Run the ring with a snapshot of every message, and out-of-place sums, as tutorials do."""
    num_devices = len(tensors)
    chunks = [list(tensor.clone().tensor_split(num_devices)) for tensor in tensors]
    for offset, add in ((0, True), (1, False)):
        for step in range(num_devices - 1):
            index = [(rank + offset - step) % num_devices for rank in range(num_devices)]
            sent = [chunks[rank][index[rank]].clone() for rank in range(num_devices)]
            for rank, message in enumerate(sent):
                mine = chunks[(rank + 1) % num_devices]
                mine[index[rank]] = mine[index[rank]] + message if add else message
    return [torch.cat(parts) for parts in chunks]


def main() -> None:
    """Print a table of medians."""
    torch.set_num_threads(1)
    sys.stdout.write(f"{'':16} {'over the floor':>16} {'over a cloning ring':>20}\n")
    for num_devices in (2, 4, 8):
        tensors = [torch.randn(MEGABYTES * 250_000) for _ in range(num_devices)]
        if not torch.equal(ring_all_reduce(tensors)[0], cloning_ring(tensors)[0]):
            raise AssertionError("the peer computes something else")
        over_floor, speed_up = [], []
        for _ in range(ROUNDS):
            ours = seconds(partial(ring_all_reduce, tensors))
            over_floor.append(ours / seconds(partial(floor, tensors)))
            speed_up.append(seconds(partial(cloning_ring, tensors)) / ours)
        row = f"{statistics.median(over_floor):.2f}x", f"{statistics.median(speed_up):.2f}x faster"
        sys.stdout.write(
            f"{num_devices} x {MEGABYTES} MB".ljust(16) + f" {row[0]:>16} {row[1]:>20}\n"
        )


if __name__ == "__main__":
    main()
