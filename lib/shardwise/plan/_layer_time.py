"""Time of one layer on a device: kernels, tensor-parallel collectives, sends of a ring.

Kernels run one after another, so their times add: those that multiply matrices are limited by the
peak, all others by the memory. That is why narrow models, and layers cut into narrow parts, reach
less of the peak.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardwise.plan._stages import kept_bytes
from shardwise.plan.link_time import group_link, neighbour_link, ring_pass

if TYPE_CHECKING:
    from shardwise.plan.hardware import Cluster, Device
    from shardwise.plan.link_time import Link
    from shardwise.plan.mesh import Mesh
    from shardwise.plan.model_shape import Model

ELEMENT = 2
"""Bytes of a weight or an activation on its way: 16-bit floats."""

TOUCHED = 2
"""How often the forward pass touches what it keeps: a kernel writes it and the next reads it."""


@dataclass(frozen=True, slots=True)
class LayerTime:
    """Seconds of one micro-batch in one layer.

    Attributes:
        forward: kernels forward.
        backward: kernels backward, with what is computed again.
        tensor: exposed collectives, forward and backward.
        context: exposed sends of keys and values, forward and backward.
    """

    forward: float
    backward: float
    tensor: float
    context: float

    @property
    def total(self) -> float:
        """Seconds of all parts."""
        return self.forward + self.backward + self.tensor + self.context


def recomputed_flops(model: Model, recompute: str) -> float:
    """Return the FLOPs per token and layer that the backward pass computes again.

    A forward pass (full), its attention core (selective), and, in a fused attention kernel, the
    scores in any case: half of the core.

    Example:
        >>> from shardwise.plan.model_shape import Model
        >>> tiny = Model(layers=1, hidden=8, num_heads=2, vocab=16, seq_len=4)
        >>> [recomputed_flops(tiny, kind) for kind in ("none", "selective", "full")]
        [0.0, 128.0, 1664.0]

    Source: Korthikanti et al., arXiv:2205.05198, appendix A (whose equation 8 counts the 4bs²h of
    its text three times); Dao, "FlashAttention-2", arXiv:2307.08691, section 4.1 (backward has 2.5
    times the FLOPs of forward).
    """
    core = model.layer_core_flops
    fused = core / 2 if model.flash_attention else 0.0
    if recompute == "full":
        return model.layer_matrix_flops + core + fused
    return (core if recompute == "selective" else 0.0) + fused


def matmul_seconds(params: float, tokens: float, device: Device) -> float:
    """Return the time to multiply `tokens` by a matrix: max(2PT/(e·peak), 2P/B).

    Two FLOPs per weight and token at the share e of the peak, but no less than it takes to read the
    16-bit weights at B bytes a second.

    Example:
        >>> from shardwise.plan.hardware import Device
        >>> slow = Device("slow", 100.0, 1e9, 10.0, efficiency=0.5)
        >>> matmul_seconds(50.0, 2.0, slow), matmul_seconds(50.0, 6.0, slow)
        (10.0, 12.0)

    Source: Williams, Waterman and Patterson, "Roofline", CACM 52(4), 2009.
    """
    arithmetic = 2 * params * tokens / (device.peak_flops * device.efficiency)
    return max(arithmetic, ELEMENT * params / device.memory_bandwidth)


def layer_time(model: Model, cluster: Cluster, mesh: Mesh, overlap: float) -> LayerTime:
    """Return the seconds of one micro-batch in one layer.

    Forward: `matmul_seconds`, the attention core at the same share of the peak, and what the layer
    keeps, written and read once. Backward: twice that, and what is computed again.

    Source: Narayanan et al., arXiv:2104.04473, appendix, on FLOPs; that time which is no matrix
    product goes with the bytes of activations, Korthikanti et al., arXiv:2205.05198, section 6.2.
    """
    device, t = cluster.device, mesh.tensor
    tokens = mesh.micro_batch * model.seq_len / mesh.context
    core = tokens * model.layer_core_flops / (t * device.peak_flops * device.efficiency)
    kept, scores = _kept_seconds(model, device, mesh, tokens)
    matrices = matmul_seconds(model.layer_matrix_params / t, tokens, device)
    forward = matrices + core + kept
    again = core / 2 if model.flash_attention else 0.0
    if mesh.recompute != "none":
        again += forward if mesh.recompute == "full" else core + scores
    tensor = _tensor_wait(model, cluster, mesh, tokens, overlap)
    context = 0.0
    if mesh.context > 1:
        keys = 2 * tokens * model.kv_width * ELEMENT / t
        hops = neighbour_link(cluster, mesh.context, t)
        context = _ring_wait(keys, hops, mesh, overlap * core / mesh.context)
    return LayerTime(forward, 2 * forward + again, tensor, context)


def _kept_seconds(model: Model, device: Device, mesh: Mesh, tokens: float) -> tuple[float, float]:
    """Return the seconds to write and read all that a layer keeps, and the part of scores."""
    everything, without_scores = (
        kept_bytes(model, tokens, mesh.tensor, mesh.sequence_parallel, kind)
        for kind in ("none", "selective")
    )
    rate = TOUCHED / device.memory_bandwidth
    return rate * everything, rate * (everything - without_scores)


def _tensor_wait(
    model: Model, cluster: Cluster, mesh: Mesh, tokens: float, overlap: float
) -> float:
    """Return the seconds for which a layer waits for its tensor-parallel collectives.

    Two all-reduces of the activations forward, two backward, two more with full recomputation, each
    going around the ring twice; for sequence parallelism they are split into all-gathers and
    reduce-scatters. The gradients of an input travel (all of an all-reduce, or the reduce-scatter)
    beside the weight gradients of the matrices that it fed: queries, keys and values, or the
    MLP's first.

    Source: Narayanan et al., arXiv:2104.04473, section 3.2; Korthikanti et al., arXiv:2205.05198,
    sections 4.2.2 and 6.2 on what overlaps.
    """
    t = mesh.tensor
    if t == 1:
        return 0.0
    one_pass = ring_pass(tokens * model.hidden * ELEMENT, t, group_link(cluster, t))
    beside = 1 if mesh.sequence_parallel else 2
    exposed = (12 if mesh.recompute == "full" else 8) - 2 * beside
    fed = (
        model.hidden + 2 * model.kv_width,
        (2 if model.gated else 1) * model.ffn_width,
    )
    waits = (
        max(
            0.0,
            beside * one_pass
            - overlap * matmul_seconds(model.hidden * width / t, tokens, cluster.device),
        )
        for width in fed
    )
    return exposed * one_pass + sum(waits)


def _ring_wait(keys: float, link: Link, mesh: Mesh, block: float) -> float:
    """Return the seconds for which a ring of c devices waits for keys and values.

    16-bit keys and values travel c - 1 hops forward, each beside one block of the attention core.
    Backward they travel with their 32-bit gradients, of twice the bytes, beside two blocks' time;
    the gradients make one hop more, home. Full recomputation goes around forward twice.

    Source: `ring_attention`, whose ledger counts these transfers.
    """
    hops = mesh.context - 1
    there = hops * max(0.0, link.latency + keys / link.bandwidth - block)
    back = hops * max(0.0, 2 * link.latency + 3 * keys / link.bandwidth - 2 * block)
    home = link.latency + 2 * keys / link.bandwidth
    return (2 if mesh.recompute == "full" else 1) * there + back + home
