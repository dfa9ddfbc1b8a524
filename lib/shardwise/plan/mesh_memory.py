"""Memory of a mesh: the bytes on its fullest device, by part.

Counted are the state under ZeRO, the layers that stage 3 gathers, activations of the micro-batches
in flight, the working set of recomputation, and logits. Not counted are buffers of communication,
the allocator's fragments and what the driver takes: leave room for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardwise.memory.recipes import find_recipe
from shardwise.plan._device_memory import MeshMemory, fullest_device
from shardwise.plan.mesh import Mesh, shape_problems

if TYPE_CHECKING:
    from shardwise.memory.recipes import Recipe
    from shardwise.plan.model_shape import Model

__all__ = ["MeshMemory", "mesh_memory"]


def mesh_memory(
    model: Model, mesh: Mesh, *, global_batch: int, recipe: str | Recipe = "2+2+12"
) -> MeshMemory:
    """Return the bytes on the fullest device: one of the first stage, or of the last.

    state(Ψ of the stage) under ZeRO over data · context devices, and layers · in-flight
    micro-batches · `layer_activation_bytes`.

    Args:
        model: what is trained.
        mesh: how; it must keep the rules of `mesh_problems`.
        global_batch: sequences in one optimizer step.
        recipe: name from `RECIPES`, or a `Recipe`.

    Returns:
        Bytes by part.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if an argument is out of range, or the mesh breaks a rule.

    Example:
        >>> from shardwise.plan.model_shape import Model
        >>> gpt3 = Model(layers=96, hidden=12288, num_heads=96, vocab=51200, seq_len=2048)
        >>> mesh = Mesh(data=16, tensor=8, pipeline=8, recompute="full")
        >>> memory = mesh_memory(gpt3, mesh, global_batch=1536, recipe="2+4+12")
        >>> round(memory.state / 1e9, 1), round(memory.total / 1e9, 1)
        (50.8, 56.2)

    Source: the parts' sources are those of `zero_memory_breakdown` and `layer_activation_bytes`;
    logits as in Korthikanti et al., arXiv:2205.05198, section 4.3.
    """
    chosen = find_recipe(recipe)
    problems = shape_problems(model, mesh, global_batch)
    if problems:
        raise ValueError(f"mesh={mesh} breaks a rule: {problems[0]}")
    return fullest_device(model, mesh, mesh.num_microbatches(global_batch), chosen)
