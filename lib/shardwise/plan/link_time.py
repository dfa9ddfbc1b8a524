"""The alpha-beta model of communication: A seconds of latency a hop, and B bytes a second.

Collectives are rings, which move the fewest bytes; their latency grows with the number of devices,
where libraries change to trees. Messages do not compete for links.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from shardwise.plan._checks import instance, positive, quantity, share, size
from shardwise.plan.hardware import Cluster


@dataclass(frozen=True, slots=True)
class Link:
    """What a device sends through: A and B of the alpha-beta model.

    Attributes:
        latency: A, seconds per hop.
        bandwidth: B, bytes/s in one direction.

    Raises:
        TypeError: if an attribute is no number.
        ValueError: if A is negative, B is not above 0, or one is not finite.

    Example:
        >>> Link(14e-6, 25e9).bandwidth
        25000000000.0

    Source: Hockney, "The communication challenge for MPP", Parallel Computing 20(3), 1994.
    """

    latency: float
    bandwidth: float

    def __post_init__(self) -> None:
        """Reject what is no latency or bandwidth."""
        object.__setattr__(self, "latency", quantity("latency", self.latency))
        object.__setattr__(self, "bandwidth", positive("bandwidth", self.bandwidth))


def send_seconds(num_bytes: float, link: Link) -> float:
    """Return the time of one message: A + M/B.

    Args:
        num_bytes: bytes M ≥ 0 of the message.
        link: what it passes through.

    Returns:
        Seconds.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if M is negative or not finite.

    Example:
        >>> send_seconds(50e6, Link(14e-6, 25e9))
        0.002014

    Source: Hockney, Parallel Computing 20(3), 1994.
    """
    instance("link", link, Link)
    return link.latency + quantity("num_bytes", num_bytes) / link.bandwidth


def ring_pass_seconds(num_bytes: float, num_devices: int, link: Link) -> float:
    """Return the time of a reduce-scatter or an all-gather: (N-1)·A + (N-1)/N · M/B.

    Args:
        num_bytes: bytes M ≥ 0 of the whole tensor.
        num_devices: devices N ≥ 1 in the ring.
        link: the slowest of its links.

    Returns:
        Seconds; 0 for one device.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if an argument is out of range.

    Example:
        >>> round(ring_pass_seconds(1e9, 8, Link(3.4e-6, 240e9)), 6)
        0.00367

    Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in
    MPICH", IJHPCA 19(1), 2005, ring algorithms.
    """
    instance("link", link, Link)
    count = size("num_devices", num_devices)
    return ring_pass(quantity("num_bytes", num_bytes), count, link)


def ring_pass(num_bytes: float, num_devices: int, link: Link, collectives: int = 1) -> float:
    """Return `ring_pass_seconds` for `num_bytes` in all, sent by `collectives` of equal size.

    For arguments that are checked already.

    Example:
        >>> ring_pass(1e9, 1, Link(3.4e-6, 240e9)), ring_pass(1e9, 2, Link(1.0, 500e6), 3)
        (0.0, 4.0)
    """
    hops = num_devices - 1
    return hops * (collectives * link.latency + num_bytes / (num_devices * link.bandwidth))


def all_reduce_seconds(num_bytes: float, num_devices: int, link: Link) -> float:
    """Return the time of a ring all-reduce: 2(N-1)·A + 2(N-1)/N · M/B.

    Args:
        num_bytes: bytes M ≥ 0 of the tensor.
        num_devices: devices N ≥ 1 in the ring.
        link: the slowest of its links.

    Returns:
        Seconds: a reduce-scatter and an all-gather.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if an argument is out of range.

    Example:
        >>> round(all_reduce_seconds(100e6, 8, Link(3.4e-6, 240e9)), 6)
        0.000777

    Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", JPDC 69(2), 2009.
    """
    return 2 * ring_pass_seconds(num_bytes, num_devices, link)


def exposed_seconds(communication: float, computation: float, overlap: float = 1.0) -> float:
    """Return what is left of a communication that runs beside a computation: max(0, C - o·W).

    Args:
        communication: seconds C ≥ 0 it takes.
        computation: seconds W ≥ 0 of work beside it that does not wait for it.
        overlap: share o of that work, from 0 to 1, that it can hide behind.

    Returns:
        Seconds for which devices wait.

    Raises:
        TypeError: if an argument is no number.
        ValueError: if an argument is out of range.

    Example:
        >>> exposed_seconds(5.0, 4.0), exposed_seconds(5.0, 4.0, overlap=0.5)
        (1.0, 3.0)

    Source: the condition that it is 0 is the one of Liu, Zaharia and Abbeel, "Ring Attention",
    arXiv:2310.01889, section 3.
    """
    hidden = share("overlap", overlap) * quantity("computation", computation)
    return max(0.0, quantity("communication", communication) - hidden)


def group_link(cluster: Cluster, num_devices: int, stride: int = 1) -> Link:
    """Return the link that limits a ring over every `stride`-th device of a cluster.

    Ranks fill nodes in order. A ring inside a node has the node's links. One that leaves it, with k
    of its devices in each node, has as many rings as network adapters, k of them: it sends at
    min(intra, k · inter). Of its N - 1 hops, one less than it has nodes lead from node to node; the
    latency is the mean of all hops.

    Args:
        cluster: where it runs.
        num_devices: devices N ≥ 1 in the ring.
        stride: distance of their ranks.

    Returns:
        The link.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if an argument is out of range, or the ring is larger than the cluster.

    Example:
        >>> from shardwise.plan.hardware import dgx_a100
        >>> [group_link(dgx_a100(4), *group).bandwidth / 1e9 for group in ((8, 1), (32, 1), (4, 8))]
        [240.0, 200.0, 25.0]

    Source: Narayanan et al., arXiv:2104.04473, section 4.1, on eight adapters per node;
    NVIDIA/nccl, `src/graph/tuning.cc`, `nInterSteps`, on the hops.
    """
    count, apart = _ring(cluster, num_devices, stride)
    span, per_node = count * apart, cluster.devices_per_node
    if not _leaves_node(cluster, count, span):
        return Link(cluster.intra_latency, cluster.intra_bandwidth)
    members = max(1, math.gcd(span, per_node) // apart)
    bandwidth = min(cluster.intra_bandwidth, members * cluster.inter_bandwidth)
    nodes = max(2, -(-span // max(per_node, apart)))
    between, inside = nodes - 1, count - nodes
    total = between * cluster.inter_latency + inside * cluster.intra_latency
    return Link(total / (count - 1), bandwidth)


def neighbour_link(cluster: Cluster, num_devices: int, stride: int = 1) -> Link:
    """Return the slowest link between neighbours among every `stride`-th device of a cluster.

    Unlike a collective, a message from one device to the next has only the sender's adapter.

    Args:
        cluster: where they are.
        num_devices: devices N ≥ 1 in the chain or ring.
        stride: distance of their ranks.

    Returns:
        The link: that between nodes as soon as the N devices do not fit into one.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if an argument is out of range, or the ring is larger than the cluster.

    Example:
        >>> from shardwise.plan.hardware import dgx_a100
        >>> [neighbour_link(dgx_a100(4), n).bandwidth / 1e9 for n in (8, 16)]
        [240.0, 25.0]

    Source: as `group_link`.
    """
    count, apart = _ring(cluster, num_devices, stride)
    if not _leaves_node(cluster, count, count * apart):
        return Link(cluster.intra_latency, cluster.intra_bandwidth)
    return Link(cluster.inter_latency, min(cluster.intra_bandwidth, cluster.inter_bandwidth))


def _ring(cluster: Cluster, num_devices: int, stride: int) -> tuple[int, int]:
    """Return both numbers as ints, or say why there is no such ring."""
    instance("cluster", cluster, Cluster)
    count, apart = size("num_devices", num_devices), size("stride", stride)
    if (count - 1) * apart >= cluster.num_devices:
        raise ValueError(
            f"num_devices={count} at stride={apart} reach beyond the {cluster.num_devices} devices "
            "of the cluster: give fewer, or a smaller stride"
        )
    return count, apart


def _leaves_node(cluster: Cluster, num_devices: int, span: int) -> bool:
    """Return whether a ring over `span` ranks, or one of those beside it, is in several nodes."""
    per_node = cluster.devices_per_node
    return num_devices > 1 and cluster.num_devices > per_node and per_node % span > 0
