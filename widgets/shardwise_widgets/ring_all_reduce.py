"""The ring all-reduce, replayed from a recording, as a widget."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import torch
import traitlets

from shardwise import ledger
from shardwise.collectives import ring_all_reduce
from shardwise_widgets._checks import Checked, count
from shardwise_widgets.base import ShardwiseWidget

MIN_DEVICES, MAX_DEVICES = 2, 8


def last_step(devices: int) -> int:
    """Return the number of steps of a ring: N-1 to reduce and scatter, N-1 to gather."""
    return 2 * (devices - 1)


def record_run(devices: int) -> dict[str, Any]:
    """Run the real ring all-reduce on small numbers and return what it did, step by step.

    Device i brings (i + 1)·(1, 2, …, N), one float32 for each chunk.

    Args:
        devices: number of devices N.

    Returns:
        "devices", "start" (a row for each device), "bytes" (of one device's tensor, M) and "steps";
        each step has its "op" and its "transfers" [source, destination, chunk, bytes, value].

    Example:
        >>> record_run(2)["steps"][0]
        {'op': 'reduce_scatter', 'transfers': [[0, 1, 0, 4, 1], [1, 0, 1, 4, 4]]}
    """
    tensors = [(device + 1) * torch.arange(1.0, devices + 1) for device in range(devices)]
    with ledger.record(payloads=True) as log:
        ring_all_reduce(tensors)
    steps: list[dict[str, Any]] = []
    for transfer in log.transfers:
        if transfer.step == len(steps):
            steps.append({"op": transfer.op, "transfers": []})
        assert transfer.payload is not None  # noqa: S101 - recorded with payloads
        route = [transfer.source, transfer.destination, transfer.chunk, transfer.num_bytes]
        steps[transfer.step]["transfers"].append([*route, int(transfer.payload.item())])
    return {
        "devices": devices,
        "start": [[int(value) for value in tensor] for tensor in tensors],
        "bytes": tensors[0].numel() * tensors[0].element_size(),
        "steps": steps,
    }


class RingAllReduce(ShardwiseWidget):
    """N devices on a ring that sum their tensors, step by step, as `ring_all_reduce` really did it.

    All traits can be set later and stay in step with the controls. Setting `devices` records
    another run, and brings `step` back to one that it has.

    Args:
        devices: number of devices N, 2 to 8.
        step: how many of the 2(N-1) steps are done.
        link: traits to share with other widgets, such as "devices".

    Raises:
        TypeError: if an argument is no number; it is a traitlets.TraitError too.
        ValueError: if an argument is out of its range; likewise.

    Example:
        >>> ring = RingAllReduce(devices=4, step=3)
        >>> ring.step = 7
        Traceback (most recent call last):
        shardwise_widgets._checks.TraitValueError: step=7 must be a whole number from 0 to 6
    """

    shown: ClassVar[tuple[str, ...]] = ("devices", "step")
    devices = Checked(partial(count, least=MIN_DEVICES, most=MAX_DEVICES)).tag(sync=True)
    # Its range follows `devices`, which may be set in the same go: it is checked when both are.
    step: traitlets.TraitType[int, Any] = traitlets.TraitType().tag(sync=True)
    steps = traitlets.Dict(read_only=True).tag(sync=True)

    def __init__(self, devices: int = 4, step: int = 0, *, link: str | None = None) -> None:
        """Check the arguments, record the run and open the widget."""
        super().__init__(devices=devices, step=step, link=link)

    @traitlets.validate("step")
    def _check_step(self, proposal: dict[str, Any]) -> int:
        return count("step", proposal["value"], 0, last_step(self.devices))

    @traitlets.observe("devices")
    def _record_again(self, change: dict[str, Any]) -> None:
        if self.steps.get("devices") != change["new"]:
            self.set_trait("steps", record_run(change["new"]))
        self.step = min(self.step, last_step(change["new"]))

    def book_state(self) -> dict[str, object]:
        """Return the recordings of all rings that the control reaches: a page has no kernel."""
        runs = {str(n): record_run(n) for n in range(MIN_DEVICES, MAX_DEVICES + 1)}
        return {**super().book_state(), "runs": runs}
