"""Time of one step from its parts, for arguments that are checked already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardwise.plan._data_time import data_traffic, exposed_traffic
from shardwise.plan._layer_time import (
    ELEMENT,
    TOUCHED,
    LayerTime,
    layer_time,
    matmul_seconds,
    recomputed_flops,
)
from shardwise.plan._stages import logit_bytes, stage_layers, stage_params, state_bytes
from shardwise.plan.link_time import group_link, neighbour_link, ring_pass

if TYPE_CHECKING:
    from shardwise.memory.recipes import Recipe
    from shardwise.plan._data_time import Traffic
    from shardwise.plan.hardware import Cluster
    from shardwise.plan.mesh import Mesh
    from shardwise.plan.model_shape import Model


@dataclass(frozen=True, slots=True)
class StepTime:
    """Seconds of one optimizer step, by part, and the rates that follow; all floats.

    Attributes:
        compute: kernels of the slowest stage.
        tensor: what it waits for its tensor-parallel collectives.
        context: what it waits for keys and values of other devices.
        bubble: filling and draining the pipeline.
        sends: exposed sends between stages.
        data: exposed reductions and gathers between replicas.
        optimizer: reading gradients, and reading and writing the state that they change.
        mfu: model FLOPs a second as a share of the peak; what is computed again does not count.
        hfu: the same, and it counts.
        tokens_per_second: of the whole cluster.
    """

    compute: float
    tensor: float
    context: float
    bubble: float
    sends: float
    data: float
    optimizer: float
    mfu: float
    hfu: float
    tokens_per_second: float

    @property
    def parts(self) -> dict[str, float]:
        """Seconds of each part by name; they add up to `total`."""
        rates = ("mfu", "hfu", "tokens_per_second")
        return {name: getattr(self, name) for name in self.__slots__ if name not in rates}

    @property
    def total(self) -> float:
        """Seconds of the step: the sum of the parts."""
        waits = self.tensor + self.context + self.bubble + self.sends + self.data
        return self.compute + waits + self.optimizer


@dataclass(frozen=True, slots=True)
class _Pace:
    """The slowest stage: its layers, and seconds of the output layer if it has that."""

    layers: int
    output: float
    others: float  # seconds of one micro-batch on all other stages together


def _slowest_stage(model: Model, pipeline: int, layer: LayerTime, output: float) -> _Pace:
    everything = model.layers * layer.total + output
    first = stage_layers(model.layers, pipeline, 0)
    last = stage_layers(model.layers, pipeline, -1)
    at_last = last * layer.total + output
    if pipeline == 1 or at_last >= first * layer.total:
        return _Pace(last, output, everything - at_last if pipeline > 1 else 0.0)
    return _Pace(first, 0.0, everything - first * layer.total)


def _output_seconds(model: Model, cluster: Cluster, mesh: Mesh) -> float:
    """Return the seconds of the output layer and its loss, forward and twice that backward."""
    device, tokens = cluster.device, mesh.micro_batch * model.seq_len / mesh.context
    matrix = matmul_seconds(model.vocab_params / mesh.tensor, tokens, device)
    logits = TOUCHED * logit_bytes(model, tokens, mesh.tensor) / device.memory_bandwidth
    return 3 * (matrix + logits)


def _send_seconds(
    model: Model, cluster: Cluster, mesh: Mesh, num_microbatches: int, hidden: float
) -> float:
    """Return the exposed seconds of sends between stages.

    Each device sends its share of the activations forward and of their gradients backward; without
    sequence parallelism the shares are gathered within the node after that. While the pipeline
    fills and drains nothing hides them: 2(P - 1) hops. In between, v hops each way for each
    micro-batch hide behind `hidden` seconds.

    Source: Narayanan et al., arXiv:2104.04473, sections 2.2.2 and 4.1.
    """
    stages, t = mesh.pipeline, mesh.tensor
    if stages == 1:
        return 0.0
    activations = mesh.micro_batch * model.seq_len / mesh.context * model.hidden * ELEMENT
    link = neighbour_link(cluster, stages, mesh.num_devices // stages)
    hop = link.latency + activations / t / link.bandwidth
    if not mesh.sequence_parallel:
        hop += ring_pass(activations, t, group_link(cluster, t))
    steady = max(0.0, 2 * mesh.chunks * hop - hidden)
    return num_microbatches * steady + 2 * (stages - 1) * hop


def _data_wait(
    cluster: Cluster, mesh: Mesh, traffic: tuple[Traffic, Traffic], hidden: tuple[float, float]
) -> float:
    """Return the exposed seconds of what replicas gather and reduce."""
    link = group_link(cluster, mesh.replicas, mesh.tensor)
    return sum(
        exposed_traffic(part, mesh.replicas, link, beside)
        for part, beside in zip(traffic, hidden, strict=True)
    )


def _optimizer_seconds(params: float, mesh: Mesh, recipe: Recipe, cluster: Cluster) -> float:
    """Return the seconds to read gradients and change state and weights: bytes over bandwidth.

    State is read and written, gradients are read, weights written; from ZeRO stage 1 on each
    replica does its share.

    Source: Rajbhandari et al., arXiv:1910.02054, section 5.1.
    """
    split = 3 if mesh.zero_stage else 0
    weights, grads, optimizer = state_bytes(params, mesh.replicas, split, recipe)
    return (weights + grads + 2 * optimizer) / cluster.device.memory_bandwidth


def step_parts(
    model: Model,
    cluster: Cluster,
    mesh: Mesh,
    num_microbatches: int,
    recipe: Recipe,
    overlap: float,
) -> StepTime:
    """Return `step_time` of checked arguments."""
    layer, count = layer_time(model, cluster, mesh, overlap), num_microbatches
    output = _output_seconds(model, cluster, mesh)
    pace = _slowest_stage(model, mesh.pipeline, layer, output)
    forward = pace.layers * layer.forward + pace.output / 3
    backward = pace.layers * layer.backward + pace.output * 2 / 3
    hidden = (overlap * forward, overlap * backward)
    params = max(stage_params(model, mesh.pipeline, mesh.tensor, stage) for stage in (0, -1))
    layers = stage_layers(model.layers, mesh.pipeline, 0)
    traffic = data_traffic(params, layers, mesh.zero_stage, count, recipe)
    parts = (
        count * (forward + backward),
        count * pace.layers * layer.tensor,
        count * pace.layers * layer.context,
        pace.others / mesh.chunks,
        _send_seconds(model, cluster, mesh, count, sum(hidden)),
        _data_wait(cluster, mesh, traffic, hidden),
        _optimizer_seconds(params, mesh, recipe, cluster),
    )
    seconds = sum(parts)
    total_tokens = mesh.data * mesh.micro_batch * count * model.seq_len
    peak = cluster.num_devices * cluster.device.peak_flops * seconds
    again = model.layers * recomputed_flops(model, mesh.recompute)
    return StepTime(
        *parts,
        mfu=total_tokens * model.flops_per_token / peak,
        hfu=total_tokens * (model.flops_per_token + again) / peak,
        tokens_per_second=total_tokens / seconds,
    )
