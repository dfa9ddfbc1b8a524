"""Devices and clusters: how fast they compute, remember and send, and how much they hold.

Peaks, memory and network are those of the vendors' data sheets. Three things no data sheet has:
the share of the peak that matrix products reach, and what a hop costs and NVLink really carries.
Their sources stand by them.
"""

from __future__ import annotations

from dataclasses import dataclass

from shardwise.plan._checks import instance, keep_sizes, positive, quantity, share, size

MATMUL_EFFICIENCY = 0.65
"""Share of the peak that a layer's matrix products reach on an A100.

Derived from one measurement, not fitted to the runs that the tests predict: Korthikanti et al.
(arXiv:2205.05198, table 4) measured 7.7 ms for the forward pass of one layer (h = 6144, b = 4,
s = 2048) on eight A100s. Two all-reduces take 1.6 ms of it by `link_time`, and what the layer keeps
takes 1.3 ms to write and read; the other 4.8 ms for 24bsh²(1 + s/(6h)) FLOPs are 65 % of
312 TFLOP/s. For a device that nobody has measured it is an assumption.
"""

NVLINK_LATENCY = 3.4e-6
"""Seconds per hop of a ring inside a node: NCCL's own cost model, ring with the simple protocol.

Source: NVIDIA/nccl, `src/graph/tuning.cc`, table `hwLat`, NVLINK.
"""

NETWORK_LATENCY = 14e-6
"""Seconds per hop between nodes: the same table of NCCL, in versions that know the H100.

Source: NVIDIA/nccl, `src/graph/tuning.cc`, table `hwLat`, NET.
"""


@dataclass(frozen=True, slots=True)
class Device:
    """One accelerator.

    Attributes:
        name: what to call it.
        peak_flops: dense 16-bit FLOP/s.
        memory_bytes: bytes it holds.
        memory_bandwidth: bytes/s between its memory and its processors.
        efficiency: share of the peak, above 0 and at most 1, that large matrix products reach.

    Raises:
        TypeError: if an attribute has the wrong type.
        ValueError: if an attribute is out of range.

    Example:
        >>> mine = Device("mine", peak_flops=200e12, memory_bytes=64e9, memory_bandwidth=1.6e12)
        >>> mine.efficiency
        0.65

    Source: the attributes are quantities of data sheets; see `MATMUL_EFFICIENCY` for the last one.
    """

    name: str
    peak_flops: float
    memory_bytes: float
    memory_bandwidth: float
    efficiency: float = MATMUL_EFFICIENCY

    def __post_init__(self) -> None:
        """Reject attributes that are no such quantities."""
        instance("name", self.name, str)
        for name in ("peak_flops", "memory_bytes", "memory_bandwidth", "efficiency"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        share("efficiency", self.efficiency)


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
        >>> four_nodes = Cluster(
        ...     num_devices=16,
        ...     device=A100_80GB,
        ...     devices_per_node=4,
        ...     intra_bandwidth=100e9,
        ...     inter_bandwidth=12.5e9,
        ... )
        >>> four_nodes.inter_latency
        1.4e-05

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
        keep_sizes(self, ("num_devices", "devices_per_node"))
        instance("device", self.device, Device)
        for name in ("intra_bandwidth", "inter_bandwidth"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        for name in ("intra_latency", "inter_latency"):
            object.__setattr__(self, name, quantity(name, getattr(self, name)))
        devices, per_node = self.num_devices, self.devices_per_node
        if devices > per_node and devices % per_node:
            raise ValueError(
                f"num_devices={devices} does not fill nodes of devices_per_node={per_node}: "
                f"give a multiple of {per_node}"
            )


A100_80GB = Device(
    "A100 SXM 80 GB", peak_flops=312e12, memory_bytes=80 * 2**30, memory_bandwidth=2.039e12
)
"""NVIDIA A100 data sheet: 312 TFLOP/s dense bf16; 2039 GB/s; 80 GB, which the driver lists as
81920 MiB."""

H100_80GB = Device(
    "H100 SXM 80 GB",
    peak_flops=989e12,
    memory_bytes=81559 * 2**20,
    memory_bandwidth=3.35e12,
    efficiency=0.61,
)
"""NVIDIA H100 data sheet: 989 TFLOP/s dense bf16; 3.35 TB/s; 80 GB, which the driver lists as
81559 MiB.

Its best matrix products reach 80.1 % of the peak, those of an A100 85.9 %, so 0.65 becomes 0.61.
Source: Bekman, "Machine Learning Engineering", maximum achievable matmul FLOPS.
"""


def dgx_a100(num_nodes: int) -> Cluster:
    """Return a cluster of nodes with eight A100s.

    NVLink: twelve links of 20 GB/s, as NCCL counts on; the data sheet says 25 (600 GB/s per GPU in
    both directions together). Each GPU has a 200 Gb/s adapter of its own, 25 GB/s.

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

    Source: NVIDIA DGX A100 data sheet; NVIDIA/nccl, `src/graph/topo.h`, `SM80_NVLINK_BW`.
    """
    return Cluster(8 * size("num_nodes", num_nodes), A100_80GB, 8, 240e9, 25e9)


def dgx_h100(num_nodes: int) -> Cluster:
    """Return a cluster of nodes with eight H100s.

    NVLink: eighteen links of 20.6 GB/s, as NCCL counts on; the data sheet says 25 (900 GB/s per GPU
    in both directions together). Each GPU has a 400 Gb/s adapter of its own, 50 GB/s. Llama 3 405B
    was trained on such nodes, over Ethernet.

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

    Source: NVIDIA DGX H100 data sheet; NVIDIA/nccl, `src/graph/topo.h`, `SM90_NVLINK_BW`; Llama
    team, "The Llama 3 herd of models", arXiv:2407.21783, section 3.3.1.
    """
    return Cluster(8 * size("num_nodes", num_nodes), H100_80GB, 8, 370.8e9, 50e9)
