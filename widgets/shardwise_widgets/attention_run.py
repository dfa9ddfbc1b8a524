"""A run of ring attention, recorded for a widget: what the ring moved, and what was made of it."""

from __future__ import annotations

import math
from typing import Any

import torch

from shardwise import ledger
from shardwise.ring_attention import (
    absorb_block,
    ring_attention,
    sequence_layout,
    start_softmax,
)

Inputs = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
Row = list[tuple[int, torch.Tensor, torch.Tensor]]  # by device: number, keys and values of a block

BLOCK, HEAD_SIZE = 4, 8


def sample(devices: int) -> Inputs:
    """Return the widget's own example: random (1, 1, 4P, 8) queries, keys and values in float32."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 1, 1, BLOCK * devices, HEAD_SIZE, generator=generator)
    return q, k, v


def record_run(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    num_devices: int,
    causal: bool = False,
    layout: str = "contiguous",
    scale: float | None = None,
) -> dict[str, Any]:
    """Run the real ring attention and return what it moved and what each device made of it.

    Blocks and bytes are read from the ledger. What the ledger says that a device got is absorbed
    once more with `absorb_block`, to see the running maximum that the run keeps to itself.

    Args:
        q: (B, H, L, d) queries.
        k: (B, K, L, d) keys; K divides H.
        v: (B, K, L, e) values.
        num_devices: P.
        causal: whether a token sees only itself and those before it.
        layout: which tokens a device holds.
        scale: factor of the logits; None is 1/√d.

    Returns:
        The options; "tokens", L; "ids", the positions of each device's tokens; "held", the block
        that device p absorbs in step t, by t and p; "bytes" of each block of keys and values;
        "pairs" that the mask leaves, by device and block; "top" and "sums", by t and p: the largest
        logit so far (None: no key yet) and the sum of exponentials relative to it, of the device's
        last query in the first head; "error", the largest |ring - full attention|, with PyTorch's
        operator as the full one.

    Raises:
        TypeError: as `ring_attention`.
        ValueError: likewise, or if the attention is not finite everywhere.

    Example:
        >>> run = record_run(*sample(2), num_devices=2, causal=True)
        >>> run["held"], run["bytes"], run["pairs"]
        ([[0, 1], [1, 0]], [256, 256], [[10, 0], [16, 10]])
    """
    with torch.no_grad(), ledger.record(payloads=True) as log:
        out = ring_attention(
            q, k, v, num_devices=num_devices, causal=causal, layout=layout, scale=scale
        )
    full = torch.nn.functional.scaled_dot_product_attention(
        q.detach(), k.detach(), v.detach(), is_causal=causal, scale=scale, enable_gqa=True
    )
    error = (out - full).abs().max().item() if out.numel() else math.nan
    if not math.isfinite(error):
        raise ValueError(
            "the attention of q, k and v must be there and finite: give at least one batch, and no "
            "NaN, infinity or logit beyond the range of the dtype"
        )
    ids = [own.to(q.device) for own in sequence_layout(q.shape[2], num_devices, layout)]
    rows = _blocks(k.detach(), v.detach(), ids, log)
    return {
        "devices": num_devices,
        "causal": causal,
        "layout": layout,
        "tokens": q.shape[2],
        "ids": [own.tolist() for own in ids],
        "held": [[block for block, _, _ in row] for row in rows],
        "bytes": [sum(t.num_bytes for t in _sent(log, 0) if t.chunk == p) for p in range(len(ids))],
        **_replay(q.detach(), rows, ids, causal=causal, scale=scale),
        "error": error,
    }


def _sent(log: ledger.Ledger, step: int) -> list[ledger.Transfer]:
    return [transfer for transfer in log.transfers if transfer.step == step]


def _blocks(
    k: torch.Tensor, v: torch.Tensor, ids: list[torch.Tensor], log: ledger.Ledger
) -> list[Row]:
    """Return what the devices hold in each step: their own block, then what has arrived."""
    rows = [[(rank, k[:, :, own], v[:, :, own]) for rank, own in enumerate(ids)]]
    for step in range(log.num_steps):
        sent = _sent(log, step)
        arrived = {
            keys.destination: (keys.chunk, keys.payload, values.payload)
            for keys, values in zip(sent[::2], sent[1::2], strict=True)
        }
        # Recorded with payloads, so none of them is None.
        rows.append([arrived[rank] for rank in range(len(ids))])  # type: ignore[misc]
    return rows


def _replay(
    q: torch.Tensor,
    rows: list[Row],
    ids: list[torch.Tensor],
    *,
    causal: bool,
    scale: float | None,
) -> dict[str, list[list[Any]]]:
    """Absorb the blocks in the order of their arrival; return pairs, running maxima and sums."""
    queries = [q[:, :, own] for own in ids]
    states = [start_softmax(mine, rows[0][0][2]) for mine in queries]
    pairs = [[0] * len(ids) for _ in ids]
    top: list[list[Any]] = []
    sums: list[list[Any]] = []
    for row in rows:
        for rank, (block, keys, values) in enumerate(row):
            mask = ids[rank][:, None] >= ids[block] if causal else None
            absorb_block(queries[rank], keys, values, *states[rank], scale=scale, mask=mask)
            visible = len(ids[rank]) * len(ids[block]) if mask is None else int(mask.sum())
            pairs[rank][block] = visible
        last = [(m[0, 0, -1].item(), ell[0, 0, -1].item()) for m, ell, _ in states]
        top.append([round(m, 3) if math.isfinite(m) else None for m, _ in last])
        sums.append([round(ell, 3) for _, ell in last])
    return {"pairs": pairs, "top": top, "sums": sums}
