"""Hidden checks of exercise 2: what a device holds at ZeRO stage 2."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from shardwise_grading import Outcome, Result, World, judge, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LOCKED = (
    "shardwise.memory.zero_memory_per_device",
    "shardwise.memory.zero_memory_per_device_exact",
    "shardwise.memory.zero_memory_breakdown",
    "shardwise.memory.zero_memory_breakdown_exact",
    "shardwise.memory.fewest_devices",
)

ULPS = 2
HUGE = 10**15 + 1
LARGEST = 10**300  # the specification's bound; 16 bytes for each are still a float
KINDS = (int, float, Fraction)
STATE_ON_16_BITS = {"weights": "replicated", "gradients": "partitioned"}
STATE_ON_32_BITS = {
    "master copy": "partitioned",
    "momentum": "partitioned",
    "variance": "partitioned",
}

Pair = tuple[int, int]


def stage2_bytes(solution: Callable[..., object], world: World) -> Iterator[Result]:
    """Eight points for the function."""
    rng = world.random("stage2_bytes")
    drawn = [rng.randrange(1, 10 ** rng.randrange(2, 13)) for _ in range(6)]
    odd = [2 * rng.randrange(10**3, 10**6) + 1 for _ in range(3)]
    parameters = [1, 2, 3, 1000, 7_500_000_000, *drawn]
    devices = [2, 3, 4, 7, 8, 64, 1000, 1024, *(rng.randrange(2, 1024) for _ in range(4))]
    properties: list[tuple[str, int, Iterable[Pair]]] = [
        ("a single device holds all 16 bytes of each parameter", 1, [(p, 1) for p in parameters]),
        ("a model without parameters needs no memory", 1, [(0, n) for n in devices]),
        (
            "a share that is no whole number of bytes is not rounded",
            1,
            [(p, n) for p in [1, *odd] for n in (4, 16, 32)],
        ),
        (
            "equals the exact value for every model and number of devices",
            2,
            [(p, n) for p in parameters for n in devices],
        ),
        (
            "approaches 2 bytes for each parameter as devices are added",
            1,
            [(p, n) for p in parameters for n in (10**5, 10**9, 10**12)],
        ),
        (
            "no parameter is lost when there are very many",
            1,
            [(psi, n) for psi in (HUGE, LARGEST) for n in (2, 57, 64, rng.randrange(3, 1000))],
        ),
    ]
    for name, points, pairs in properties:
        messages = (_wrong(world.call(solution, *pair), pair) for pair in sorted(set(pairs)))
        yield from judge([(name, points, messages)])
    refused = [(-1, 1), (5, 0), (5, -2), (-drawn[0], 8), (drawn[1], -drawn[2])]
    messages = (
        world.call(solution, *pair).instead_of("ValueError", f"stage2_bytes{pair}")
        for pair in refused
    )
    yield from judge([("ValueError for a negative psi and for n below 1", 1, messages)])


def partition_table(solution: object, world: World) -> Iterator[Result]:  # noqa: ARG001
    """Two points for the table; it is data, so there is nothing to call."""
    for name, rows in (
        ("what the passes read and write, in 16 bits", STATE_ON_16_BITS),
        ("what only the optimizer reads, in 32 bits", STATE_ON_32_BITS),
    ):
        messages = (_wrong_row(solution, row, expected) for row, expected in rows.items())
        yield from judge([(name, 1, messages)])


CHECKS = {"stage2_bytes": stage2_bytes, "partition_table": partition_table}


def _wrong(outcome: Outcome, pair: Pair) -> str:
    """Say how a result differs from 2 psi + 14 psi / n; inputs come smallest first."""
    psi, n = pair
    exact = 2 * psi + Fraction(14 * psi, n)
    call = f"stage2_bytes({psi}, {n})"
    if outcome.error:
        return f"{call} {outcome.failure}; expected {show(exact)}"
    value = outcome.value
    if not isinstance(value, KINDS) or type(value) is bool:
        return f"{call} returned {show(value)}; expected an int, float or Fraction"
    # Only floats can be infinite; an int or a Fraction may be too large to become one.
    infinite = type(value) is float and not math.isfinite(value)
    if infinite or abs(Fraction(value) - exact) > ULPS * Fraction(math.ulp(float(exact))):
        return f"{call} returned {show(value)}; expected {show(exact)}"
    return ""


def _wrong_row(table: object, row: str, expected: str) -> str:
    """Say how a row of the table differs, without giving away the right word."""
    if type(table) is not dict:
        return f"partition is {show(table)}; expected a dict with a word for each row"
    word = table.get(row)
    if type(word) is not str or word.strip().lower() not in {"replicated", "partitioned"}:
        return f'partition["{row}"] is {show(word)}; expected "replicated" or "partitioned"'
    if word.strip().lower() != expected:
        return f'partition["{row}"] is "{word}"; at stage 2 it is not'
    return ""
