"""How the attainable context grows with a ring of devices: the count behind it, and the widget.

P is the number of devices, c the tokens of each one's block, H and K the heads of queries and of
keys and values, d their size. Counted is what attention holds of the sequence: neither weights nor
the rest of a layer. Nothing is masked; a causal mask would halve the work and not the bytes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import traitlets

from shardwise.plan import Cluster, Link, dgx_a100, exposed_seconds, neighbour_link
from shardwise_widgets._checks import (
    Checked,
    TraitTypeError,
    TraitValueError,
    count,
    number,
    one_of,
    shown,
)
from shardwise_widgets.base import ShardwiseWidget

MAX_DEVICES = 64
MAX_MEMORY = 64
MAX_HEADS = 128
MAX_LAYERS = 128
HEAD_SIZES = (64, 128, 256)


def token_bytes(*, heads: int, kv_heads: int, head_size: int, layers: int = 0) -> dict[str, int]:
    """Return the bytes that ring attention holds on a device for each token of its block.

    Forward, one layer at a time, six blocks of 16-bit numbers: queries and outputs, 2Hd each; keys
    and values in use, 4Kd; the next ones arriving, 4Kd. One device alone leaves those empty.

    Training: each of l layers keeps its queries, 2Hd, outputs with a 32-bit log-sum-exp for each
    head, 2Hd + 4H, and own keys and values, 4Kd. The layer whose backward pass runs adds the
    outputs' gradients and 32-bit gradients of the queries, 6Hd, and what travels, in use and
    arriving: two times 4Kd of keys and values and 8Kd of their 32-bit gradients.

    Args:
        heads: query heads H.
        kv_heads: key and value heads K.
        head_size: numbers d in a head.
        layers: l layers that keep their tensors for the backward pass; 0 counts a forward pass.

    Returns:
        Bytes by name; no "gradients" in a forward pass.

    Example:
        >>> sum(token_bytes(heads=32, kv_heads=32, head_size=128).values()) == 6 * 2 * 32 * 128
        True
        >>> token_bytes(heads=2, kv_heads=1, head_size=64, layers=1)
        {'queries': 256, 'outputs': 264, 'keys': 256, 'gradients': 768, 'flight': 1536}

    Source: Liu, Zaharia and Abbeel, "Ring Attention", arXiv:2310.01889, section 3, for the six
    blocks; for training, what `shardwise.ring_attention` saves and sends.
    """
    q, kv = 2 * heads * head_size, 4 * kv_heads * head_size
    if layers == 0:
        return {"queries": q, "outputs": q, "keys": kv, "flight": kv}
    return {
        "queries": layers * q,
        "outputs": layers * (q + 4 * heads),
        "keys": layers * kv,
        "gradients": 3 * q,
        "flight": 6 * kv,
    }


def _ring_link(cluster: Cluster, num_devices: int) -> Link:
    """Return the slowest link of a ring that has its nodes for itself."""
    node = cluster.devices_per_node
    enough = replace(cluster, num_devices=node * -(-num_devices // node))
    return neighbour_link(enough, num_devices)


def ring_layer_seconds(
    cluster: Cluster,
    num_devices: int,
    block: int,
    *,
    heads: int,
    kv_heads: int,
    head_size: int,
    training: bool = False,
) -> dict[str, float]:
    """Return the seconds that each device of a ring computes, sends and waits for one layer.

    A step works on c queries and c keys, W = 4Hdc²/F, while 4Kdc bytes travel, A + 4Kdc/B, and
    waits for what is longer than W. Forward there are P steps of work and P - 1 of travel. Training
    adds the backward pass: 2.5 W a step, as the scores are computed again, and three times the
    bytes in two messages, of which 2 W are counted on to hide them; the gradients make one hop
    more, home, for which nothing is left to do.

    Args:
        cluster: F is the peak times the efficiency of its devices; A and B are those of the links
            inside a node, or between nodes where the ring needs several.
        num_devices: P ≥ 1.
        block: tokens c ≥ 0 on a device; nothing travels for none.
        heads: query heads H.
        kv_heads: key and value heads K.
        head_size: numbers d in a head.
        training: whether the backward pass counts too.

    Returns:
        "compute", "communication" and "waiting"; the layer takes the first plus the last.

    Example:
        >>> ring = partial(ring_layer_seconds, dgx_a100(8), heads=32, kv_heads=32, head_size=128)
        >>> round(ring(16, 10_000)["communication"], 3), ring(16, 10_000)["waiting"]
        (0.099, 0.0)
        >>> ring(16, 1_000)["waiting"] > ring(16, 1_000)["compute"]
        True

    Source: Liu, Zaharia and Abbeel, arXiv:2310.01889, section 3; backward as in
    `shardwise.plan`, after Dao, "FlashAttention-2", arXiv:2307.08691, section 4.1.
    """
    speed = cluster.device.peak_flops * cluster.device.efficiency
    work = 4 * heads * head_size * block**2 / speed
    compute = (3.5 if training else 1) * num_devices * work
    if num_devices == 1 or block == 0:
        return {"compute": compute, "communication": 0.0, "waiting": 0.0}
    link, hops = _ring_link(cluster, num_devices), num_devices - 1
    keys = 4 * kv_heads * head_size * block / link.bandwidth
    there = link.latency + keys
    sent, waiting = hops * there, hops * exposed_seconds(there, work)
    if training:
        back, home = 2 * link.latency + 3 * keys, link.latency + 2 * keys
        sent += hops * back + home
        waiting += hops * exposed_seconds(back, 2 * work) + home
    return {"compute": compute, "communication": sent, "waiting": waiting}


def _hardware(cluster: Cluster) -> list[str | float]:
    """Return what the view computes with: a device, how many a node has, and both kinds of link."""
    node = cluster.devices_per_node
    near, far = _ring_link(cluster, node), _ring_link(cluster, node + 1)
    speed = cluster.device.peak_flops * cluster.device.efficiency
    links = (near.latency, near.bandwidth, far.latency, far.bandwidth)
    return [cluster.device.name, speed, node, *links]


class ContextScaling(ShardwiseWidget):
    """The longest sequence that a ring of devices attends to, and the time that it takes them.

    All traits can be set later and stay in step with the controls; where `heads` changes, so does
    a `kv_heads` that no longer divides it. GB is 10⁹ bytes. The functions of this module have
    the equations.

    Args:
        devices: devices P in the ring, 1 to 64.
        memory: GB of each device for its block of the sequence, 0 to 64.
        heads: query heads H, 1 to 128.
        kv_heads: key and value heads K, a divisor of H; None means H.
        head_size: numbers d in a head: 64, 128 or 256.
        layers: layers that keep their tensors for the backward pass, to 128; 0 counts a forward
            pass alone, one layer at a time.
        cluster: whose devices and links are timed; None is `shardwise.plan.dgx_a100`.
        link: traits to share with other widgets, such as "devices".

    Raises:
        TypeError: if a number is given as something else; it is a traitlets.TraitError too.
        ValueError: if an argument is out of its range; likewise.

    Example:
        >>> scaling = ContextScaling(devices=32, memory=1)
        >>> scaling.block, scaling.context
        (20345, 651040)
        >>> scaling.kv_heads = 5
        Traceback (most recent call last):
        shardwise_widgets._checks.TraitValueError: kv_heads=5 must divide heads=32
    """

    shown: ClassVar[tuple[str, ...]] = (
        "devices",
        "memory",
        "heads",
        "kv_heads",
        "head_size",
        "layers",
        "hardware",
    )
    devices = Checked(partial(count, least=1, most=MAX_DEVICES)).tag(sync=True)
    memory = Checked(partial(number, most=MAX_MEMORY)).tag(sync=True)
    heads = Checked(partial(count, least=1, most=MAX_HEADS)).tag(sync=True)
    # What it may be follows `heads`, which may be set in the same go: it is checked when both are.
    kv_heads: traitlets.TraitType[int, Any] = traitlets.TraitType().tag(sync=True)
    head_size = Checked(partial(one_of, choices=HEAD_SIZES)).tag(sync=True)
    layers = Checked(partial(count, least=0, most=MAX_LAYERS)).tag(sync=True)
    hardware: traitlets.List[str | float] = traitlets.List(read_only=True).tag(sync=True)

    def __init__(
        self,
        devices: int = 8,
        memory: float = 1,
        heads: int = 32,
        kv_heads: int | None = None,
        head_size: int = 128,
        layers: int = 0,
        cluster: Cluster | None = None,
        *,
        link: str | None = None,
    ) -> None:
        """Check the arguments and open the widget."""
        if not isinstance(cluster, Cluster | None):
            raise TraitTypeError(f"cluster={shown(cluster)} must be a shardwise.plan.Cluster")
        self.set_trait("hardware", _hardware(cluster or dgx_a100(8)))
        super().__init__(
            devices=devices,
            memory=memory,
            heads=heads,
            kv_heads=heads if kv_heads is None else kv_heads,
            head_size=head_size,
            layers=layers,
            link=link,
        )

    @traitlets.validate("kv_heads")
    def _check_kv_heads(self, proposal: dict[str, Any]) -> int:
        chosen = count("kv_heads", proposal["value"], 1, MAX_HEADS)
        if self.heads % chosen:
            raise TraitValueError(f"kv_heads={chosen} must divide heads={self.heads}")
        return chosen

    @traitlets.observe("heads")
    def _keep_dividing(self, change: dict[str, Any]) -> None:
        heads = change["new"]
        self.kv_heads = max(k for k in range(1, min(heads, self.kv_heads) + 1) if heads % k == 0)

    @property
    def block(self) -> int:
        """Tokens c on each device: as many as its memory holds."""
        per_token = token_bytes(
            heads=self.heads,
            kv_heads=self.kv_heads,
            head_size=self.head_size,
            layers=self.layers,
        )
        return round(self.memory * 1e9) // sum(per_token.values())

    @property
    def context(self) -> int:
        """Tokens of the whole sequence: P · c."""
        return self.devices * self.block
