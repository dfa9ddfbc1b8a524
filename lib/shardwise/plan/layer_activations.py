"""Activation memory of one layer of any `Model`: grouped heads, gated MLPs, fused attention.

`activation_bytes` has the published formulas, which are those of a GPT; here they are counted again
from the tensors, so that other shapes have theirs.
"""

from __future__ import annotations

from shardwise._checks import flag, one_of
from shardwise.memory.activations import RECOMPUTATIONS
from shardwise.plan._checks import instance, size
from shardwise.plan._stages import kept_bytes
from shardwise.plan.model_shape import Model


def layer_activation_bytes(
    model: Model,
    tokens: int,
    *,
    tensor: int = 1,
    sequence_parallel: bool = False,
    recompute: str = "none",
) -> float:
    """Return the bytes of activations that one layer keeps of one micro-batch.

    Per token, with h, k and f for the widths of model, keys and MLP, a heads and s tokens in a
    sequence: 8h for the inputs of norms and matrices, and 2h of dropout masks, not split by t
    unless sequences are; 4h + 4k + 4f (6f if gated) for queries, keys, values, the attention's
    output and the MLP's inside, split by t; 5as for scores (2as without dropout), split by t, if
    they are kept. `activation_bytes` is the same for a GPT.

    Args:
        model: whose layer.
        tokens: tokens of a micro-batch on this device.
        tensor: devices t that share the layer.
        sequence_parallel: whether the first part is split as well.
        recompute: one of `RECOMPUTATIONS`; "full" keeps 2h.

    Returns:
        Bytes.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if an argument is out of range.

    Example:
        >>> gpt3 = Model(layers=96, hidden=12288, num_heads=96, vocab=51200, seq_len=2048)
        >>> layer_activation_bytes(gpt3, 2048, tensor=8) / 2**20
        552.0

    Source: Korthikanti et al., arXiv:2205.05198, section 4.1 and table 2, counted for other shapes.
    """
    instance("model", model, Model)
    one_of("recompute", recompute, RECOMPUTATIONS)
    flag("sequence_parallel", sequence_parallel)
    count = size("tokens", tokens)
    return kept_bytes(model, count, size("tensor", tensor), sequence_parallel, recompute)
