"""Pipeline schedules: which stage works on which micro-batch, and when.

P stages hold consecutive layers. Each of M micro-batches needs a forward (F) on stages 0 … P-1,
then a backward (B) on stages P-1 … 0. A schedule is a list of cells, one for each stage,
micro-batch and operation, with its start and end. Time runs from 0, in the unit of the costs.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Rational
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast

from shardwise._checks import amount, as_float, integer, one_of, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Time: TypeAlias = int | float | Fraction
Op: TypeAlias = Literal["F", "B"]
Policy: TypeAlias = Literal["gpipe", "1f1b"]
# The operations of one stage, one after the other; each op takes micro-batches 0, 1, … in order.
Order: TypeAlias = list[Op]
_FORWARD: Order = ["F"]
_BACKWARD: Order = ["B"]
_TIMES = (int, float, Fraction)
_MOST_CELLS = 10_000_000  # about 1.3 GB of cells


@dataclass(frozen=True, slots=True)
class Cell:
    """One operation of one stage on one micro-batch.

    Attributes:
        stage: stage s, from 0.
        microbatch: micro-batch m, from 0.
        op: "F" (forward) or "B" (backward).
        start: when it starts, at least 0.
        end: when it has ended, and what it sends leaves; not before `start`.
    """

    stage: int
    microbatch: int
    op: Op
    start: Time
    end: Time

    def __post_init__(self) -> None:
        """Reject what no schedule can hold."""
        # A schedule has many cells: the full checks run only for what is not plainly right.
        if type(self.stage) is not int or self.stage < 0:
            integer("stage", self.stage)
        if type(self.microbatch) is not int or self.microbatch < 0:
            integer("microbatch", self.microbatch)
        if type(self.op) is not str or self.op not in ("F", "B"):
            one_of("op", self.op, ("F", "B"))
        plain = type(self.start) in _TIMES and type(self.end) in _TIMES
        if plain and 0 <= self.start <= self.end < math.inf:
            return
        if amount("start", self.start) > amount("end", self.end):
            raise ValueError(
                f"end={written(self.end)} is before start={written(self.start)}: swap them"
            )


def _gpipe_order(_stage: int, _num_stages: int, num_microbatches: int) -> Order:
    """All forwards, then all backwards."""
    return _FORWARD * num_microbatches + _BACKWARD * num_microbatches


def _one_forward_one_backward_order(stage: int, num_stages: int, num_microbatches: int) -> Order:
    """Fill up to min(M, P - s) micro-batches, then retire one before the next is taken in."""
    cap = min(num_microbatches, num_stages - stage)
    return _FORWARD * cap + (_BACKWARD + _FORWARD) * (num_microbatches - cap) + _BACKWARD * cap


_ORDERS: dict[str, Callable[[int, int, int], Order]] = {
    "gpipe": _gpipe_order,
    "1f1b": _one_forward_one_backward_order,
}


def _per_place(name: str, value: Time | Sequence[Time], count: int, places: str) -> list[Time]:
    """Return `count` costs, or say why `value` is neither one finite cost nor a list of them."""
    if not isinstance(value, (list, tuple)):
        amount(name, cast("Time", value))
        return [cast("Time", value)] * count
    if len(value) != count:
        raise ValueError(
            f"{name} has {len(value)} values: give {count}, one for each {places}, or one number"
        )
    for place, cost in enumerate(value):
        amount(f"{name}[{place}]", cost)
    return list(value)


def _one_kind(costs: list[list[Time]]) -> list[list[Time]]:
    """Return the costs as integers if all are; else as fractions if all are; else as floats."""
    flat = [cost for row in costs for cost in row]
    if all(isinstance(cost, Integral) for cost in flat):
        return [[int(cost) for cost in row] for row in costs]
    if all(isinstance(cost, Rational) for cost in flat):
        return [[amount("cost", cost) for cost in row] for row in costs]
    remedy = "give costs in a larger unit, or all of them as int or Fraction"
    return [[as_float(amount("cost", cost), remedy) for cost in row] for row in costs]


class _Lane(NamedTuple):
    """What one operation of one stage needs: the ends of cells that it waits for, and its times."""

    inbox: list[Time] | None  # entry m: when the neighbour's message of micro-batch m left
    latency: Time
    cost: Time
    outbox: list[Time]


def _lanes(costs: dict[Op, list[Time]], latency: list[Time]) -> list[dict[Op, _Lane]]:
    """Return the lanes of each stage: forwards wait for the stage before, backwards for the next.

    The last stage's backward waits for no message: its own forward comes before it anyway.
    """
    stages = range(len(costs["F"]))
    ends: dict[Op, list[list[Time]]] = {op: [[] for _ in stages] for op in costs}
    lanes: list[dict[Op, _Lane]] = [{} for _ in stages]
    for stage in stages:
        sources: dict[Op, int] = {"F": stage - 1, "B": stage + 1}
        for op, source in sources.items():
            cost, outbox = costs[op][stage], ends[op][stage]
            if source in stages:
                delay = latency[min(stage, source)]
                lanes[stage][op] = _Lane(ends[op][source], delay, cost, outbox)
            else:
                lanes[stage][op] = _Lane(None, 0, cost, outbox)
    return lanes


def _run_early(orders: list[deque[Op]], lanes: list[dict[Op, _Lane]]) -> Iterator[Cell]:
    """Start each operation as soon as its stage is free and its message is there.

    A stage that got on wakes its neighbours, which may wait for its messages; so the work is
    O(P·M), and no cell comes out before those that it depends on.
    """
    now = [lanes[0]["F"].cost * 0] * len(lanes)
    near = [[n for n in (s - 1, s + 1) if 0 <= n < len(lanes)] for s in range(len(lanes))]
    awake = deque([0])
    while awake:
        stage = awake.popleft()
        order, lane, free, todo = orders[stage], lanes[stage], now[stage], len(orders[stage])
        while order:
            op = order[0]
            inbox, latency, cost, outbox = lane[op]
            start, microbatch = free, len(outbox)
            if inbox is not None:
                if len(inbox) <= microbatch:
                    break
                start = max(start, inbox[microbatch] + latency)
            free = start + cost
            outbox.append(free)
            order.popleft()
            yield Cell(stage, microbatch, op, start, free)
        now[stage] = free
        if len(order) < todo:
            awake.extend(near[stage])


def pipeline_schedule(
    num_stages: int,
    num_microbatches: int,
    policy: Policy = "gpipe",
    *,
    forward_cost: Time | Sequence[Time] = 1,
    backward_cost: Time | Sequence[Time] = 1,
    latency: Time | Sequence[Time] = 0,
) -> list[Cell]:
    """Return the cells of a pipeline schedule, in time order.

    "gpipe" runs all forwards of a stage, then all its backwards. "1f1b" takes in micro-batches
    until min(M, P - s) of them are in flight at stage s; from then on it retires one with a
    backward before each further forward. That is Megatron-LM's warm-up of P - s - 1 forwards, then
    forward and backward by turns. Both take micro-batches in order. With equal stages of
    costs F and B and no latency both need (M + P - 1)(F + B). A message travels while its sender
    works on; a stage that waits for one is idle.

    Args:
        num_stages: stages P ≥ 1.
        num_microbatches: micro-batches M ≥ 1; M < P is allowed.
        policy: "gpipe" or "1f1b".
        forward_cost: time of a forward ≥ 0, or a list of P such times (uneven stages).
        backward_cost: time of a backward, likewise.
        latency: time from the end of a cell to the arrival of its message at the next stage ≥ 0,
            or a list of P - 1, of which entry s is the link between stages s and s + 1.

    Returns:
        2·P·M cells by start, then stage. Times are integers if all costs are, fractions if all are
        integers or fractions, floats otherwise.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if an argument is out of range, a cost is negative or not finite, a list of
            costs has the wrong length, or the policy is unknown.

    Example:
        >>> cells = pipeline_schedule(num_stages=8, num_microbatches=32, policy="1f1b",
        ...                           forward_cost=1, backward_cost=2, latency=0.25)
        >>> cells[0], cells[-1].end
        (Cell(stage=0, microbatch=0, op='F', start=0.0, end=1.0), 134.0)

    Source: Huang et al., "GPipe", arXiv:1811.06965, figure 2; Narayanan et al., "Efficient
    Large-Scale Language Model Training", arXiv:2104.04473, section 2.2.1 and figure 4.
    """
    stages = integer("num_stages", num_stages, minimum=1)
    microbatches = integer("num_microbatches", num_microbatches, minimum=1)
    one_of("policy", policy, _ORDERS)
    if 2 * stages * microbatches > _MOST_CELLS:
        raise ValueError(
            f"num_stages={written(stages)} and num_microbatches={written(microbatches)} need more "
            f"than {_MOST_CELLS} cells: use the closed forms, such as bubble_fraction"
        )
    forward, backward, links = _one_kind(
        [
            _per_place("forward_cost", forward_cost, stages, "stage"),
            _per_place("backward_cost", backward_cost, stages, "stage"),
            _per_place("latency", latency, stages - 1, "link between stages"),
        ]
    )
    if sum([*forward, *backward, *links, *links]) * microbatches == math.inf:
        raise ValueError("the costs add up to more than a float holds: give them in a larger unit")
    orders = [deque(_ORDERS[policy](stage, stages, microbatches)) for stage in range(stages)]
    cells = list(_run_early(orders, _lanes({"F": forward, "B": backward}, links)))
    # Cells that take no time may depend on each other at one instant: they keep their order, and
    # go before those that do take time.
    cells.sort(key=lambda c: (c.start, c.stage if c.start < c.end else -1))
    return cells
