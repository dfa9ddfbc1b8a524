"""Time of one layer on a device: arithmetic, tensor-parallel collectives, sends of a ring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardwise.plan._rings import ring_pass
from shardwise.plan.link_time import group_link, neighbour_link

if TYPE_CHECKING:
    from shardwise.plan.hardware import Cluster
    from shardwise.plan.link_time import Link
    from shardwise.plan.mesh import Mesh
    from shardwise.plan.model_shape import Model

ELEMENT = 2
"""Bytes of an activation: 16-bit floats."""


@dataclass(frozen=True, slots=True)
class LayerTime:
    """Seconds of one micro-batch in one layer.

    Attributes:
        forward: arithmetic forward.
        backward: arithmetic backward, with what is computed again.
        tensor: collectives, forward and backward.
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

    Source: Korthikanti et al., arXiv:2205.05198, section 5; Dao, "FlashAttention-2",
    arXiv:2307.08691, section 4.1 (backward has 2.5 times the FLOPs of forward).
    """
    core = model.layer_core_flops
    fused = core / 2 if model.flash_attention else 0.0
    if recompute == "full":
        return model.layer_matrix_flops + core + fused
    return (core if recompute == "selective" else 0.0) + fused


def layer_time(model: Model, cluster: Cluster, mesh: Mesh, overlap: float) -> LayerTime:
    """Return the seconds of one micro-batch in one layer.

    Arithmetic: 2 FLOPs per weight and token and the attention core forward, twice that backward,
    and `recomputed_flops`. Tensor parallelism: two all-reduces of the activations forward, two
    backward, two more with full recomputation; as many bytes and hops if they are split into
    reduce-scatters and all-gathers for sequence parallelism.

    Source: Narayanan et al., arXiv:2104.04473, section 3.2 and appendix.
    """
    tokens = mesh.micro_batch * model.seq_len / mesh.context
    seconds = tokens / (mesh.tensor * cluster.device.peak_flops * cluster.device.efficiency)
    core = seconds * model.layer_core_flops
    forward = seconds * model.layer_matrix_flops + core
    backward = 2 * forward + seconds * recomputed_flops(model, mesh.recompute)
    all_reduces = 6 if mesh.recompute == "full" else 4
    link = group_link(cluster, mesh.tensor)
    one_pass = ring_pass(tokens * model.hidden * ELEMENT, mesh.tensor, link)
    context = 0.0
    if mesh.context > 1:
        keys = 2 * tokens * model.kv_width * ELEMENT / mesh.tensor
        hops = neighbour_link(cluster, mesh.context, mesh.tensor)
        context = _ring_wait(keys, hops, mesh, overlap * core / mesh.context)
    return LayerTime(forward, backward, 2 * all_reduces * one_pass, context)


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
