"""The schedule of a pipeline, slot by slot, as a widget."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import traitlets

from shardwise.pipeline import Cell, schedule_bubble_fraction, schedule_makespan
from shardwise_widgets._checks import Checked, TraitValueError, count, one_of
from shardwise_widgets.base import ShardwiseWidget

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

MAX_STAGES, MAX_MICROBATCHES = 8, 32
OWN = "own"
POLICIES = ("gpipe", "1f1b", OWN)
COSTS = (1, 1.5, 2, 3)
END = 2 * MAX_STAGES * MAX_MICROBATCHES
"""As many steps as the largest schedule can have."""


def _check_size(name: str, size: int, most: int) -> None:
    if size > most:
        raise ValueError(
            f"cells has {size} {name}, and the widget draws at most {most}: show a smaller schedule"
        )


def _check_pairs(cells: list[Cell], stages: int, microbatches: int) -> None:
    """Say which cell is missing, or which backward comes before its forward."""
    found = {(cell.op, cell.stage, cell.microbatch): cell for cell in cells}
    for stage in range(stages):
        for microbatch in range(microbatches):
            pair = [found.get((op, stage, microbatch)) for op in ("F", "B")]
            for op, cell in zip(("F", "B"), pair, strict=True):
                if cell is None:
                    raise ValueError(
                        f"cells lacks {op} of micro-batch {microbatch} on stage {stage}: "
                        "give a forward and a backward of every micro-batch on every stage"
                    )
            forward, backward = (cell for cell in pair if cell is not None)
            if backward.start < forward.end:
                raise ValueError(
                    f"{backward} starts before its forward has ended: start it at "
                    f"{forward.end} or later"
                )


def checked_slots(cells: Iterable[Cell]) -> list[tuple[int, int, str, float, float]]:
    """Return a schedule as the view reads it, in time order, or say why it can't be run.

    Args:
        cells: cells of a whole schedule, as `pipeline_schedule` returns them, in any order.

    Returns:
        For each cell its stage, micro-batch, operation, start and end.

    Raises:
        TypeError: if `cells` holds something else.
        ValueError: if cells are missing, doubled or too many, overlap on a stage, start before
            what they depend on has ended, or take no time at all.

    Example:
        >>> checked_slots([Cell(0, 0, "B", 1, 3), Cell(0, 0, "F", 0, 1)])
        [(0, 0, 'F', 0.0, 1.0), (0, 0, 'B', 1.0, 3.0)]
    """
    listed = list(cells) if hasattr(cells, "__iter__") else cells
    schedule_makespan(listed)  # says what is no cell
    listed = list(listed)
    stages, microbatches = (
        max(getattr(cell, name) for cell in listed) + 1 for name in ("stage", "microbatch")
    )
    _check_size("stages", stages, MAX_STAGES)
    _check_size("micro-batches", microbatches, MAX_MICROBATCHES)
    _check_pairs(listed, stages, microbatches)
    schedule_bubble_fraction(listed)  # overlaps, doubles, and messages that come too late
    try:
        slots = [
            (cell.stage, cell.microbatch, str(cell.op), float(cell.start), float(cell.end))
            for cell in listed
        ]
    except OverflowError as error:
        raise ValueError("cells end too late for a float: give times in a larger unit") from error
    return sorted(slots, key=lambda slot: slot[3:])


class PipelineSchedule(ShardwiseWidget):
    """A pipeline's schedule: which device does what when, and how many micro-batches it holds.

    A forward takes 1. All traits can be set later and stay in step with the controls.

    Args:
        policy: "gpipe" (all forwards, then all backwards) or "1f1b" (one forward, one backward).
        stages: stages P, one on each device, 1 to 8.
        microbatches: micro-batches M, 1 to 32.
        backward_cost: time of a backward: 1, 1.5, 2 or 3.
        step: after how many of the times at which something ends; the default is past the last
            of any schedule, and shows the whole.
        link: traits to share with other widgets, such as "stages".

    Raises:
        TypeError: if a number is given as something else; it is a traitlets.TraitError too.
        ValueError: if an argument is out of its range; likewise.

    Example:
        >>> widget = PipelineSchedule(policy="1f1b", stages=4, microbatches=8, backward_cost=2)
        >>> widget.stages = 9
        Traceback (most recent call last):
        shardwise_widgets._checks.TraitValueError: stages=9 must be a whole number from 1 to 8
    """

    shown: ClassVar[tuple[str, ...]] = (
        "policy",
        "stages",
        "microbatches",
        "backward_cost",
        "step",
        "cells",
    )
    policy = Checked(partial(one_of, choices=POLICIES)).tag(sync=True)
    stages = Checked(partial(count, least=1, most=MAX_STAGES)).tag(sync=True)
    microbatches = Checked(partial(count, least=1, most=MAX_MICROBATCHES)).tag(sync=True)
    backward_cost = Checked(partial(one_of, choices=COSTS)).tag(sync=True)
    step = Checked(partial(count, least=0, most=END)).tag(sync=True)
    cells: traitlets.List[Any] = traitlets.List(read_only=True).tag(sync=True)

    def __init__(
        self,
        policy: str = "gpipe",
        stages: int = 4,
        microbatches: int = 8,
        backward_cost: float = 1,
        step: int = END,
        *,
        link: str | None = None,
    ) -> None:
        """Check the arguments and open the widget."""
        super().__init__(
            policy=policy,
            stages=stages,
            microbatches=microbatches,
            backward_cost=backward_cost,
            step=step,
            link=link,
        )

    @classmethod
    def from_schedule(
        cls, cells: Iterable[Cell], step: int = END, *, link: str | None = None
    ) -> Self:
        """Show a schedule of your own; the control for the policy has it beside GPipe and 1F1B.

        Args:
            cells: its cells, as `pipeline_schedule` returns them, in any order and any unit of
                time; at most 8 stages and 32 micro-batches.
            step: as in the constructor.
            link: likewise.

        Returns:
            The widget, with `policy` "own". While it is, the cells decide the other traits.

        Raises:
            TypeError: as `checked_slots`.
            ValueError: likewise.

        Example:
            >>> from shardwise.pipeline import pipeline_schedule
            >>> cells = pipeline_schedule(2, 4, "1f1b", backward_cost=2, latency=0.5)
            >>> PipelineSchedule.from_schedule(cells).policy
            'own'
            >>> PipelineSchedule.from_schedule(cells[:-1])
            Traceback (most recent call last):
            ValueError: cells lacks B of micro-batch 3 on stage 0: give a forward and a backward \
of every micro-batch on every stage
        """
        slots = checked_slots(cells)
        stages = max(stage for stage, *_ in slots) + 1
        microbatches = len(slots) // (2 * stages)
        widget = cls(stages=stages, microbatches=microbatches, step=step, link=link)
        widget.set_trait("cells", slots)
        widget.policy = OWN
        return widget

    @traitlets.validate("policy")
    def _check_policy(self, proposal: dict[str, Any]) -> object:
        if proposal["value"] == OWN and not self.cells:
            raise TraitValueError(
                f"policy={OWN!r} needs a schedule: use PipelineSchedule.from_schedule(cells)"
            )
        return proposal["value"]
