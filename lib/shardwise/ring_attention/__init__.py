"""Ring attention: the sequence is split, and keys and values travel around a ring of devices."""

from __future__ import annotations

from shardwise.ring_attention.attention import KERNELS, ring_attention
from shardwise.ring_attention.causal_work import (
    causal_block_work,
    causal_step_work,
    overlap_block_size,
)
from shardwise.ring_attention.layout import (
    LAYOUTS,
    permute_sequence,
    sequence_layout,
    unpermute_sequence,
)
from shardwise.ring_attention.online_softmax import absorb_block, finish_softmax, start_softmax

__all__ = [
    "KERNELS",
    "LAYOUTS",
    "absorb_block",
    "causal_block_work",
    "causal_step_work",
    "finish_softmax",
    "overlap_block_size",
    "permute_sequence",
    "ring_attention",
    "sequence_layout",
    "start_softmax",
    "unpermute_sequence",
]
