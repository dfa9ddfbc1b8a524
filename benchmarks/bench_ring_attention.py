"""Ring attention against PyTorch's attention on the whole sequence: time and peak memory.

Run from the repository's root: `python benchmarks/bench_ring_attention.py`. One thread; each time
is CPU time, and each ratio the median of ratios to PyTorch's attention run just before. All P
devices are computed here, one after another: 1.0 means that cutting the sequence costs nothing.
"""

from __future__ import annotations

import ctypes
import gc
import statistics
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import scaled_dot_product_attention

from shardwise.ring_attention import LAYOUTS, ring_attention

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 11
LENGTH, DEVICES = 4096, 8
LONGEST_MATRIX = 8192  # a whole score matrix of this length takes half a gigabyte
TARGETS = {  # (kernel, causal): at most this many times the time of PyTorch's attention
    ("streaming", False): 1.4,
    ("streaming", True): 1.6,
    ("sdpa", False): 1.15,
    ("sdpa", True): 1.15,
}
ROW = "{:40} {:>10} {:>8} {:>8}\n"


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of `work`."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def whole_softmax(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Form the whole score matrix, as a textbook does."""
    return torch.softmax(q @ k.mT * q.shape[-1] ** -0.5, -1) @ v


def blocks_alone(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool) -> None:
    """Call PyTorch's attention on every visible block, as kernel "sdpa" does, and merge nothing."""
    queries, keys, values = (x.chunk(DEVICES, 2) for x in (q, k, v))
    for i, rows in enumerate(queries):
        for j in range(i + 1 if causal else DEVICES):
            scaled_dot_product_attention(rows, keys[j], values[j], is_causal=causal and i == j)


def backward(attend: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> None:
    """Run attention forward and backward."""
    out = attend(*inputs)
    torch.autograd.grad(out, inputs, out.detach())


def peak_mib(work: Callable[[], object]) -> float:
    """Return by how much `work` raises the process's peak of resident memory (Linux)."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # memory that is free but resident would hide what is used
    Path("/proc/self/clear_refs").write_text("5")
    before = _resident("VmRSS")
    work()
    return (_resident("VmHWM") - before) / 1024


def _resident(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def compare(
    title: str,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    target: float | None = None,
) -> None:
    """Write the median ratio of the times of `ours` and `theirs`."""
    pairs = [(seconds(theirs), seconds(ours)) for _ in range(ROUNDS + 1)][1:]  # the first warms up
    ratio = statistics.median(mine / peer for peer, mine in pairs)
    mine = statistics.median(mine for _, mine in pairs)
    sys.stdout.write(
        ROW.format(title, f"{mine * 1e3:.0f}", f"{ratio:.2f}", f"{target}" if target else "")
    )
    sys.stdout.flush()


def bench_time() -> None:
    """Time forward, then forward and backward, of both kernels."""
    inputs = [torch.randn(1, 4, LENGTH, 64) for _ in range(3)]
    leaves = [x.clone().requires_grad_() for x in inputs]
    sys.stdout.write(ROW.format(f"B1 H4 L{LENGTH} D64 fp32, P={DEVICES}", "ms", "ratio", "target"))
    for (kernel, causal), target in TARGETS.items():
        peer = partial(scaled_dot_product_attention, is_causal=causal)
        if kernel == "sdpa":
            title = f"PyTorch's, block by block{', causal' if causal else ''}"
            alone = partial(blocks_alone, *inputs, causal=causal)
            compare(title, alone, partial(peer, *inputs))
        for layout in LAYOUTS if causal else LAYOUTS[:1]:
            ring = partial(
                ring_attention, num_devices=DEVICES, causal=causal, layout=layout, kernel=kernel
            )
            title = f"{kernel}{f', causal {layout}' if causal else ''}"
            goal = target if layout == "contiguous" else None
            compare(title, partial(ring, *inputs), partial(peer, *inputs), goal)
            if layout == "contiguous":
                compare(
                    f"{title}, and backward",
                    partial(backward, ring, *leaves),
                    partial(backward, peer, *leaves),
                )


def bench_memory() -> None:
    """Measure what is held besides the inputs; the output alone is 4 bytes · H · L · D."""
    sys.stdout.write("\npeak MiB besides the inputs, B1 H1 D64 fp32, P=8\n")
    row = "{:>8} {:>8} {:>12} {:>12} {:>8} {:>14}\n"
    sys.stdout.write(row.format("L", "output", "whole matrix", "streaming", "sdpa", "torch's sdpa"))
    for length in (2048, 8192, 32768):
        q, k, v = (torch.randn(1, 1, length, 64) for _ in range(3))
        ring = partial(ring_attention, q, k, v, num_devices=DEVICES, causal=True)
        work = [
            partial(ring, kernel="streaming"),
            partial(ring, kernel="sdpa"),
            partial(scaled_dot_product_attention, q, k, v, is_causal=True),
        ]
        whole = (
            f"{peak_mib(partial(whole_softmax, q, k, v)):.1f}" if length <= LONGEST_MATRIX else "-"
        )
        peaks = [f"{peak_mib(each):.1f}" for each in work]
        sys.stdout.write(row.format(length, f"{length * 64 * 4 / 2**20:.1f}", whole, *peaks))
        sys.stdout.flush()


def main() -> None:
    """Print both tables."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    bench_time()
    if Path("/proc/self/clear_refs").exists():
        bench_memory()


if __name__ == "__main__":
    main()
