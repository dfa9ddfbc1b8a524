"""Plans: the meshes on which a model fits a cluster, fastest first, with memory and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardwise.memory.recipes import find_recipe
from shardwise.plan._checks import instance, quantity, share, size
from shardwise.plan._device_memory import fullest_device
from shardwise.plan._step_parts import StepTime, step_parts
from shardwise.plan.hardware import Cluster
from shardwise.plan.mesh import Mesh, mesh_problems
from shardwise.plan.mesh_memory import MeshMemory, mesh_memory
from shardwise.plan.mesh_search import Choices, candidate_meshes
from shardwise.plan.model_shape import Model

if TYPE_CHECKING:
    from shardwise.memory.recipes import Recipe


@dataclass(frozen=True, slots=True)
class Plan:
    """One way to train, its memory and its time.

    Attributes:
        mesh: sizes of the axes and how each device trains.
        memory: bytes on the fullest device, by part.
        time: seconds of a step, by part, with MFU and tokens per second.
    """

    mesh: Mesh
    memory: MeshMemory
    time: StepTime


def plan(
    model: Model,
    cluster: Cluster,
    *,
    global_batch: int,
    recipe: str | Recipe = "2+2+12",
    overlap: float = 1.0,
    reserved_bytes: float = 0.0,
    choices: Choices | None = None,
) -> list[Plan]:
    """Return every mesh that keeps the rules and fits, fastest first.

    All factorizations N = data x tensor x pipeline x context are tried that `mesh_problems` has
    nothing against, with each ZeRO stage, micro-batch and recomputation of `choices`; those fit
    whose `mesh_memory` is at most what a device holds, less `reserved_bytes`. Ties are broken by
    memory and then by the mesh. Where all ZeRO stages are the same, as there is one replica, only
    the lowest is listed.

    Args:
        model: what is trained.
        cluster: on what; all devices are used.
        global_batch: sequences in one optimizer step.
        recipe: name from `RECIPES`, or a `Recipe`.
        overlap: see `step_time`.
        reserved_bytes: bytes of each device to leave free.
        choices: what to choose from; None means `Choices()`.

    Returns:
        Plans; empty if none fits: `explain` says for one mesh why.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if an argument is out of range.

    Example:
        >>> gpt = Model(layers=36, hidden=4096, num_heads=32, vocab=51200, seq_len=2048)
        >>> from shardwise.plan.hardware import dgx_a100
        >>> best = plan(gpt, dgx_a100(2), global_batch=64)[0]
        >>> best.mesh.data, best.mesh.zero_stage, round(best.time.total, 2)
        (16, 3, 2.31)

    Source: the search of all meshes is ours; its parts' sources are those of `mesh_problems`,
    `mesh_memory` and `step_time`.
    """
    instance("model", model, Model)
    instance("cluster", cluster, Cluster)
    size("global_batch", global_batch)
    options = Choices() if choices is None else choices
    instance("choices", options, Choices)
    chosen, hidden = find_recipe(recipe), share("overlap", overlap)
    room = cluster.device.memory_bytes - quantity("reserved_bytes", reserved_bytes)
    found = []
    for mesh in candidate_meshes(model, cluster, global_batch=global_batch, choices=options):
        count = mesh.num_microbatches(global_batch)
        memory = fullest_device(model, mesh, count, chosen)
        if memory.total <= room:
            time = step_parts(model, cluster, mesh, count, chosen, hidden)
            found.append(Plan(mesh, memory, time))
    return sorted(found, key=lambda way: (way.time.total, way.memory.total, way.mesh))


def explain(
    model: Model,
    cluster: Cluster,
    mesh: Mesh,
    *,
    global_batch: int,
    recipe: str | Recipe = "2+2+12",
    reserved_bytes: float = 0.0,
) -> tuple[str, ...]:
    """Return why a mesh is not among the plans: the rules it breaks, or the bytes it lacks.

    Args:
        model: what is trained.
        cluster: on what.
        mesh: how.
        global_batch: sequences in one optimizer step.
        recipe: name from `RECIPES`, or a `Recipe`.
        reserved_bytes: bytes of each device to leave free.

    Returns:
        Sentences with the numbers; empty if the mesh keeps the rules and fits.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if an argument is out of range.

    Example:
        >>> from shardwise.plan.hardware import dgx_a100
        >>> gpt3 = Model(layers=96, hidden=12288, num_heads=96, vocab=51200, seq_len=2048)
        >>> reason, = explain(gpt3, dgx_a100(1), Mesh(tensor=8), global_batch=8)
        >>> reason[:63]
        'the fullest device needs 405.3 GB (params 43.7, grads 43.7, opt'

    Source: `mesh_problems` and `mesh_memory`.
    """
    instance("model", model, Model)
    instance("cluster", cluster, Cluster)
    instance("mesh", mesh, Mesh)
    chosen, reserved = find_recipe(recipe), quantity("reserved_bytes", reserved_bytes)
    problems = mesh_problems(model, cluster, mesh, global_batch=global_batch)
    if problems:
        return problems
    memory = mesh_memory(model, mesh, global_batch=global_batch, recipe=chosen)
    room = cluster.device.memory_bytes - reserved
    if memory.total <= room:
        return ()
    parts = ", ".join(
        f"{name} {number / 1e9:.1f}"
        for name in MeshMemory.__slots__
        if (number := getattr(memory, name))
    )
    reason = (
        f"the fullest device needs {memory.total / 1e9:.1f} GB ({parts}), but has "
        f"{room / 1e9:.1f}: raise tensor, pipeline or zero_stage, recompute, or lower micro_batch"
    )
    return (reason,)
