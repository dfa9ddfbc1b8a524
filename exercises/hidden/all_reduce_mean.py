"""Hidden checks of exercise 1: the mean of one tensor from each device, by one all-reduce."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from shardwise_grading import Outcome, Result, World, judge
from shardwise_grading.all_reduce import POISON, POISONED, RING, not_one_all_reduce, poisoned
from shardwise_grading.tensors import draw, is_dense, rounding, what, wrong_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COLLECTIVES = (RING,)
LOCKED = ("shardwise.data_parallel.bucketed_all_reduce",)
SECONDS = 2.5

FLOATS = (torch.float32, torch.float64, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.uint8)


class Case(NamedTuple):
    """Inputs that are drawn from the seed: n tensors of one shape."""

    n: int
    shape: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    strided: bool = False

    def __str__(self) -> str:
        """Write the call for a message."""
        kind = "non-contiguous tensors" if self.strided else "tensors"
        kind = kind[:-1] if self.n == 1 else kind
        dtype = str(self.dtype).removeprefix("torch.")
        return f"all_reduce_mean({self.n} {dtype} {kind} of shape {self.shape})"

    def inputs(self, world: World) -> list[torch.Tensor]:
        """Draw the tensors; strided ones are every second column, transposed."""
        rng = world.random(str(self))
        if not self.strided:
            return [draw(rng, self.shape, self.dtype) for _ in range(self.n)]
        rows, columns = self.shape
        return [draw(rng, (columns, 2 * rows), self.dtype)[:, ::2].T for _ in range(self.n)]


def all_reduce_mean(solution: Callable[..., object], world: World) -> Iterator[Result]:
    """Ten points for the function."""
    rng = world.random("all_reduce_mean")
    size = rng.randrange(17, 40)
    plain = [Case(n, (24,)) for n in (1, 2, 3, 8)]
    awkward = [
        *(Case(n, ()) for n in (1, 3)),
        *(Case(n, (0,)) for n in (1, 2)),
        *(Case(n, (k,)) for n in (2, 4, 8) for k in (3, size)),
        *(Case(n, shape) for n in (2, 5) for shape in ((3, 4), (2, 1, 3))),
        *(Case(n, (3, 5), strided=True) for n in (1, 4)),
    ]
    several = [Case(n, (k,)) for n in (2, 3, 8) for k in (1, 5, size)]
    dtypes = [Case(n, (size,), dtype) for n in (1, 2, 8) for dtype in FLOATS]
    run = _Run(solution, world)
    properties = [
        ("every device gets the mean", 1, map(run.values, plain)),
        (
            "any shape: 0-d, empty, 2-D, non-contiguous, not divisible",
            1,
            map(run.values, awkward),
        ),
        (
            "the result has the inputs' dtype, and is as exact as that allows",
            1,
            map(run.values, dtypes),
        ),
        ("all devices hold the same bits", 1, map(run.bits, several)),
        (
            "one all-reduce, with a tensor of the inputs' bytes from each device",
            2,
            map(run.ledger, [*several, Case(4, (size,), torch.bfloat16)]),
        ),
        ("the result is made from what the all-reduce gave", 2, map(run.poisoned, several)),
        (
            "inputs stay as they were, and no two tensors share memory",
            1,
            map(run.memory, [Case(1, (4,)), *several, Case(3, (2, 2), strided=True)]),
        ),
        (
            "TypeError for integers, and for nothing else",
            1,
            (run.refused(Case(n, (3,), dtype)) for n in (1, 2) for dtype in INTEGERS),
        ),
    ]
    return judge(properties)


CHECKS = {"all_reduce_mean": all_reduce_mean}


class _Run:
    """One solution, asked case by case; each method returns a message, or nothing."""

    def __init__(self, solution: Callable[..., object], world: World) -> None:
        self.solution, self.world = solution, world

    def call(self, case: Case) -> Outcome:
        return self.world.call(self.solution, case.inputs(self.world))

    def values(self, case: Case) -> str:
        return _wrong(self.call(case), case, case.inputs(self.world))

    def bits(self, case: Case) -> str:
        outcome = self.call(case)
        message = _no_list(outcome, case)
        if message:
            return message
        first, *others = (_bits(result) for result in outcome.value)
        for rank, bits in enumerate(others, start=1):
            if bits != first:
                return f"{case}: result[{rank}] has other bits than result[0]"
        return ""

    def ledger(self, case: Case) -> str:
        num_bytes = sum(t.numel() * t.element_size() for t in case.inputs(self.world))
        return not_one_all_reduce(self.call(case), str(case), case.n, num_bytes)

    def poisoned(self, case: Case) -> str:
        with poisoned(self.world):
            outcome = self.call(case)
        message = _wrong(outcome, case, [POISON * t for t in case.inputs(self.world)])
        return message and POISONED + message

    def memory(self, case: Case) -> str:
        outcome = self.call(case)
        message = _no_list(outcome, case)
        if message:
            return message
        changes = outcome.observed.changes("tensors")
        if changes:
            return f"{case} {changes}"
        for one, other in outcome.observed.shared:
            other_name = other.replace("args[0]", "tensors")
            return f"{case}: {one} shares its memory with {other_name}; expected its own"
        return ""

    def refused(self, case: Case) -> str:
        accepted = Case(case.n, case.shape)
        outcome = self.call(accepted)
        if "TypeError" in outcome.kinds:
            return f"{accepted} {outcome.deed}; expected a list"
        tensors = [torch.arange(case.shape[0]).to(case.dtype) for _ in range(case.n)]
        return self.world.call(self.solution, tensors).instead_of("TypeError", str(case))


def _wrong(outcome: Outcome, case: Case, inputs: list[torch.Tensor]) -> str:
    """Say how results differ from the mean of the inputs."""
    message = _no_list(outcome, case)
    if message:
        return message
    exact = torch.stack([tensor.double() for tensor in inputs])
    tolerance = rounding(case.dtype, case.n + 2, exact.abs().mean(0))
    for rank, result in enumerate(outcome.value):
        message = wrong_tensor(f"result[{rank}]", result, exact.mean(0), tolerance, case.dtype)
        if message:
            return f"{case}: {message}"
    return ""


def _no_list(outcome: Outcome, case: Case) -> str:
    """Say why there is no list of n tensors to look at."""
    if outcome.error:
        return f"{case} {outcome.failure}; expected a list"
    value = outcome.value
    if type(value) is not list:
        return f"{case} returned {what(value)}; expected a list"
    if len(value) != case.n:
        return f"{case} returned {len(value)} results; expected {case.n}, one for each device"
    for rank, result in enumerate(value):
        if not is_dense(result):
            return f"{case}: result[{rank}] is {what(result)}; expected a dense tensor on the CPU"
    return ""


def _bits(result: torch.Tensor) -> tuple[torch.dtype, list[int]]:
    flat = result.detach().reshape(-1).contiguous()
    return flat.dtype, flat.view(torch.uint8).tolist()
