"""Plans: the meshes on which a model fits a cluster, fastest first, with memory and time."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from shardwise.memory.recipes import find_recipe
from shardwise.plan._checks import instance, quantity, share, size
from shardwise.plan._step_parts import StepTime, step_parts
from shardwise.plan.hardware import Cluster
from shardwise.plan.mesh import Mesh, mesh_problems
from shardwise.plan.mesh_memory import MeshMemory, fullest_device
from shardwise.plan.mesh_search import Choices, candidate_meshes
from shardwise.plan.model_shape import Model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shardwise.memory.recipes import Recipe


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """One way to train, its memory and its time.

    `repr` is one line, `str` has memory and time by part; `plan_table` compares several.

    Attributes:
        mesh: sizes of the axes and how each device trains.
        memory: bytes on the fullest device, by part.
        time: seconds of a step, by part, with MFU and tokens per second.
    """

    mesh: Mesh
    memory: MeshMemory
    time: StepTime

    def __repr__(self) -> str:
        """Return the totals, and what of the mesh is not the default."""
        chosen = [
            f"{field.name}={getattr(self.mesh, field.name)}"
            for field in fields(Mesh)
            if getattr(self.mesh, field.name) != field.default
        ]
        totals = (
            f"{self.time.total:.3g} s, MFU {100 * self.time.mfu:.1f} %, "
            f"{self.memory.total / 1e9:.1f} GB"
        )
        return f"<Plan {totals}: {' '.join(chosen) or 'one device'}>"

    def __str__(self) -> str:
        """Return the totals, and the parts that are not 0 in GB (1e9 bytes) and seconds."""
        memory = _listed(self.memory.parts, 1e9, ".1f")
        time = _listed(self.time.parts, 1, ".3g")
        return f"{self!r}\n  GB: {memory}\n  s: {time}"


def _listed(parts: Mapping[str, float], unit: float, style: str) -> str:
    """Return the parts that are not 0, each with its name."""
    return ", ".join(f"{name} {part / unit:{style}}" for name, part in parts.items() if part)


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
        ValueError: if an argument is out of range, or `reserved_bytes` leaves nothing.

    Example:
        >>> from shardwise.plan.hardware import dgx_a100
        >>> gpt = Model(layers=36, hidden=4096, num_heads=32, vocab=51200, seq_len=2048)
        >>> best = plan(gpt, dgx_a100(2), global_batch=64)[0]
        >>> print(best)
        <Plan 2.37 s, MFU 53.6 %, 43.2 GB: data=16 zero_stage=3>
          GB: params 0.9, grads 0.9, optimizer 5.6, gathered 0.8, activations 34.4, logits 0.4
          s: compute 2.36, optimizer 0.00641

    Source: the search of all meshes is ours; its parts' sources are those of `mesh_problems`,
    `mesh_memory` and `step_time`.
    """
    instance("model", model, Model)
    instance("cluster", cluster, Cluster)
    batch = size("global_batch", global_batch)
    options = Choices() if choices is None else choices
    instance("choices", options, Choices)
    chosen, hidden = find_recipe(recipe), share("overlap", overlap)
    room = _room(cluster, reserved_bytes)
    found = []
    for mesh in candidate_meshes(model, cluster, global_batch=batch, choices=options):
        count = mesh.num_microbatches(batch)
        memory = fullest_device(model, mesh, count, chosen)
        if memory.total <= room:
            time = step_parts(model, cluster, mesh, count, chosen, hidden)
            found.append(Plan(mesh, memory, time))
    return sorted(found, key=lambda way: (way.time.total, way.memory.total, way.mesh))


def _room(cluster: Cluster, reserved_bytes: float) -> float:
    """Return the bytes that a device has left, or say that there are none."""
    holds = cluster.device.memory_bytes
    room = holds - quantity("reserved_bytes", reserved_bytes)
    if room <= 0:
        raise ValueError(
            f"reserved_bytes={reserved_bytes} leaves nothing of the {holds:.0f} bytes of a device: "
            "give less"
        )
    return room


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
    chosen = find_recipe(recipe)
    problems = mesh_problems(model, cluster, mesh, global_batch=global_batch)
    room = _room(cluster, reserved_bytes)
    if problems:
        return problems
    memory = fullest_device(model, mesh, mesh.num_microbatches(global_batch), chosen)
    if memory.total <= room:
        return ()
    parts = _listed(memory.parts, 1e9, ".1f")
    reason = (
        f"the fullest device needs {memory.total / 1e9:.1f} GB ({parts}), but has "
        f"{room / 1e9:.1f}: raise tensor, pipeline or zero_stage, recompute, or lower micro_batch"
    )
    return (reason,)
