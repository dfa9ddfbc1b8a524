"""The search for meshes: every way to deal a cluster's devices to the axes that breaks no rule."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shardwise._checks import flag, integer, one_of
from shardwise.memory.activations import RECOMPUTATIONS
from shardwise.plan._checks import collection, divisors, instance, size
from shardwise.plan.hardware import Cluster
from shardwise.plan.mesh import Mesh, mesh_problems
from shardwise.plan.model_shape import Model

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Choices:
    """What `plan` may choose from, besides the sizes of the axes.

    Attributes:
        zero_stages: ZeRO stages.
        recomputations: from `RECOMPUTATIONS`.
        chunks: chunks of layers per stage; above 1 is the interleaved schedule.
        context: devices per sequence; None means all that divide it.
        micro_batches: sequences in a micro-batch; None means all that divide the batch.
        sequence_parallel: whether norms are split over tensor-parallel devices, where it can be.

    Raises:
        TypeError: if an attribute has the wrong type.
        ValueError: if an attribute is empty or out of range.

    Example:
        >>> Choices(zero_stages=(0, 1), context=(1,)).chunks
        (1, 2, 4, 8)
    """

    zero_stages: tuple[int, ...] = (0, 1, 2, 3)
    recomputations: tuple[str, ...] = RECOMPUTATIONS
    chunks: tuple[int, ...] = (1, 2, 4, 8)
    context: tuple[int, ...] | None = None
    micro_batches: tuple[int, ...] | None = None
    sequence_parallel: bool = True

    def __post_init__(self) -> None:
        """Reject choices that do not exist."""
        for stage in collection("zero_stages", self.zero_stages):
            integer("zero_stages", stage, maximum=3)
        for kind in collection("recomputations", self.recomputations):
            one_of("recomputations", kind, RECOMPUTATIONS)
        for name in ("chunks", "context", "micro_batches"):
            if name == "chunks" or getattr(self, name) is not None:
                for value in collection(name, getattr(self, name)):
                    size(name, value)
        flag("sequence_parallel", self.sequence_parallel)


def candidate_meshes(
    model: Model, cluster: Cluster, *, global_batch: int, choices: Choices
) -> Iterator[Mesh]:
    """Return each mesh that breaks no rule of `mesh_problems`, whether or not it fits.

    Args:
        model: what is trained.
        cluster: on what.
        global_batch: sequences in one optimizer step.
        choices: what to choose from.

    Returns:
        An iterator over meshes, in a fixed order.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if `global_batch` is out of range.

    Example:
        >>> from shardwise.plan.hardware import A100_80GB
        >>> tiny = Model(layers=2, hidden=8, num_heads=2, vocab=16, seq_len=4)
        >>> two = Cluster(2, A100_80GB, 2, 240e9, 25e9)
        >>> one_way = Choices(zero_stages=(0,), recomputations=("none",), chunks=(1,))
        >>> for mesh in candidate_meshes(tiny, two, global_batch=2, choices=one_way):
        ...     print(mesh.data, mesh.tensor, mesh.pipeline, mesh.context, mesh.micro_batch)
        2 1 1 1 1
        1 1 1 2 1
        1 1 1 2 2
        1 1 2 1 1
        1 1 2 1 2
        1 2 1 1 1
        1 2 1 1 2

    Source: all factorizations; the rules' sources are those of `mesh_problems`.
    """
    instance("model", model, Model)
    instance("cluster", cluster, Cluster)
    instance("choices", choices, Choices)
    return _candidates(model, cluster, size("global_batch", global_batch), choices)


def _candidates(
    model: Model, cluster: Cluster, global_batch: int, choices: Choices
) -> Iterator[Mesh]:
    for axes in _axes(model, cluster, global_batch, choices):
        stages = choices.zero_stages if axes.replicas > 1 else (min(choices.zero_stages),)
        split = axes.tensor > 1 and model.seq_len % (axes.context * axes.tensor) == 0
        for micro_batch in choices.micro_batches or divisors(global_batch // axes.data):
            for chunks in choices.chunks:
                for recompute in choices.recomputations:
                    mesh = replace(
                        axes,
                        micro_batch=micro_batch,
                        chunks=chunks,
                        recompute=recompute,
                        sequence_parallel=choices.sequence_parallel and split,
                    )
                    if not mesh_problems(model, cluster, mesh, global_batch=global_batch):
                        yield from (replace(mesh, zero_stage=stage) for stage in stages)


def _axes(model: Model, cluster: Cluster, global_batch: int, choices: Choices) -> Iterator[Mesh]:
    """Yield the sizes of the axes that break no rule with the simplest of everything else.

    Sizes are ruled out one by one, so that of a large cluster's factorizations few are looked at.
    """
    total = cluster.num_devices
    sizes = divisors(total)
    split = math.gcd(cluster.devices_per_node, model.num_kv_heads, model.ffn_width)
    contexts = [c for c in sizes if c == 1 or model.seq_len % (2 * c) == 0]
    if choices.context is not None:
        contexts = [c for c in contexts if c in choices.context]
    for tensor in (t for t in sizes if split % t == 0):
        for pipeline in (p for p in sizes if p <= model.layers):
            for context in contexts:
                data, rest = divmod(total, tensor * pipeline * context)
                if rest == 0 and global_batch % data == 0:
                    yield Mesh(data=data, tensor=tensor, pipeline=pipeline, context=context)
