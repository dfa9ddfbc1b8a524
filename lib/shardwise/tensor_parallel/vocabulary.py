"""Embedding and cross-entropy over a vocabulary that is cut into ranges, one for each device.

Neither ever joins the cut dimension: a device looks up the tokens of its own range, and of its
logits it sends a maximum, a sum and at most one logit for each token.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from shardwise._tensors import dense_tensor, same_kind_tensors
from shardwise.collectives import all_gather
from shardwise.tensor_parallel._matrices import activation, matrix, shard_count
from shardwise.tensor_parallel.conjugates import g, take_one
from shardwise.tensor_parallel.linear import row_parallel_shards

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_token_ids(name: str, ids: torch.Tensor, vocabulary: int, *, like: torch.Tensor) -> None:
    """Say why `ids` are no token ids of a vocabulary of that size on the device of `like`."""
    dense_tensor(name, ids)
    if ids.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"{name} has dtype {ids.dtype}: token ids must be int64 or int32")
    if ids.device != like.device:
        raise ValueError(f"{name} is on {ids.device}: bring it to {like.device} with .to(...)")
    if ids.numel() and not ids.is_meta and (int(ids.min()) < 0 or int(ids.max()) >= vocabulary):
        raise ValueError(
            f"{name} reach from {int(ids.min())} to {int(ids.max())}: the vocabulary has the ids 0 "
            f"to {vocabulary - 1}"
        )


def own_range(ids: torch.Tensor, start: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the ids counted from the start of a range, clamped into it, and which were outside."""
    own = ids.long() - start
    return own.clamp(0, size - 1), (own < 0) | (own >= size)


def vocab_parallel_embedding(
    token_ids: torch.Tensor, table: torch.Tensor, num_devices: int
) -> torch.Tensor:
    """Look up tokens in a table whose rows are cut over N devices: E = g(Tᵢ[tokens of range i]).

    A device gives zeros for tokens of the other ranges, so the all-reduce adds one row and zeros:
    the result is exact. It moves 2(N-1)/N · M bytes per device with M those of E; the backward
    moves nothing, each device adds up the gradients of its own rows.

    Args:
        token_ids: (…), int64 or int32, from 0 to vocabulary - 1, replicated.
        table: (vocabulary, h), of a float dtype.
        num_devices: N, from 1 to the size of the vocabulary.

    Returns:
        E (…, h): one of the N equal copies.

    Raises:
        TypeError: if an argument has the wrong type or dtype.
        ValueError: if an id is outside the vocabulary, or shapes, devices or N don't fit.

    Example:
        >>> table = torch.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
        >>> vocab_parallel_embedding(torch.tensor([2, 0]), table, num_devices=2)
        tensor([[4., 5.],
                [0., 1.]])

    Source: Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3.
    """
    matrix("table", table)
    count = shard_count(num_devices, table.shape[0], "rows of table")
    check_token_ids("token_ids", token_ids, table.shape[0], like=table)
    shards = row_parallel_shards(table, count)
    starts = accumulate((shard.shape[0] for shard in shards), initial=0)
    rows = []
    for start, shard in zip(starts, shards, strict=False):
        own, outside = own_range(token_ids, start, shard.shape[0])
        rows.append(functional.embedding(own, shard).masked_fill(outside.unsqueeze(-1), 0))
    return take_one(g(rows))


def vocab_parallel_cross_entropy(
    logit_shards: Sequence[torch.Tensor], targets: torch.Tensor
) -> torch.Tensor:
    """Compute each token's loss from logits that are cut over N devices, without joining them.

    loss = log Σᵥ exp(zᵥ - m) - (z_target - m), where m is the largest logit. An all-gather of each
    device's maximum gives m, one all-reduce the sum and the target's logit, two numbers a token.
    With T tokens a device sends (N-1)·T + 4(N-1)/N·T numbers, and not the (N-1)/N·T·vocabulary of
    gathered logits. (An all-reduce that takes maxima, which real libraries have, sends 2(N-1)/N·T
    in place of the first term.) The backward, softmax minus one at the target, moves nothing.

    Args:
        logit_shards: (…, columns) of each device, as `column_parallel_forward` gives them with the
            output embedding; device i's range of the vocabulary begins where that of i-1 ends.
        targets: (…), int64 or int32, from 0 to vocabulary - 1.

    Returns:
        Losses (…); float32 for half-precision logits, in which they are computed too, else of the
        logits' dtype. Take the mean for the usual loss.

    Raises:
        TypeError: if an argument has the wrong type or dtype.
        ValueError: if a target is outside the vocabulary, or shapes or devices don't fit.

    Example:
        >>> shards = [torch.tensor([[0.0, 1000.0]]), torch.tensor([[1000.0]])]
        >>> vocab_parallel_cross_entropy(shards, torch.tensor([2]))
        tensor([0.6931])

    Source: Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3.
    """
    same_kind_tensors("logit_shards", logit_shards, but_dim=-1)
    activation("logit_shards[0]", logit_shards[0])
    widths = [shard.shape[-1] for shard in logit_shards]
    if 0 in widths:
        raise ValueError(f"logit_shards are {widths} wide: every device must hold at least one")
    check_token_ids("targets", targets, sum(widths), like=logit_shards[0])
    if targets.shape != logit_shards[0].shape[:-1]:
        raise ValueError(
            f"targets have shape {tuple(targets.shape)}: the logits need "
            f"{tuple(logit_shards[0].shape[:-1])}, one target a token"
        )
    logits = [z.to(torch.promote_types(z.dtype, torch.float32)) for z in logit_shards]
    maxima = all_gather([shard.detach().amax(-1, keepdim=True) for shard in logits], dim=-1)
    starts = accumulate(widths, initial=0)
    terms = []
    for start, shard, of_devices in zip(starts, logits, maxima, strict=False):
        shifted = shard - of_devices.amax(-1, keepdim=True)  # (…, columns), at most 0
        own, outside = own_range(targets, start, shard.shape[-1])
        target = shifted.gather(-1, own.unsqueeze(-1)).squeeze(-1).masked_fill(outside, 0)
        terms.append(torch.stack([shifted.exp().sum(-1), target]))  # (2, …)
    return take_one([total.log() - target for total, target in g(terms)])
