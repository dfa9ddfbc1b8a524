"""Devices and clusters: how fast they compute and send, and how much they hold.

The constants are those of the vendors' data sheets, except two that no data sheet has: the latency
of a hop, and the share of the peak that a layer's arithmetic reaches. Their sources stand by them.
"""

from __future__ import annotations

from dataclasses import dataclass

from shardwise.plan._checks import instance, positive, quantity, share, size

LAYER_EFFICIENCY = 0.55
"""Share of the peak that a transformer layer's arithmetic reaches, communication aside.

Not a guess and not fitted to the runs that the tests predict: Korthikanti et al. (arXiv:2205.05198,
table 4) measured 19.6 ms forward and backward for one layer (h = 6144, b = 4, s = 2048) on eight
A100s. Its four all-reduces take 2.5 ms of that by the model of `link_time`; the other 17.1 ms for
72bsh²(1 + s/(6h)) FLOPs are 55 % of 312 TFLOP/s. For other devices it is an assumption.
"""

NVLINK_LATENCY = 3.4e-6
"""Seconds per hop of a ring inside a node: NCCL's own cost model, ring with the simple protocol.

Source: NVIDIA/nccl, `src/graph/tuning.cc`, table `hwLat`, NVLINK.
"""

NETWORK_LATENCY = 14e-6
"""Seconds per hop between nodes: the same table of NCCL, NET.

Source: NVIDIA/nccl, `src/graph/tuning.cc`, table `hwLat`, NET.
"""


@dataclass(frozen=True, slots=True)
class Device:
    """One accelerator.

    Attributes:
        name: what to call it.
        peak_flops: dense 16-bit FLOP/s.
        memory_bytes: bytes it holds.
        efficiency: share of the peak, above 0 and at most 1, that a layer's arithmetic reaches.

    Raises:
        TypeError: if an attribute has the wrong type.
        ValueError: if an attribute is out of range.

    Example:
        >>> Device("A100", peak_flops=312e12, memory_bytes=80 * 2**30).efficiency
        0.55

    Source: the attributes are quantities of data sheets; see `LAYER_EFFICIENCY` for the last one.
    """

    name: str
    peak_flops: float
    memory_bytes: float
    efficiency: float = LAYER_EFFICIENCY

    def __post_init__(self) -> None:
        """Reject attributes that are no such quantities."""
        instance("name", self.name, str)
        object.__setattr__(self, "peak_flops", positive("peak_flops", self.peak_flops))
        object.__setattr__(self, "memory_bytes", positive("memory_bytes", self.memory_bytes))
        positive("efficiency", self.efficiency)
        object.__setattr__(self, "efficiency", share("efficiency", self.efficiency))


@dataclass(frozen=True, slots=True)
class Cluster:
    """Equal devices in equal nodes; links inside a node are faster than those between nodes.

    Attributes:
        num_devices: devices in all.
        device: what each of them is.
        devices_per_node: devices that the fast links join.
        intra_bandwidth: bytes/s that a device sends inside its node, in one direction.
        inter_bandwidth: bytes/s that a device sends out of its node, in one direction.
        intra_latency: seconds per hop inside a node.
        inter_latency: seconds per hop between nodes.

    Raises:
        TypeError: if an attribute has the wrong type.
        ValueError: if an attribute is out of range, or the nodes would not be equal.

    Example:
        >>> dgx_a100(128).num_devices
        1024

    Source: Hockney, "The communication challenge for MPP", Parallel Computing 20(3), 1994, with two
    sorts of links.
    """

    num_devices: int
    device: Device
    devices_per_node: int
    intra_bandwidth: float
    inter_bandwidth: float
    intra_latency: float = NVLINK_LATENCY
    inter_latency: float = NETWORK_LATENCY

    def __post_init__(self) -> None:
        """Reject attributes that are no such quantities, and nodes that are not full."""
        devices = size("num_devices", self.num_devices)
        per_node = size("devices_per_node", self.devices_per_node)
        instance("device", self.device, Device)
        for name in ("intra_bandwidth", "inter_bandwidth"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        for name in ("intra_latency", "inter_latency"):
            object.__setattr__(self, name, quantity(name, getattr(self, name)))
        if devices > per_node and devices % per_node:
            raise ValueError(
                f"num_devices={devices} does not fill nodes of devices_per_node={per_node}: "
                f"give a multiple of {per_node}"
            )


A100_80GB = Device("A100 SXM 80 GB", peak_flops=312e12, memory_bytes=80 * 2**30)
"""NVIDIA A100 data sheet: 312 TFLOP/s dense bf16; 80 GB, of which the driver lists 81920 MiB."""

H100_80GB = Device("H100 SXM 80 GB", peak_flops=989e12, memory_bytes=81559 * 2**20)
"""NVIDIA H100 data sheet: 989 TFLOP/s dense bf16; 80 GB, of which the driver lists 81559 MiB."""


def dgx_a100(num_nodes: int) -> Cluster:
    """Return a cluster of nodes with eight A100s.

    NVLink carries 600 GB/s per GPU, 300 in each direction; each GPU has a 200 Gb/s InfiniBand
    adapter of its own, 25 GB/s.

    Args:
        num_nodes: nodes ≥ 1.

    Returns:
        The cluster of 8 · `num_nodes` devices.

    Raises:
        TypeError: if `num_nodes` is no integer.
        ValueError: if it is out of range.

    Example:
        >>> dgx_a100(2).inter_bandwidth
        25000000000.0

    Source: NVIDIA DGX A100 data sheet.
    """
    return Cluster(8 * size("num_nodes", num_nodes), A100_80GB, 8, 300e9, 25e9)


def dgx_h100(num_nodes: int) -> Cluster:
    """Return a cluster of nodes with eight H100s.

    NVLink carries 900 GB/s per GPU, 450 in each direction; each GPU has a 400 Gb/s adapter of its
    own, 50 GB/s. The nodes on which Llama 3 405B was trained have the same two numbers.

    Args:
        num_nodes: nodes ≥ 1.

    Returns:
        The cluster of 8 · `num_nodes` devices.

    Raises:
        TypeError: if `num_nodes` is no integer.
        ValueError: if it is out of range.

    Example:
        >>> dgx_h100(2048).num_devices
        16384

    Source: NVIDIA DGX H100 data sheet; Llama team, "The Llama 3 herd of models", arXiv:2407.21783,
    section 3.3.1.
    """
    return Cluster(8 * size("num_nodes", num_nodes), H100_80GB, 8, 450e9, 50e9)
