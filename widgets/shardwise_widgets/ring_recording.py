"""Recordings of the real ring all-reduce, in the form that its widget replays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from shardwise import ledger
from shardwise.distributed import ring_all_reduce

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ENDS = 3  # numbers that are shown of each end of a long chunk


def short(value: float) -> str:
    """Return a number in three digits, or an integer of up to five as it is.

    Example:
        >>> short(0.12345), short(1234), short(1e9), short(float("nan"))
        ('0.123', '1234', '1e+09', 'nan')
    """
    if isinstance(value, int) and abs(value) < 10**5:
        return str(value)
    return f"{value:.3g}" if math.isfinite(value) else str(value)


def first_of(chunk: torch.Tensor) -> str:
    """Return the first element of a chunk, or "none" of an empty chunk."""
    return short(chunk.view(-1)[0].item()) if chunk.numel() else "none"


def elements(chunk: torch.Tensor) -> str:
    """Return a chunk's elements, those in the middle of a long one left out.

    Example:
        >>> elements(torch.arange(10))
        '10 elements [0, 1, 2, …, 7, 8, 9]'
    """
    count = chunk.numel()
    numbers = chunk.view(-1)
    if count > 2 * ENDS + 1:
        ends = [*numbers[:ENDS].tolist(), *numbers[-ENDS:].tolist()]
        texts = [short(value) for value in ends]
        texts.insert(ENDS, "…")
    else:
        texts = [short(value) for value in numbers.tolist()]
    return f"{count} element{'' if count == 1 else 's'} [{', '.join(texts)}]"


def replay(
    tensors: Sequence[torch.Tensor], show: Callable[[torch.Tensor], object]
) -> dict[str, Any]:
    """Run the real ring all-reduce and return what it did, step by step.

    Args:
        tensors: one for each device.
        show: from a chunk to what stands in its cell.

    Returns:
        "devices", "bytes" (of one device's tensor, M), "start" (a row of chunks for each device)
        and "steps"; each step has its "op" and its "transfers" [source, destination, chunk, bytes,
        what was sent], with what the receiver then holds at the end where it adds.
    """
    with ledger.record(payloads=True) as log:
        ring_all_reduce(tensors)
    count = len(tensors)
    sent = {(t.step, t.source, t.chunk): show(payload_of(t)) for t in log.transfers}
    steps: list[dict[str, Any]] = [{"op": "", "transfers": []} for _ in range(log.num_steps)]
    for t in log.transfers:
        transfer = [t.source, t.destination, t.chunk, t.num_bytes, sent[t.step, t.source, t.chunk]]
        if t.op == "reduce_scatter":  # a sum is what its holder sends on in the next step
            transfer.append(sent[t.step + 1, t.destination, t.chunk])
        steps[t.step]["op"] = t.op
        steps[t.step]["transfers"].append(transfer)
    first = tensors[0].detach()
    return {
        "devices": count,
        "bytes": first.numel() * first.element_size(),
        "start": [[show(chunk) for chunk in chunks_of(tensor, count)] for tensor in tensors],
        "steps": steps,
    }


def payload_of(transfer: ledger.Transfer) -> torch.Tensor:
    """Return what a transfer moved."""
    assert transfer.payload is not None  # noqa: S101 - recorded with payloads
    return transfer.payload


def chunks_of(tensor: torch.Tensor, count: int) -> tuple[torch.Tensor, ...]:
    """Cut a device's tensor as the ring does."""
    return tensor.detach().reshape(-1).tensor_split(count)


def record_run(devices: int) -> dict[str, Any]:
    """Record a ring on small numbers: device i brings (i + 1)·(1, 2, …, N), one float32 a chunk.

    Args:
        devices: number of devices N.

    Example:
        >>> record_run(2)["steps"]
        [{'op': 'reduce_scatter', 'transfers': [[0, 1, 0, 4, 1, 3], [1, 0, 1, 4, 4, 6]]}, \
{'op': 'all_gather', 'transfers': [[0, 1, 1, 4, 6], [1, 0, 0, 4, 3]]}]
    """
    tensors = [(device + 1) * torch.arange(1.0, devices + 1) for device in range(devices)]
    return replay(tensors, lambda chunk: int(chunk.item()))


def record_tensors(tensors: Sequence[torch.Tensor]) -> dict[str, Any]:
    """Record the ring on tensors of one's own; a cell shows the first element of its chunk.

    Args:
        tensors: one for each device.

    Returns:
        What `replay` does, with "texts": the elements of each chunk, in the form of "start" and
        "steps".

    Example:
        >>> run = record_tensors([torch.tensor([0.5, 1.5, 2.5]), torch.ones(3)])
        >>> run["start"][0], run["texts"]["start"][0]
        (['0.5', '2.5'], ['2 elements [0.5, 1.5]', '1 element [2.5]'])
    """
    run, texts = replay(tensors, first_of), replay(tensors, elements)
    return {
        **run,
        "texts": {
            "start": texts["start"],
            "steps": [[transfer[-1] for transfer in step["transfers"]] for step in texts["steps"]],
        },
    }
