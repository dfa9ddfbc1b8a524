"""A mesh: how many devices each axis of parallelism gets, and the rules that a mesh must keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardwise._checks import flag, integer, one_of
from shardwise.memory.activations import RECOMPUTATIONS
from shardwise.plan._checks import instance, keep_sizes, size
from shardwise.plan.hardware import Cluster
from shardwise.plan.model_shape import Model

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, order=True)
class Mesh:
    """Devices on each axis, and how each of them trains.

    N = data · tensor · pipeline · context. Ranks count tensor first, then context, data, pipeline:
    those that talk most are nearest.

    Attributes:
        data: replicas that share the batch.
        tensor: devices that share each layer.
        pipeline: stages of consecutive layers, run by 1F1B.
        context: devices that share each sequence, in a ring; balanced, as zigzag is.
        zero_stage: 0 to 3, over the data · context devices that hold the same weights.
        micro_batch: sequences in a micro-batch.
        recompute: one of `RECOMPUTATIONS`.
        sequence_parallel: whether norms and dropouts are split over `tensor` as well.
        chunks: chunks of layers on each stage; above 1 the schedule is interleaved.

    Raises:
        TypeError: if an attribute has the wrong type.
        ValueError: if an attribute is out of range.

    Example:
        >>> Mesh(data=64, tensor=8, pipeline=16).num_devices
        8192

    Source: the order of the axes is Megatron-LM's.
    """

    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    zero_stage: int = 0
    micro_batch: int = 1
    recompute: str = "none"
    sequence_parallel: bool = False
    chunks: int = 1

    def __post_init__(self) -> None:
        """Reject sizes that are none, and stages and recomputations that do not exist."""
        keep_sizes(self, ("data", "tensor", "pipeline", "context", "micro_batch", "chunks"))
        object.__setattr__(self, "zero_stage", integer("zero_stage", self.zero_stage, maximum=3))
        one_of("recompute", self.recompute, RECOMPUTATIONS)
        flag("sequence_parallel", self.sequence_parallel)

    @property
    def num_devices(self) -> int:
        """Devices of all axes together."""
        return self.data * self.tensor * self.pipeline * self.context

    @property
    def replicas(self) -> int:
        """Devices that hold the same weights: data · context."""
        return self.data * self.context

    def num_microbatches(self, global_batch: int) -> int:
        """Return the micro-batches of each replica: global_batch / (data · micro_batch).

        Example:
            >>> Mesh(data=64, micro_batch=2).num_microbatches(2048)
            16
        """
        count, rest = divmod(size("global_batch", global_batch), self.data * self.micro_batch)
        if rest:
            raise ValueError(
                f"global_batch={global_batch} is no multiple of data={self.data} x "
                f"micro_batch={self.micro_batch}: give one that is"
            )
        return count


def mesh_problems(
    model: Model, cluster: Cluster, mesh: Mesh, *, global_batch: int
) -> tuple[str, ...]:
    """Return the rules that a mesh breaks, each with its numbers; memory is not looked at.

    The axes make up the cluster; tensor parallelism stays within a node and divides heads, key and
    value heads and the MLP; each stage has a layer (interleaved, each chunk has one, where the
    embedding and the output layer count as two more); batch and sequence are divided evenly.

    Args:
        model: what is trained.
        cluster: on what.
        mesh: how.
        global_batch: sequences in one optimizer step.

    Returns:
        Sentences; empty if the mesh breaks no rule.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if `global_batch` is out of range.

    Example:
        >>> from shardwise.plan.hardware import dgx_a100
        >>> gpt3 = Model(layers=96, hidden=12288, num_heads=96, vocab=51200, seq_len=2048)
        >>> print(*mesh_problems(gpt3, dgx_a100(2), Mesh(tensor=16), global_batch=64))
        tensor=16 does not divide devices_per_node=8: its all-reduces must stay within a node

    Source: Narayanan et al., arXiv:2104.04473, takeaways 1 and 3 and section 2.2.2; the sequence is
    cut into 2 · context chunks as in Llama team, arXiv:2407.21783, section 3.3.2.
    """
    instance("cluster", cluster, Cluster)
    of_shape = shape_problems(model, mesh, global_batch)
    return (*_device_problems(cluster, mesh), *of_shape)


def shape_problems(model: Model, mesh: Mesh, global_batch: int) -> tuple[str, ...]:
    """Return the rules of `mesh_problems` that a mesh breaks on any cluster.

    Example:
        >>> tiny = Model(layers=2, hidden=8, num_heads=2, vocab=16, seq_len=4)
        >>> shape_problems(tiny, Mesh(pipeline=4), 8)
        ('pipeline=4 is more than layers=2: a stage would hold no layer',)
    """
    instance("model", model, Model)
    instance("mesh", mesh, Mesh)
    batch = size("global_batch", global_batch)
    return (
        *_tensor_problems(model, mesh),
        *_pipeline_problems(model, mesh),
        *_batch_problems(model, mesh, batch),
    )


def _device_problems(cluster: Cluster, mesh: Mesh) -> Iterator[str]:
    if mesh.num_devices != cluster.num_devices:
        yield (
            f"data={mesh.data} x tensor={mesh.tensor} x pipeline={mesh.pipeline} x "
            f"context={mesh.context} are {mesh.num_devices} devices, but the cluster has "
            f"{cluster.num_devices}"
        )
    if cluster.devices_per_node % mesh.tensor:
        yield (
            f"tensor={mesh.tensor} does not divide devices_per_node={cluster.devices_per_node}: "
            "its all-reduces must stay within a node"
        )


def _tensor_problems(model: Model, mesh: Mesh) -> Iterator[str]:
    t = mesh.tensor
    for name, number, why in (
        ("num_heads", model.num_heads, "each device needs whole heads"),
        ("kv_heads", model.num_kv_heads, "each device needs whole key and value heads"),
        ("d_ff", model.ffn_width, "the MLP is split into equal parts"),
    ):
        if number % t:
            yield f"tensor={t} does not divide {name}={number}: {why}"


def _pipeline_problems(model: Model, mesh: Mesh) -> Iterator[str]:
    p, v = mesh.pipeline, mesh.chunks
    if v == 1 and p > model.layers:
        yield f"pipeline={p} is more than layers={model.layers}: a stage would hold no layer"
    if v > 1 and p == 1:
        yield f"chunks={v} needs a pipeline: there is nothing to interleave with pipeline=1"
    if v > 1 and p * v > model.layers + 2:
        yield (
            f"pipeline={p} x chunks={v} are {p * v} chunks, more than layers={model.layers} with "
            "embedding and output layer"
        )


def _batch_problems(model: Model, mesh: Mesh, global_batch: int) -> Iterator[str]:
    per_step = mesh.data * mesh.micro_batch
    if global_batch % per_step:
        yield (
            f"data={mesh.data} x micro_batch={mesh.micro_batch} does not divide "
            f"global_batch={global_batch}"
        )
    elif mesh.chunks > 1 and global_batch // per_step % mesh.pipeline:
        yield (
            f"{global_batch // per_step} micro-batches are no multiple of pipeline="
            f"{mesh.pipeline}, which the interleaved schedule (chunks={mesh.chunks}) needs"
        )
    if mesh.context > 1 and model.seq_len % (2 * mesh.context):
        yield (
            f"2 x context={mesh.context} does not divide seq_len={model.seq_len}: each device gets "
            "two equal chunks of the sequence"
        )
    if mesh.sequence_parallel and model.seq_len % (mesh.context * mesh.tensor):
        yield (
            f"context={mesh.context} x tensor={mesh.tensor} does not divide "
            f"seq_len={model.seq_len}, as sequence_parallel needs"
        )
    if mesh.recompute == "selective" and model.flash_attention:
        yield 'recompute="selective": the fused kernel keeps no scores anyway; use "none"'
