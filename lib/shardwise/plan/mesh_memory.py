"""Memory of a mesh: the bytes on its fullest device, by part.

Counted are the state under ZeRO, the layers that stage 3 gathers, activations of the micro-batches
in flight, the working set of recomputation, and logits. Not counted are buffers of communication,
the allocator's fragments and what the driver takes: leave room for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardwise.memory.recipes import find_recipe
from shardwise.plan._stages import (
    FULLY_SHARDED,
    inflight_microbatches,
    kept_bytes,
    logit_bytes,
    stage_layers,
    stage_params,
    state_bytes,
)
from shardwise.plan.mesh import Mesh, shape_problems

if TYPE_CHECKING:
    from shardwise.memory.recipes import Recipe
    from shardwise.plan.model_shape import Model


@dataclass(frozen=True, slots=True)
class MeshMemory:
    """Bytes on one device, by part, all floats.

    Attributes:
        params: weights.
        grads: gradients.
        optimizer: optimizer state.
        gathered: two whole layers, the one in use and the one prefetched, at ZeRO stage 3.
        activations: what the backward passes of all micro-batches in flight need.
        working: what recomputation brings back of one layer at a time.
        logits: 32-bit logits of one micro-batch on the last stage.
    """

    params: float
    grads: float
    optimizer: float
    gathered: float
    activations: float
    working: float
    logits: float

    @property
    def parts(self) -> dict[str, float]:
        """Bytes of each part by name; they add up to `total`."""
        return {name: getattr(self, name) for name in self.__slots__}

    @property
    def state(self) -> float:
        """Bytes of weights, gradients and optimizer state."""
        return self.params + self.grads + self.optimizer

    @property
    def total(self) -> float:
        """Bytes of all parts."""
        return self.state + self.gathered + self.activations + self.working + self.logits


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


def fullest_device(model: Model, mesh: Mesh, num_microbatches: int, recipe: Recipe) -> MeshMemory:
    """Return `mesh_memory` of checked arguments."""
    first = stage_memory(model, mesh, num_microbatches, recipe, 0)
    if mesh.pipeline == 1:
        return first
    last = stage_memory(model, mesh, num_microbatches, recipe, -1)
    return max(first, last, key=lambda memory: memory.total)


def stage_memory(
    model: Model, mesh: Mesh, num_microbatches: int, recipe: Recipe, stage: int
) -> MeshMemory:
    """Return the bytes on a device of the first (0) or last stage (-1)."""
    t, p = mesh.tensor, mesh.pipeline
    params = stage_params(model, p, t, stage)
    tokens = mesh.micro_batch * model.seq_len / mesh.context
    kept = kept_bytes(model, tokens, t, mesh.sequence_parallel, mesh.recompute)
    working = 0.0
    if mesh.recompute != "none":
        working = kept_bytes(model, tokens, t, mesh.sequence_parallel, "none")
        if mesh.recompute == "selective":
            working -= kept
    rank = 0 if stage == 0 else p - 1
    layers = stage_layers(model.layers, p, stage)
    gathered = 0.0
    if mesh.zero_stage == FULLY_SHARDED and mesh.replicas > 1:
        gathered = 2.0 * recipe.params * max(model.layer_params, model.vocab_params) / t
    has_output = stage == -1 or p == 1
    return MeshMemory(
        *state_bytes(params, mesh.replicas, mesh.zero_stage, recipe),
        gathered,
        layers * inflight_microbatches(p, mesh.chunks, num_microbatches, rank) * kept,
        working,
        logit_bytes(model, tokens, t) if has_output else 0.0,
    )
