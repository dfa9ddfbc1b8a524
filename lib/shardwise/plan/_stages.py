"""What a pipeline stage holds: layers, parameters, state, activations, micro-batches in flight.

Arguments are checked by those who call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shardwise.memory.recipes import Recipe
    from shardwise.plan.model_shape import Model

FULLY_SHARDED = 3
"""The ZeRO stage that splits parameters as well."""

_PARTITIONED_FROM = {"params": FULLY_SHARDED, "grads": 2, "optimizer": 1}


def kept_bytes(
    model: Model, tokens: float, tensor: int, sequence_parallel: bool, recompute: str
) -> float:
    """Return `layer_activation_bytes` of checked arguments.

    Example:
        >>> from shardwise.plan.model_shape import Model
        >>> gpt3 = Model(layers=96, hidden=12288, num_heads=96, vocab=51200, seq_len=2048)
        >>> kept_bytes(gpt3, 2048, 1, False, "full") / 2**20
        48.0
    """
    split = tensor if sequence_parallel else 1
    if recompute == "full":
        return 2.0 * tokens * model.hidden / split
    whole = (10 if model.dropout else 8) * model.hidden
    inside = (6 if model.gated else 4) * model.ffn_width
    shared = 4 * (model.hidden + model.kv_width) + inside
    if recompute == "none" and not model.flash_attention:
        shared += (5 if model.dropout else 2) * model.num_heads * model.seq_len
    return tokens * (whole / split + shared / tensor)


def stage_params(model: Model, pipeline: int, tensor: int, stage: int) -> float:
    """Return the parameters that a device of the first (0) or last stage (-1) holds.

    Stages are those of `partition_layers`. The first has the embedding, the last the output layer,
    its own copy if it is tied; matrices and vocabulary are split over `tensor`.

    Example:
        >>> from shardwise.plan.model_shape import Model
        >>> tiny = Model(layers=3, hidden=8, num_heads=2, vocab=16, seq_len=4)
        >>> [stage_params(tiny, 2, 1, stage) for stage in (0, -1)]
        [1904.0, 1016.0]
    """
    vectors = model.layer_vector_params
    layer = vectors + (model.layer_params - vectors) / tensor
    layers = stage_layers(model.layers, pipeline, stage)
    params = layers * layer
    if stage == 0 or pipeline == 1:
        params += model.vocab_params / tensor + model.position_params
    if pipeline == 1:
        params += model.norm_params + (0 if model.tied else model.vocab_params / tensor)
    elif stage == -1:
        params += model.norm_params + model.vocab_params / tensor
    return float(params)


def stage_layers(layers: int, pipeline: int, stage: int) -> int:
    """Return the layers of the first (0) or last stage (-1), as `partition_layers` deals them.

    Example:
        >>> [stage_layers(126, 16, stage) for stage in (0, -1)]
        [8, 7]
    """
    return layers // pipeline if stage == -1 else -(-layers // pipeline)


def inflight_microbatches(pipeline: int, chunks: int, num_microbatches: int, rank: int) -> float:
    """Return the micro-batches, of all layers of a stage, whose activations it holds at its peak.

    min(M, P - r) at stage r of 1F1B, and min(M, ((v-1)·P + 2(P - r - 1) + 1)/v) interleaved, which
    is P·(1 + (P-1)/(P·v)) at the first stage.

    Example:
        >>> inflight_microbatches(8, 1, 64, 0), inflight_microbatches(8, 2, 64, 0)
        (8.0, 11.5)

    Source: Narayanan et al., arXiv:2104.04473, section 2.2; Korthikanti et al., arXiv:2205.05198,
    section 4.2.3.
    """
    peak = float(pipeline - rank)
    if chunks > 1:
        peak = ((chunks - 1) * pipeline + 2 * (pipeline - rank - 1) + 1) / chunks
    return min(float(num_microbatches), peak)


def logit_bytes(model: Model, tokens: float, tensor: int) -> float:
    """Return the bytes of the 32-bit logits of `tokens`: 4·tokens·V/t.

    Example:
        >>> from shardwise.plan.model_shape import Model
        >>> logit_bytes(Model(layers=1, hidden=8, num_heads=2, vocab=16, seq_len=4), 4, 2)
        128.0

    Source: Korthikanti et al., arXiv:2205.05198, section 4.3.
    """
    return 4.0 * tokens * model.vocab / tensor


def state_bytes(
    params: float, replicas: int, zero_stage: int, recipe: Recipe
) -> tuple[float, float, float]:
    """Return the bytes of weights, gradients and optimizer state, as `zero_memory_breakdown` does.

    Example:
        >>> from shardwise.memory.recipes import RECIPES
        >>> state_bytes(1e6, 8, 2, RECIPES["2+2+12"])
        (2000000.0, 250000.0, 1500000.0)
    """
    weights, grads, optimizer = (
        params * getattr(recipe, part) / (replicas if zero_stage >= first else 1)
        for part, first in _PARTITIONED_FROM.items()
    )
    return weights, grads, optimizer
