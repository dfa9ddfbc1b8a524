"""Hidden checks of exercise 3: the gradient of a batch that is worked through in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from shardwise_grading import Outcome, Result, World, judge
from shardwise_grading.tensors import draw, rounding, wrong_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LOCKED = (
    "shardwise.data_parallel.accumulate_gradients",
    "shardwise.data_parallel._linear_model.mean_squared_error_gradient",
    "shardwise.distributed.data_parallel_gradients",
    "shardwise.distributed.single_device_gradient",
    "shardwise.distributed.weighted_data_parallel_gradients",
    "shardwise.pipeline.run_schedule",
)
SECONDS = 2.5

OUT, IN = 2, 3


class Case(NamedTuple):
    """Inputs that are drawn from the seed: W (OUT, IN), and micro-batches of these sizes."""

    sizes: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    strided: bool = False
    trained: bool = False

    def __str__(self) -> str:
        """Write the call for a message."""
        dtype = str(self.dtype).removeprefix("torch.")
        layout = "non-contiguous " if self.strided else ""
        state = " with requires_grad and a .grad" if self.trained else ""
        rows = ", ".join(map(str, self.sizes)) or "no"
        return f"accumulate({layout}{dtype} W {OUT, IN}{state}, micro-batches of {rows} rows)"

    def inputs(self, world: World) -> tuple[torch.Tensor, list[torch.Tensor], list[torch.Tensor]]:
        """Draw W, xs and ys; strided ones are every second column, transposed."""
        rng = world.random(str(self))

        def matrix(rows: int, columns: int) -> torch.Tensor:
            if self.strided:
                return draw(rng, (columns, 2 * rows), self.dtype)[:, ::2].T
            return draw(rng, (rows, columns), self.dtype)

        weight = matrix(OUT, IN).requires_grad_(self.trained)
        if self.trained:
            weight.grad = draw(rng, (OUT, IN), self.dtype)
        xs = [matrix(size, IN) for size in self.sizes]
        return weight, xs, [matrix(size, OUT) for size in self.sizes]


def equal(solution: Callable[..., object], world: World) -> Iterator[Result]:
    """Seven points for micro-batches of one size."""
    rng = world.random("equal")
    size = rng.randrange(5, 9)
    plain = [Case((b,) * m) for b, m in ((2, 2), (4, 3), (size, 8))]
    small = [Case((1,)), Case((1, 1)), Case((5,)), Case((1,) * size)]
    double = [Case((3, 3), torch.float64), Case((size,) * 3, torch.float64)]
    strided = [Case((2, 2), strided=True), Case((4, 4, 4), torch.float64, strided=True)]
    trained = [Case((2, 2), trained=True), Case((4, 4, 4), trained=True)]
    several = [Case((b,) * m) for b, m in ((3, 2), (4, 3), (3, 8))]
    run = _Run(solution, world)
    properties = [
        ("equals the gradient of the whole batch", 1, map(run.values, plain)),
        ("one micro-batch, and micro-batches of one row", 1, map(run.values, small)),
        (
            "any dtype and layout in memory; a W with a gradient; a second call",
            1,
            map(run.values, [*double, *strided, *trained, *trained]),
        ),
        (
            "no matrix product gets more rows than a micro-batch has",
            2,
            map(run.rows, several),
        ),
        (
            "W, its .grad and the micro-batches stay as they were",
            1,
            map(run.untouched, [*plain, *trained]),
        ),
        (
            "ValueError for no micro-batches or lists of two lengths, and for nothing else",
            1,
            (run.refused(*lengths) for lengths in ((0, 0), (1, 0), (2, 1), (1, 2), (3, 2))),
        ),
    ]
    return judge(properties)


def unequal(solution: Callable[..., object], world: World) -> Iterator[Result]:
    """Three points for micro-batches of several sizes."""
    rng = world.random("unequal")
    size = rng.randrange(5, 12)
    cases = [Case(sizes) for sizes in ((1, 2), (2, 1), (4, 4, 2), (1, 3, 8), (size, 1, 1, size))]
    large = [Case(sizes) for sizes in ((3, 4), (5, 1, 2), (1, 3, 8))]
    run = _Run(solution, world)
    properties = [
        ("micro-batches of several sizes equal the whole batch", 2, map(run.values, cases)),
        ("no matrix product gets more rows than the largest has", 1, map(run.rows, large)),
    ]
    return judge(properties)


CHECKS = {"equal": equal, "unequal": unequal}


class _Run:
    """One solution, asked case by case; each method returns a message, or nothing."""

    def __init__(self, solution: Callable[..., object], world: World) -> None:
        self.solution, self.world = solution, world

    def call(self, case: Case) -> Outcome:
        return self.world.call(self.solution, *case.inputs(self.world))

    def values(self, case: Case) -> str:
        outcome = self.call(case)
        if outcome.error:
            return f"{case} {outcome.failure}; expected a tensor"
        message = wrong_tensor("result", outcome.value, *_exact(case, self.world), case.dtype)
        return message and f"{case}: {message}"

    def rows(self, case: Case) -> str:
        outcome = self.call(case)
        most = max(case.sizes)  # at least IN, so that W itself is never counted as too many
        if outcome.error or type(outcome.value) is not torch.Tensor:
            return f"{case} {outcome.deed}; expected a tensor"
        seen = outcome.observed.product_rows
        exact = _exact(case, self.world)
        # A right gradient may come without any product; a wrong one shows nothing about them.
        if not seen and wrong_tensor("result", outcome.value, *exact, case.dtype):
            return f"{case} computed no matrix product, and its result is wrong"
        if seen > most:
            return f"{case}: a matrix product got {seen} rows; expected at most {most}"
        return ""

    def untouched(self, case: Case) -> str:
        outcome = self.call(case)
        if outcome.error or type(outcome.value) is not torch.Tensor:
            return f"{case} {outcome.deed}; expected a tensor"
        changes = outcome.observed.changes("W", "xs", "ys")
        return changes and f"{case} {changes}"

    def refused(self, num_xs: int, num_ys: int) -> str:
        accepted = Case((2, 2, 2))
        weight, xs, ys = accepted.inputs(self.world)
        outcome = self.world.call(self.solution, weight, xs, ys)
        if "ValueError" in outcome.kinds:
            return f"{accepted} {outcome.failure}; expected a tensor"
        outcome = self.world.call(self.solution, weight, xs[:num_xs], ys[:num_ys])
        return outcome.instead_of("ValueError", f"accumulate(W, {num_xs} xs, {num_ys} ys)")


def _exact(case: Case, world: World) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradient of the whole batch in float64, 2/(B out) (x Wᵀ - y)ᵀ x, and its rounding."""
    weight, xs, ys = case.inputs(world)
    w, x, y = (t.detach().double() for t in (weight, torch.cat(xs), torch.cat(ys)))
    scale = 2 / y.numel()
    magnitude = scale * (x.abs() @ w.abs().T + y.abs()).T @ x.abs()
    # A dot product in x Wᵀ, one in (…)ᵀ x, the sum over micro-batches, and a few factors.
    terms = IN + len(x) + len(xs) + 8
    return scale * (x @ w.T - y).T @ x, rounding(case.dtype, terms, magnitude)
