"""One pass of a ring, timed, for arguments that are checked already."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shardwise.plan.link_time import Link


def ring_pass(num_bytes: float, num_devices: int, link: Link, collectives: int = 1) -> float:
    """Return `ring_pass_seconds` for `num_bytes` in all, sent by `collectives` of equal size.

    Example:
        >>> from shardwise.plan.link_time import Link
        >>> ring_pass(1e9, 1, Link(3.4e-6, 300e9)), ring_pass(1e9, 2, Link(1.0, 500e6), 3)
        (0.0, 4.0)
    """
    hops = num_devices - 1
    return hops * (collectives * link.latency + num_bytes / (num_devices * link.bandwidth))
