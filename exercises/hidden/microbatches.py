"""Hidden checks of exercise 5: the fewest micro-batches at which a bubble is small enough."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from shardwise_grading import Outcome, Result, World, judge, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LOCKED = ("shardwise.pipeline.microbatches_for_bubble",)

POWERS_OF_TWO = (0.5, 0.25, 0.125)  # a float is exactly what is written
WORD = 64  # bits of a number that is shown with its digits
TINY = (1e-12, 1e-100, 5e-324)
BEYOND = (0, 0.0, -0.1, 1.5, 2, float("inf"), float("-inf"), float("nan"))

Pair = tuple[int, float]


def min_microbatches(solution: Callable[..., object], world: World) -> Iterator[Result]:
    """Ten points for the function."""
    rng = world.random("min_microbatches")
    decimals = [count / 100 for count in range(1, 100)]
    drawn = [rng.randrange(1, 10**6) / 10**6 for _ in range(20)]
    stages = [2, 3, 4, 7, 8, 16, 64, rng.randrange(65, 1000)]
    # The float nearest to a bubble that some M reaches is a little above it, or a little below.
    next_to = [(p, (p - 1) / (m + p - 1)) for p in (2, 3, 4, 8, 60) for m in range(1, 40)]
    properties = [
        ("a single stage has no bubble", 1, [(1, t) for t in (1e-9, 0.1, 0.5, 1.0)]),
        ("a target of 1 is met by one micro-batch", 1, [(p, t) for p in stages for t in (1, 1.0)]),
        ("targets that a float holds exactly", 2, [(p, t) for p in stages for t in POWERS_OF_TWO]),
        ("decimal targets, as they are written", 2, [(p, t) for p in stages for t in decimals]),
        (
            "targets of many digits, right next to a bubble",
            1,
            [*next_to, *((p, t) for p in stages for t in drawn)],
        ),
        (
            "tiny targets and huge pipelines, without a search",
            2,
            [*((p, t) for p in (2, 8) for t in TINY), (10**18, 0.3), (10**30 + 1, 0.07)],
        ),
    ]
    for name, points, pairs in properties:
        messages = (_wrong(world.call(solution, *pair), pair) for pair in pairs)
        yield from judge([(name, points, messages)])
    refused: list[Pair] = [(0, 0.5), (-3, 0.5), *((4, target) for target in BEYOND)]
    messages = (_accepted(world, solution, pair) for pair in refused)
    name = "ValueError for p below 1 and a target outside (0, 1], and for nothing else"
    yield from judge([(name, 1, messages)])


CHECKS = {"min_microbatches": min_microbatches}


def _fewest(p: int, target: float) -> int:
    """Invert (p - 1)/(M + p - 1) <= t exactly, with t the decimal number as written."""
    t = Fraction(repr(target))
    return max(1, -(-(p - 1) * (1 - t) // t))


def _wrong(outcome: Outcome, pair: Pair) -> str:
    """Say how a result differs from the fewest micro-batches."""
    call = f"min_microbatches{pair}"
    fewest = _fewest(*pair)
    if outcome.error or type(outcome.value) is not int:
        kind = "the int " if fewest.bit_length() <= WORD else ""
        return f"{call} {outcome.deed}; expected {kind}{show(fewest)}"
    got = outcome.value
    if got == fewest:
        return ""
    return f"{call} returned {show(got)}; expected {show(fewest)}{_why(*pair, got, fewest)}"


def _why(p: int, target: float, got: int, fewest: int) -> str:
    """Say what the bubbles are, or, where nobody could read them, how far off the number is."""
    if max(p, got, fewest).bit_length() > WORD:
        return f"; it is too {'large' if got > fewest else 'small'} by {show(abs(got - fewest))}"
    if got > fewest:
        return f", whose bubble is {Fraction(p - 1, fewest + p - 1)}"
    if got < 1:
        return ""
    return f", as {got} have a bubble of {Fraction(p - 1, got + p - 1)}, above {target}"


def _accepted(world: World, solution: Callable[..., object], pair: Pair) -> str:
    outcome = world.call(solution, 4, 0.5)
    if "ValueError" in outcome.kinds:
        return f"min_microbatches(4, 0.5) {outcome.failure}; expected the int 3"
    call = f"min_microbatches{pair}"
    return world.call(solution, *pair).instead_of("ValueError", call)
