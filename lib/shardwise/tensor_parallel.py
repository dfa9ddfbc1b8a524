"""Tensor parallelism: the matrices of each layer cut over N devices.

Each block is a column-parallel product, work that stays on its device, and a row-parallel product:
f, then GeLU(X Aᵢ) Bᵢ or the heads of device i, then g. So a block costs one all-reduce forward (g)
and one backward (f), and a layer of two blocks costs four. This module gathers the names of the
subject; each idea has a module of its own:

    conjugates          f and g
    parallel_linear     the column-parallel and the row-parallel product
    parallel_mlp        the feed-forward block
    parallel_attention  the attention block
    transformer_layer   a layer of both
    layer_costs         what it communicates
    sequence_parallel   the same layer on a split sequence
    vocab_parallel      embedding and cross-entropy over a split vocabulary
"""

from __future__ import annotations

from shardwise.collectives import ring_all_reduce
from shardwise.conjugates import collapse, f, g, replicate
from shardwise.layer_costs import (
    layer_communication_elements,
    layer_communication_elements_exact,
)
from shardwise.parallel_attention import megatron_attention, single_device_attention
from shardwise.parallel_linear import (
    column_parallel_forward,
    column_parallel_shards,
    row_parallel_forward,
    row_parallel_shards,
)
from shardwise.parallel_mlp import megatron_mlp, single_device_mlp
from shardwise.sequence_parallel import gather_sequence, scatter_sequence, sequence_parallel_layer
from shardwise.transformer_layer import LayerWeights, megatron_layer, single_device_layer
from shardwise.vocab_parallel import vocab_parallel_cross_entropy, vocab_parallel_embedding

__all__ = [
    "LayerWeights",
    "collapse",
    "column_parallel_forward",
    "column_parallel_shards",
    "f",
    "g",
    "gather_sequence",
    "layer_communication_elements",
    "layer_communication_elements_exact",
    "megatron_attention",
    "megatron_layer",
    "megatron_mlp",
    "replicate",
    "ring_all_reduce",
    "row_parallel_forward",
    "row_parallel_shards",
    "scatter_sequence",
    "sequence_parallel_layer",
    "single_device_attention",
    "single_device_layer",
    "single_device_mlp",
    "vocab_parallel_cross_entropy",
    "vocab_parallel_embedding",
]
