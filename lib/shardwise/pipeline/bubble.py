"""The bubble: the time for which the stages of a pipeline idle.

Two definitions are in use: as a fraction of the makespan (GPipe), which is below 1, and as a
fraction of the ideal time without a bubble (Megatron-LM), which may exceed 1.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import TYPE_CHECKING, Literal, TypeAlias

from shardwise._checks import as_float, integer, one_of, written
from shardwise.pipeline.costs import whole_schedule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shardwise.pipeline.schedules import Cell

Definition: TypeAlias = Literal["makespan", "ideal"]
_DEFINITIONS = ("makespan", "ideal")
_SMALLEST_EXPONENT = -1000  # of a Decimal target; the smallest float is 5e-324


def bubble_fraction_exact(
    num_stages: int, num_microbatches: int, definition: Definition = "makespan"
) -> Fraction:
    """Return `bubble_fraction` exactly: (P - 1)/(M + P - 1), or (P - 1)/M of the ideal time.

    Args:
        num_stages: stages P ≥ 1.
        num_microbatches: micro-batches M ≥ 1.
        definition: "makespan" (GPipe) or "ideal" (Megatron-LM).

    Returns:
        The fraction.

    Raises:
        TypeError: if P or M is no integer.
        ValueError: if P or M is below 1, or the definition unknown.

    Example:
        >>> bubble_fraction_exact(4, 8), bubble_fraction_exact(4, 8, "ideal")
        (Fraction(3, 11), Fraction(3, 8))

    Source: as `bubble_fraction`.
    """
    stages = integer("num_stages", num_stages, minimum=1)
    microbatches = integer("num_microbatches", num_microbatches, minimum=1)
    one_of("definition", definition, _DEFINITIONS)
    if definition == "ideal":
        return Fraction(stages - 1, microbatches)
    return Fraction(stages - 1, microbatches + stages - 1)


def bubble_fraction(
    num_stages: int, num_microbatches: int, definition: Definition = "makespan"
) -> float:
    """Return the share of time that a pipeline's stages idle: (P - 1)/(M + P - 1).

    That is the share of the makespan, which is (M + P - 1)(F + B) for equal stages whatever F and
    B cost, with no latency. As a share of the ideal time M·(F + B) it is (P - 1)/M.

    Args:
        num_stages: stages P ≥ 1.
        num_microbatches: micro-batches M ≥ 1.
        definition: "makespan" (GPipe) or "ideal" (Megatron-LM).

    Returns:
        The fraction, rounded once from the exact value.

    Raises:
        TypeError: if P or M is no integer.
        ValueError: if P or M is below 1, or the definition unknown.

    Example:
        >>> round(bubble_fraction(4, 8), 4), bubble_fraction(4, 8, "ideal")
        (0.2727, 0.375)

    Source: Huang et al., "GPipe", arXiv:1811.06965, section 2.3; Narayanan et al., "Efficient
    Large-Scale Language Model Training", arXiv:2104.04473, section 2.2.1.
    """
    exact = bubble_fraction_exact(num_stages, num_microbatches, definition)
    return as_float(exact, "use bubble_fraction_exact")


def schedule_bubble_fraction(cells: Iterable[Cell], definition: Definition = "makespan") -> float:
    """Return the share of time that the stages of a given schedule idle, also of an uneven one.

    With T the makespan and W the sum of all cells' durations: (P·T - W)/(P·T) of the makespan, or
    (P·T - W)/W of the ideal time.

    Args:
        cells: cells of a whole schedule.
        definition: "makespan" or "ideal".

    Returns:
        The fraction; `bubble_fraction` where stages are equal and there is no latency.

    Raises:
        TypeError: if `cells` holds something else.
        ValueError: if the cells are no valid whole schedule, none takes time, or the definition is
            unknown.

    Example:
        >>> from shardwise.pipeline.schedules import pipeline_schedule
        >>> cells = pipeline_schedule(8, 32, "1f1b", backward_cost=2, latency=0.25)
        >>> round(schedule_bubble_fraction(cells), 4), round(bubble_fraction(8, 32), 4)
        (0.2836, 0.1795)

    Source: the two definitions of `bubble_fraction`, counted.
    """
    one_of("definition", definition, _DEFINITIONS)
    ordered, num_stages, _ = whole_schedule(cells)
    available = num_stages * Fraction(ordered[-1].end)
    worked = sum((Fraction(cell.end) - Fraction(cell.start) for cell in ordered), Fraction(0))
    if worked == 0:
        raise ValueError("no cell takes any time: a share of nothing is no number")
    whole = available if definition == "makespan" else worked
    return as_float((available - worked) / whole, "give the costs in one unit")


def _target_as_written(target: float | Decimal | Fraction) -> Fraction:
    """Return the target as the decimal number that was written, or say why it is none in (0, 1]."""
    if isinstance(target, bool) or not isinstance(target, (Real, Decimal)):
        raise TypeError(
            f"target={written(target)} must be a number, not {type(target).__name__}: "
            "give a float, Decimal or Fraction"
        )
    # Decimals are asked first, as their NaNs raise when they are compared.
    if (isinstance(target, Decimal) and target.is_nan()) or not 0 < target <= 1:
        raise ValueError(
            f"target={written(target)} must be above 0, which no pipeline of several stages "
            "reaches, and at most 1"
        )
    if isinstance(target, Rational):
        return Fraction(int(target.numerator), int(target.denominator))
    if isinstance(target, Decimal) and target.adjusted() < _SMALLEST_EXPONENT:
        raise ValueError(
            f"target={written(target)} is too small for any pipeline: give at least 1E-1000"
        )
    return Fraction(str(target))


def microbatches_for_bubble(num_stages: int, target: float | Decimal | Fraction) -> int:
    """Return the fewest micro-batches at which the bubble is at most `target` of the makespan.

    The smallest M ≥ 1 with (P - 1)/(M + P - 1) ≤ t is max(1, ⌈(P - 1)(1 - t)/t⌉). It is computed
    exactly for the decimal that was written: 0.1 means 1/10, not the nearest float, which is a
    little more and would give one too few or too many elsewhere.

    Args:
        num_stages: stages P ≥ 1.
        target: t in (0, 1]; a float, Decimal or Fraction.

    Returns:
        M as an int.

    Raises:
        TypeError: if P is no integer or t no number.
        ValueError: if P < 1 or t is outside (0, 1].

    Example:
        >>> microbatches_for_bubble(4, 0.1), microbatches_for_bubble(16, 0.05)
        (27, 285)

    Source: Huang et al., "GPipe", arXiv:1811.06965, section 2.3, solved for M.
    """
    stages = integer("num_stages", num_stages, minimum=1)
    exact = _target_as_written(target)
    return max(1, -(-(stages - 1) * (1 - exact) // exact))
