"""The ring all-reduce, replayed from a recording, as a widget."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import traitlets

from shardwise_widgets._checks import Checked, TraitValueError, count
from shardwise_widgets.base import ShardwiseWidget
from shardwise_widgets.ring_recording import record_run, record_tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

MIN_DEVICES, MAX_DEVICES = 2, 8


def last_step(devices: int) -> int:
    """Return the number of steps of a ring: N-1 to reduce and scatter, N-1 to gather."""
    return 2 * (devices - 1)


class RingAllReduce(ShardwiseWidget):
    """N devices on a ring that sum their tensors, step by step, as `ring_all_reduce` really did it.

    All traits can be set later and stay in step with the controls. Setting `devices` records
    another run, and brings `step` back to one that it has.

    Args:
        devices: number of devices N, 2 to 8.
        step: how many of the 2(N-1) steps are done.
        link: traits to share with other widgets, such as "devices".

    Attributes:
        steps: the recording, read-only: "devices", "bytes" (of one device's tensor), "start"
            (what stands in each chunk, a row for each device) and "steps", each with its "op" and
            its "transfers" [source, destination, chunk, bytes, sent, held after adding].

    Raises:
        TypeError: if an argument is no number; it is a traitlets.TraitError too.
        ValueError: if an argument is out of its range; likewise.

    Example:
        >>> ring = RingAllReduce(devices=4, step=3)
        >>> ring.steps["steps"][0]["transfers"][0]
        [0, 1, 0, 4, 1, 3]
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

    @classmethod
    def from_tensors(
        cls, tensors: Sequence[torch.Tensor], *, step: int = 0, link: str | None = None
    ) -> RingAllReduce:
        """Show the ring at work on tensors of one's own.

        A cell shows the first element of its chunk, and says all of them when it is asked. The
        number of devices is that of the tensors, and stays so.

        Args:
            tensors: one for each device, 2 to 8 of one shape, dtype and device; floats or integers.
            step: how many of the 2(N-1) steps are done.
            link: traits to share with other widgets, such as "step".

        Raises:
            TypeError: if `tensors` is no list of dense tensors that can be added up.
            ValueError: if they are too few, too many, empty, or differ in shape, dtype or device.

        Example:
            >>> import torch
            >>> ring = RingAllReduce.from_tensors([torch.randn(1000), torch.randn(1000)], step=1)
            >>> ring.steps["bytes"], ring.steps["steps"][0]["transfers"][0][:4]
            (4000, [0, 1, 0, 2000])
        """
        if not isinstance(tensors, (list, tuple)):
            kind = type(tensors).__name__
            raise TypeError(f"tensors must be a list, one tensor for each device, not {kind}")
        if not MIN_DEVICES <= len(tensors) <= MAX_DEVICES:
            raise ValueError(
                f"tensors holds {len(tensors)}: give {MIN_DEVICES} to {MAX_DEVICES} tensors, one "
                "for each device"
            )
        if any(getattr(tensor, "is_meta", False) for tensor in tensors):
            raise ValueError("tensors on the meta device hold no numbers: give ones on the CPU")
        run = record_tensors(tensors)
        if not run["bytes"]:
            raise ValueError("tensors have no elements: give tensors with something to sum")
        ring = cls(devices=run["devices"], link=link)
        ring.set_trait("steps", run)
        ring.step = step
        return ring

    @traitlets.validate("devices")
    def _keep_own(self, proposal: dict[str, Any]) -> int:
        devices = int(proposal["value"])
        if "texts" in self.steps and devices != self.steps["devices"]:
            raise TraitValueError(
                f"devices={devices} must stay {self.steps['devices']}, one for each tensor: "
                "make another widget with RingAllReduce.from_tensors"
            )
        return devices

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
        if "texts" in self.steps:
            return {**super().book_state(), "steps": self.steps}
        runs = {str(n): record_run(n) for n in range(MIN_DEVICES, MAX_DEVICES + 1)}
        return {**super().book_state(), "runs": runs}
