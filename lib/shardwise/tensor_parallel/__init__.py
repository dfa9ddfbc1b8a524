"""Tensor parallelism: the matrices of each layer cut over N devices.

Each block is a column-parallel product, work that stays on its device, and a row-parallel product:
f, then GeLU(X Aᵢ) Bᵢ or the heads of device i, then g. So a block costs one all-reduce forward (g)
and one backward (f), and a layer of two blocks costs four. This module gathers the names of the
subject; each idea has a module of its own:

    conjugates  f and g
    linear      the column-parallel and the row-parallel product
    mlp         the feed-forward block
    attention   the attention block
    layer       a layer of both
    costs       what it communicates
    sequence    the same layer on a split sequence
    vocabulary  embedding and cross-entropy over a split vocabulary
"""

from __future__ import annotations

from shardwise.collectives import ring_all_reduce
from shardwise.tensor_parallel.attention import megatron_attention, single_device_attention
from shardwise.tensor_parallel.conjugates import collapse, f, g, replicate
from shardwise.tensor_parallel.costs import (
    layer_communication_elements,
    layer_communication_elements_exact,
)
from shardwise.tensor_parallel.layer import LayerWeights, megatron_layer, single_device_layer
from shardwise.tensor_parallel.linear import (
    column_parallel_forward,
    column_parallel_shards,
    row_parallel_forward,
    row_parallel_shards,
)
from shardwise.tensor_parallel.mlp import megatron_mlp, single_device_mlp
from shardwise.tensor_parallel.sequence import (
    gather_sequence,
    scatter_sequence,
    sequence_parallel_layer,
)
from shardwise.tensor_parallel.vocabulary import (
    vocab_parallel_cross_entropy,
    vocab_parallel_embedding,
)

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
