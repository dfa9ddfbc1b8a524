"""Memory of one device from its parts, for arguments that are checked already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardwise.plan._stages import (
    FULLY_SHARDED,
    inflight_microbatches,
    kept_bytes,
    stage_layers,
    stage_params,
    state_bytes,
)

if TYPE_CHECKING:
    from shardwise.memory.recipes import Recipe
    from shardwise.plan.mesh import Mesh
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
    def state(self) -> float:
        """Bytes of weights, gradients and optimizer state."""
        return self.params + self.grads + self.optimizer

    @property
    def total(self) -> float:
        """Bytes of all parts."""
        return self.state + self.gathered + self.activations + self.working + self.logits


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
        4.0 * tokens * model.vocab / t if has_output else 0.0,
    )
