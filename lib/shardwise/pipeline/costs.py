"""What a pipeline schedule needs: its time, and room for the activations that it holds.

Every function takes cells in any order, also such as no scheduler of ours made, and says what is
wrong with them. Where two cells fall on one instant, the order of the list decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardwise._checks import written
from shardwise.pipeline.schedules import Cell, Op, Time

if TYPE_CHECKING:
    from collections.abc import Iterable


def _in_time_order(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells in time order, or say why they are none."""
    try:
        listed = list(cells)
    except TypeError as error:
        raise TypeError(
            f"cells={written(cells)} must be a list of Cell, as pipeline_schedule returns it"
        ) from error
    if not listed:
        raise ValueError("cells is empty: give the cells of a schedule")
    for index, cell in enumerate(listed):
        if not isinstance(cell, Cell):
            raise TypeError(f"cells[{index}]={written(cell)} must be a Cell")
    # By end: what a cell sends, keeps or frees counts from there. Ties keep the list's order.
    listed.sort(key=lambda cell: (cell.end, cell.start))
    return listed


def _count_stages(cells: list[Cell]) -> int:
    """Return P, or say which stage has no cell."""
    stages = {cell.stage for cell in cells}
    for stage in range(len(stages)):
        if stage not in stages:
            raise ValueError(f"cells has none of stage {stage}: give the cells of every stage")
    return len(stages)


def schedule_makespan(cells: Iterable[Cell]) -> Time:
    """Return when the last cell has ended; time runs from 0.

    Args:
        cells: cells of a schedule, in any order.

    Returns:
        The makespan in the unit of the costs: an int where they are.

    Raises:
        TypeError: if `cells` holds something else.
        ValueError: if it is empty.

    Example:
        >>> from shardwise.pipeline.schedules import pipeline_schedule
        >>> schedule_makespan(pipeline_schedule(num_stages=4, num_microbatches=8))
        22

    Source: 2(M + P - 1) slots for equal costs: Huang et al., arXiv:1811.06965, section 2.3.
    """
    return _in_time_order(cells)[-1].end


def peak_inflight_per_stage(cells: Iterable[Cell]) -> list[int]:
    """Return the most micro-batches that each stage holds activations of at any one time.

    A stage holds a micro-batch from its forward to the end of its backward, or for good where the
    cells have no backward. GPipe: M at every stage; 1F1B: min(M, P - s) at stage s.

    Args:
        cells: cells of a schedule; a stage's cells may not overlap.

    Returns:
        Micro-batches at stages 0, 1, … up to the last one that occurs.

    Raises:
        TypeError: if `cells` holds something else.
        ValueError: if it is empty, if a stage has no cells or cells that overlap, if a cell occurs
            twice, or if a backward comes before its forward.

    Example:
        >>> from shardwise.pipeline.schedules import pipeline_schedule
        >>> peak_inflight_per_stage(pipeline_schedule(4, 16, "1f1b"))
        [4, 3, 2, 1]

    Source: Narayanan et al., arXiv:2104.04473, section 2.2.1.
    """
    ordered = _in_time_order(cells)
    num_stages = _count_stages(ordered)
    free: list[Time] = [0] * num_stages
    held: list[set[int]] = [set() for _ in range(num_stages)]
    seen: set[tuple[int, int, Op]] = set()
    peaks = [0] * num_stages
    for cell in ordered:
        stage, key = cell.stage, (cell.stage, cell.microbatch, cell.op)
        if key in seen:
            raise ValueError(f"{cell} is the second of its kind: give each cell once")
        if cell.start < free[stage]:
            raise ValueError(
                f"{cell} starts before stage {stage} is free: start it at {free[stage]} or later"
            )
        if cell.op == "B" and cell.microbatch not in held[stage]:
            raise ValueError(f"{cell} has no forward before it: give that cell as well")
        seen.add(key)
        free[stage] = cell.end
        (held[stage].add if cell.op == "F" else held[stage].remove)(cell.microbatch)
        peaks[stage] = max(peaks[stage], len(held[stage]))
    return peaks


def peak_inflight_microbatches(cells: Iterable[Cell]) -> int:
    """Return the most micro-batches that stage 0 has in flight at a time.

    GPipe: M. 1F1B: min(M, P). In both no stage holds more; in a schedule of your own one may.

    Args:
        cells: cells of a schedule; see `peak_inflight_per_stage` for every stage.

    Returns:
        Micro-batches.

    Raises:
        TypeError: if `cells` holds something else.
        ValueError: as `peak_inflight_per_stage`.

    Example:
        >>> from shardwise.pipeline.schedules import pipeline_schedule
        >>> peak_inflight_microbatches(pipeline_schedule(4, 16, "gpipe"))
        16

    Source: Narayanan et al., arXiv:2104.04473, section 2.2.1.
    """
    return peak_inflight_per_stage(cells)[0]


def whole_schedule(cells: Iterable[Cell]) -> tuple[list[Cell], int, int]:
    """Return the cells in time order with P and M, or say why they are no schedule to run.

    A whole schedule has each of its 2·P·M cells once, cells of a stage do not overlap, and none
    starts before the cells that it depends on have ended.

    Example:
        >>> from shardwise.pipeline.schedules import pipeline_schedule
        >>> _, num_stages, num_microbatches = whole_schedule(pipeline_schedule(2, 3))
        >>> num_stages, num_microbatches
        (2, 3)
    """
    ordered = _in_time_order(cells)
    num_stages = len(peak_inflight_per_stage(ordered))
    num_microbatches = max(cell.microbatch for cell in ordered) + 1
    needed = 2 * num_stages * num_microbatches
    if len(ordered) != needed:
        raise ValueError(
            f"cells has {len(ordered)} cells: {num_stages} stages and {num_microbatches} "
            f"micro-batches need {needed}, one for each stage, micro-batch and operation"
        )
    sent: dict[tuple[Op, int, int], Time] = {}
    for cell in ordered:
        source = cell.stage - 1 if cell.op == "F" else cell.stage + 1
        if 0 <= source < num_stages:
            left = sent.get((cell.op, source, cell.microbatch))
            if left is None or left > cell.start:
                raise ValueError(
                    f"{cell} starts before its message from stage {source} has left: "
                    "start it when that cell has ended, or later"
                )
        sent[cell.op, cell.stage, cell.microbatch] = cell.end
    return ordered, num_stages, num_microbatches
