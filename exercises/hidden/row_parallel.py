"""Hidden checks of exercise 4: a product with a matrix cut by rows, and one all-reduce."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from shardwise_grading import Outcome, Result, World, judge
from shardwise_grading.all_reduce import POISON, POISONED, RING, not_one_all_reduce, poisoned
from shardwise_grading.tensors import draw, is_dense, rounding, what, wrong_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COLLECTIVES = (RING,)
LOCKED = (
    "shardwise.tensor_parallel.row_parallel_forward",
    "shardwise.tensor_parallel.linear.row_products",
    "shardwise.tensor_parallel.linear.row_sum",
    "shardwise.tensor_parallel.megatron_mlp",
)
SECONDS = 2.5

COLUMNS = 4


class Case(NamedTuple):
    """Inputs that are drawn from the seed: y (leading…, k) and b (k, COLUMNS) on n devices."""

    k: int
    n: int
    leading: tuple[int, ...] = (3,)
    dtype: torch.dtype = torch.float32
    strided: bool = False

    def __str__(self) -> str:
        """Write the call for a message."""
        kind = "non-contiguous " if self.strided else ""
        dtype = str(self.dtype).removeprefix("torch.")
        y, b = (*self.leading, self.k), (self.k, COLUMNS)
        return f"my_row_parallel({kind}{dtype} y {y}, b {b}, n={self.n})"

    def inputs(self, world: World) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw y and b; strided ones are transposed, and every second column."""
        rng = world.random(str(self))
        y, b = (*self.leading, self.k), (self.k, COLUMNS)
        if not self.strided:
            return draw(rng, y, self.dtype), draw(rng, b, self.dtype)
        wide = draw(rng, (*self.leading, 2 * self.k), self.dtype)[..., ::2]
        return wide, draw(rng, b[::-1], self.dtype).T


def my_row_parallel(solution: Callable[..., object], world: World) -> Iterator[Result]:
    """Ten points for the function."""
    rng = world.random("my_row_parallel")
    odd = 2 * rng.randrange(6, 16) + 1
    even = [Case(k, n) for k, n in ((2, 1), (2, 2), (8, 4), (64, 8))]
    uneven = [Case(k, n) for k, n in ((3, 2), (5, 4), (7, 7), (9, 6), (odd, 2), (odd, odd))]
    kinds = [
        Case(6, 3, leading=()),
        Case(4, 3, leading=(1,), dtype=torch.float64),
        Case(5, 4, leading=(2, 2)),
        Case(7, 3, leading=(2, 1, 3), dtype=torch.bfloat16),
        Case(6, 4, strided=True),
        Case(6, 4, leading=(2, 3), strided=True),
    ]
    cuts = [Case(k, n, (k,)) for k, n in ((3, 2), (5, 4), (8, 4), (9, 6), (odd, 4))]
    counted = [Case(3, 2), Case(5, 4), Case(6, 3, (2, 2), torch.bfloat16)]
    run = _Run(solution, world)
    properties = [
        ("equals y @ b where n divides k", 1, map(run.values, even)),
        ("equals y @ b where n does not divide k, and for n = k", 1, map(run.values, uneven)),
        (
            "any leading dimensions, dtype and layout in memory",
            1,
            map(run.values, kinds),
        ),
        ("each device has its share of the rows, and none is empty", 2, map(run.cut, cuts)),
        (
            "one all-reduce, with a partial product of the result's bytes from each device",
            1,
            map(run.ledger, counted),
        ),
        (
            "the result is what the all-reduce gave",
            2,
            map(run.poisoned, [*even[1:], *uneven[:3]]),
        ),
        ("y and b stay as they were", 1, map(run.memory, [*even, *kinds])),
        (
            "ValueError for n below 1 and above k, and for nothing else",
            1,
            (run.refused(*pair) for pair in ((2, 3), (2, 0), (2, -1), (odd, odd + 1), (5, 8))),
        ),
    ]
    return judge(properties)


CHECKS = {"my_row_parallel": my_row_parallel}


class _Run:
    """One solution, asked case by case; each method returns a message, or nothing."""

    def __init__(self, solution: Callable[..., object], world: World) -> None:
        self.solution, self.world = solution, world

    def call(self, case: Case) -> Outcome:
        return self.world.call(self.solution, *case.inputs(self.world), case.n)

    def values(self, case: Case, factor: int = 1) -> str:
        outcome = self.call(case)
        if outcome.error:
            return f"{case} {outcome.failure}; expected a tensor"
        y, b = (tensor.double() for tensor in case.inputs(self.world))
        # Each product is off by k roundings, and the sum of n of them by n more.
        tolerance = factor * rounding(case.dtype, case.k + case.n + 1, y.abs() @ b.abs())
        message = wrong_tensor("result", outcome.value, factor * (y @ b), tolerance, case.dtype)
        return message and f"{case}: {message}"

    def poisoned(self, case: Case) -> str:
        with poisoned(self.world):
            message = self.values(case, factor=POISON)
        return message and POISONED + message

    def cut(self, case: Case) -> str:
        """With y = 1, the partial product of a device shows which rows of b it has."""
        given: list[torch.Tensor] = []

        def keep(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
            given[:] = [tensor.detach().clone() for tensor in tensors]
            return [sum(given[1:], given[0]) for _ in given]

        _, b = case.inputs(self.world)
        with self.world.answering(RING, keep):
            outcome = self.world.call(self.solution, torch.eye(case.k), b, case.n)
        call = str(case).replace("float32 y", "identity y")
        if outcome.error:
            return f"{call} {outcome.failure}; expected a tensor"
        if len(given) != case.n:
            return f"{call} has partial products of {len(given)} devices; expected {case.n}"
        rows = list(torch.arange(case.k).tensor_split(case.n))
        for rank, (partial, share) in enumerate(zip(given, rows, strict=True)):
            expected = torch.zeros(case.k, COLUMNS)
            expected[share] = b[share]
            floats = is_dense(partial) and partial.is_floating_point()
            if not floats or partial.numel() != expected.numel():
                return f"{call}: device {rank} has {what(partial)}; expected {_span(share)}"
            if not torch.allclose(partial.reshape(expected.shape).float(), expected):
                return f"{call}: device {rank} has {_rows(partial)}; expected {_span(share)}"
        return ""

    def ledger(self, case: Case) -> str:
        y, b = case.inputs(self.world)
        num_bytes = case.n * (y @ b).numel() * y.element_size()
        return not_one_all_reduce(self.call(case), str(case), case.n, num_bytes)

    def memory(self, case: Case) -> str:
        outcome = self.call(case)
        if outcome.error or type(outcome.value) is not torch.Tensor:
            return f"{case} {outcome.deed}; expected a tensor"
        changes = outcome.observed.changes("y", "b")
        return changes and f"{case} {changes}"

    def refused(self, k: int, n: int) -> str:
        accepted = Case(k, 1)
        outcome = self.call(accepted)
        if "ValueError" in outcome.kinds:
            return f"{accepted} {outcome.failure}; expected a tensor"
        outcome = self.world.call(self.solution, *accepted.inputs(self.world), n)
        return outcome.instead_of("ValueError", str(Case(k, n)))


def _rows(partial: torch.Tensor) -> str:
    """Say which rows of b a device used, as its partial product tells."""
    used = partial.reshape(-1, COLUMNS).abs().amax(1) > 0
    return _span(used.nonzero().flatten())


def _span(rows: torch.Tensor) -> str:
    """Write row numbers, as a range where they are one.

    >>> _span(torch.arange(3, 6)), _span(torch.tensor([0, 4]))
    ('rows 3 to 5 of b', 'rows 0, 4 of b')
    """
    numbers = rows.tolist()
    if not numbers:
        return "no rows of b"
    if len(numbers) == 1:
        return f"row {numbers[0]} of b"
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"rows {numbers[0]} to {numbers[-1]} of b"
    return f"rows {', '.join(map(str, numbers[:12]))} of b"
