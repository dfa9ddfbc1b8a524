"""Time of one step from its parts, for arguments that are checked already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardwise.plan._data_time import data_traffic, exposed_traffic
from shardwise.plan._layer_time import ELEMENT, LayerTime, layer_time, recomputed_flops
from shardwise.plan._rings import ring_pass
from shardwise.plan._stages import stage_layers, stage_params
from shardwise.plan.link_time import group_link, neighbour_link

if TYPE_CHECKING:
    from shardwise.memory.recipes import Recipe
    from shardwise.plan.hardware import Cluster
    from shardwise.plan.mesh import Mesh
    from shardwise.plan.model_shape import Model


@dataclass(frozen=True, slots=True)
class StepTime:
    """Seconds of one optimizer step, by part, and the rates that follow; all floats.

    Attributes:
        compute: arithmetic of the slowest stage.
        tensor: its tensor-parallel collectives.
        context: what it waits for keys and values of other devices.
        bubble: filling and draining the pipeline.
        sends: exposed sends between stages.
        data: exposed reductions and gathers between replicas.
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
    mfu: float
    hfu: float
    tokens_per_second: float

    @property
    def total(self) -> float:
        """Seconds of the step: the sum of the parts."""
        return self.compute + self.tensor + self.context + self.bubble + self.sends + self.data


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


def step_parts(
    model: Model,
    cluster: Cluster,
    mesh: Mesh,
    num_microbatches: int,
    recipe: Recipe,
    overlap: float,
) -> StepTime:
    """Return `step_time` of checked arguments."""
    layer = layer_time(model, cluster, mesh, overlap)
    device, count = cluster.device, num_microbatches
    tokens = mesh.micro_batch * model.seq_len / mesh.context
    rate = mesh.tensor * device.peak_flops * device.efficiency
    pace = _slowest_stage(model, mesh.pipeline, layer, 3 * tokens * model.output_flops / rate)
    forward = pace.layers * layer.forward + pace.output / 3
    backward = pace.layers * layer.backward + pace.output * 2 / 3
    parts = (
        count * (forward + backward),
        count * pace.layers * layer.tensor,
        count * pace.layers * layer.context,
        pace.others / mesh.chunks,
        _send_seconds(model, cluster, mesh, count, overlap * (forward + backward)),
        _data_wait(model, cluster, mesh, count, recipe, (overlap * forward, overlap * backward)),
    )
    seconds = sum(parts)
    total_tokens = mesh.data * mesh.micro_batch * count * model.seq_len
    peak = cluster.num_devices * device.peak_flops * seconds
    again = model.layers * recomputed_flops(model, mesh.recompute)
    return StepTime(
        *parts,
        mfu=total_tokens * model.flops_per_token / peak,
        hfu=total_tokens * (model.flops_per_token + again) / peak,
        tokens_per_second=total_tokens / seconds,
    )


def _data_wait(
    model: Model,
    cluster: Cluster,
    mesh: Mesh,
    num_microbatches: int,
    recipe: Recipe,
    hidden: tuple[float, float],
) -> float:
    """Return the exposed seconds of reductions and gathers, on the stage with most parameters."""
    params = max(stage_params(model, mesh.pipeline, mesh.tensor, stage) for stage in (0, -1))
    layers = stage_layers(model.layers, mesh.pipeline, 0)
    link = group_link(cluster, mesh.replicas, mesh.tensor)
    traffic = data_traffic(params, layers, mesh.zero_stage, num_microbatches, recipe)
    return sum(
        exposed_traffic(part, mesh.replicas, link, beside)
        for part, beside in zip(traffic, hidden, strict=True)
    )
