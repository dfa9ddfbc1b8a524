"""What a causal mask leaves each device of an attention ring to compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardwise._checks import amount, integer
from shardwise.ring_attention.layout import Runs, device_runs, run_size, visible_parts

if TYPE_CHECKING:
    from fractions import Fraction

_MOST_STEPS = 2000  # of a ring, on each of as many devices: half a minute of counting


def _even_runs(num_devices: int, block_size: int, layout: str) -> list[Runs]:
    count = integer("num_devices", num_devices, minimum=1)
    size = integer("block_size", block_size, minimum=1)
    return device_runs(count * size, count, layout)


def causal_block_work(
    *, num_devices: int, block_size: int, layout: str = "contiguous"
) -> dict[str, list[int] | int | float]:
    """Return how many causal (query, key) pairs each device computes, and how uneven that is.

    The query at position i sees i + 1 keys, so n queries at first … last in equal strides see
    n(first + last + 2)/2. With P devices and b tokens on each, device p computes
    "contiguous": pb² + b(b+1)/2; "striped": (p+1)b + Pb(b-1)/2; "zigzag": (Pb² + b)/2 on every
    device where b is even, and nearly that where it is odd. The total is L(L+1)/2, L = Pb, in all.

    Args:
        num_devices: P from 1 to a million.
        block_size: tokens per device, b = L/P ≥ 1.
        layout: "contiguous", "striped" or "zigzag".

    Returns:
        "work": exact pairs of each device; "total": their sum; "imbalance": largest ÷ smallest;
        "slowdown": largest ÷ mean, which is how much longer the busiest device takes than it would
        with even work (2 - 1/P for large contiguous blocks).

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if a number is out of range or the layout unknown.

    Example:
        >>> causal_block_work(num_devices=4, block_size=2, layout="contiguous")["work"]
        [3, 7, 11, 15]
        >>> causal_block_work(num_devices=4, block_size=2, layout="zigzag")
        {'work': [9, 9, 9, 9], 'total': 36, 'imbalance': 1.0, 'slowdown': 1.0}

    Source: Brandon et al., "Striped Attention", arXiv:2311.09431, section 3.
    """
    work = [
        sum(run_size(run) * (run[0] + run[-1] + 2) // 2 for run in runs)
        for runs in _even_runs(num_devices, block_size, layout)
    ]
    total, most = sum(work), max(work)
    return {
        "work": work,
        "total": total,
        "imbalance": most / min(work),
        "slowdown": most * len(work) / total,
    }


def causal_step_work(
    *, num_devices: int, block_size: int, layout: str = "contiguous"
) -> list[list[int]]:
    """Return how many causal (query, key) pairs each device computes in each step of the ring.

    In step t device p holds the keys of device (p - t) mod P. Devices wait for one another after
    each step, so a ring takes the sum over steps of the step's largest count. For b tokens on each
    device a step costs up to b² pairs with "contiguous", and b(b+1)/2 with "striped": half of it.

    Args:
        num_devices: P from 1 to 2000.
        block_size: tokens per device, b = L/P ≥ 1.
        layout: "contiguous", "striped" or "zigzag".

    Returns:
        P lists (steps) of P exact counts (devices).

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if a number is out of range or the layout unknown.

    Example:
        >>> causal_step_work(num_devices=3, block_size=4, layout="contiguous")
        [[10, 10, 10], [0, 16, 16], [0, 0, 16]]
        >>> causal_step_work(num_devices=3, block_size=4, layout="striped")
        [[10, 10, 10], [6, 10, 10], [6, 6, 10]]

    Source: Brandon et al., "Striped Attention", arXiv:2311.09431, section 3.
    """
    count = integer("num_devices", num_devices, minimum=1, maximum=_MOST_STEPS)
    runs = _even_runs(count, block_size, layout)
    return [
        [
            sum(part.pairs for part in visible_parts(mine, runs[rank - step], causal=True))
            for rank, mine in enumerate(runs)
        ]
        for step in range(len(runs))
    ]


def overlap_block_size(flops: float | Fraction, bandwidth: float | Fraction) -> int:
    """Return the fewest tokens per device with which a ring hides its transfers behind its work.

    A step computes 4dc² operations on c queries and c keys of size d, and moves 4cd bytes (K and V
    in 16 bits): 4dc²/F ≥ 4cd/B holds from c = F/B on. Without a mask; a causal one halves the work
    but not the bytes.

    Args:
        flops: what one device computes, F ≥ 0 operations per second.
        bandwidth: of the link to its neighbour, B > 0 bytes per second.

    Returns:
        The least such c ≥ 1.

    Raises:
        TypeError: if an argument is no number.
        ValueError: if F is negative, or B is not positive, or one is not finite.

    Example:
        >>> overlap_block_size(312e12, 300e9), overlap_block_size(312e12, 12.5e9)
        (1040, 24960)

    Source: Liu, Zaharia and Abbeel, "Ring Attention", arXiv:2310.01889, section 3 and table 2.
    """
    rate = amount("bandwidth", bandwidth)
    if rate == 0:
        raise ValueError("bandwidth=0 moves nothing: give bytes per second, as 300e9")
    return max(1, -(-amount("flops", flops) // rate))
