"""Exercise 2: mistakes that somebody could make, and right solutions written differently."""
# ruff: noqa: ARG005  (a mutant may well ignore an argument)

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import torch

from shardwise.memory import (
    training_memory_bytes,
    zero_memory_breakdown,
    zero_memory_per_device,
)
from shardwise.memory import zero_memory_per_device_exact as under_another_name
from shardwise.memory.recipes import RECIPES


def refuse(psi, n):
    if psi < 0 or n < 1:
        raise ValueError("a model has 0 parameters or more, and at least 1 device")


def refusing(formula):
    """A formula with the right error behaviour, so that only the formula can be wrong."""

    def stage2_bytes(psi, n):
        refuse(psi, n)
        return formula(psi, n)

    return stage2_bytes


def right(psi, n):
    return 2 * psi + 14 * psi / n


class EqualsEverything:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def __float__(self):
        return 16.0


class FloatThatLies(float):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


class NegativeModelError(ValueError):
    """A student may derive from what the specification asks for."""


def as_float32(psi, n):
    return float(np.float32(right(psi, n)))


def swallows_errors(psi, n):
    try:
        return right(psi, n)
    except ZeroDivisionError:
        return 0


def calls_itself_for_ever(psi, n):
    return calls_itself_for_ever(psi, n)


def leaves(psi, n):
    raise SystemExit(0)


MUTANTS = {
    # which state is cut
    "stage 0: nothing is": refusing(lambda psi, n: 16 * psi),
    "stage 1: gradients stay whole": refusing(lambda psi, n: 4 * psi + 12 * psi / n),
    "stage 3: weights are, too": refusing(lambda psi, n: 16 * psi / n),
    "only gradients are": refusing(lambda psi, n: 14 * psi + 2 * psi / n),
    "master copy stays whole with the weights": refusing(lambda psi, n: 6 * psi + 10 * psi / n),
    "weights and gradients are, the optimizer is not": refusing(
        lambda psi, n: 12 * psi + 4 * psi / n
    ),
    "forgets what stays whole": refusing(lambda psi, n: 14 * psi / n),
    # how many bytes
    "no master copy": refusing(lambda psi, n: 2 * psi + 10 * psi / n),
    "gradients in 32 bits": refusing(lambda psi, n: 2 * psi + 16 * psi / n),
    "everything in 32 bits": refusing(lambda psi, n: 4 * psi + 16 * psi / n),
    "counts numbers, not bytes": refusing(lambda psi, n: psi + 4 * psi / n),
    "gigabytes": refusing(lambda psi, n: right(psi, n) / 1e9),
    "gibibytes": refusing(lambda psi, n: right(psi, n) / 2**30),
    "bits": refusing(lambda psi, n: 8 * right(psi, n)),
    # how n enters
    "the whole group's bytes": refusing(lambda psi, n: n * right(psi, n)),
    "shares with the n - 1 others": refusing(lambda psi, n: 2 * psi + 14 * psi / max(n - 1, 1)),
    "8 times less, from the headline": refusing(lambda psi, n: 16 * psi / min(n, 8)),
    "saving stops at 1024 devices": refusing(lambda psi, n: right(psi, min(n, 1024))),
    "takes the limit for the value": refusing(lambda psi, n: 16 * psi if n == 1 else 2 * psi),
    "parentheses in the wrong place": refusing(lambda psi, n: 2 * (psi + 14 * psi) / n),
    "forgets psi in one term": refusing(lambda psi, n: 2 + 14 * psi / n),
    "refuses a single device": refusing(lambda psi, n: right(psi, n) if n > 1 else refuse(-1, 1)),
    "refuses an empty model": refusing(lambda psi, n: right(psi, n) if psi else refuse(-1, 1)),
    # numbers
    "whole bytes, rounded down": refusing(lambda psi, n: 2 * psi + 14 * psi // n),
    "whole bytes, rounded up": refusing(lambda psi, n: 2 * psi - (-14 * psi // n)),
    "whole bytes, rounded": refusing(lambda psi, n: round(right(psi, n))),
    "two decimals": refusing(lambda psi, n: round(right(psi, n), 2)),
    "float32": refusing(as_float32),
    "six digits": refusing(lambda psi, n: float(f"{right(psi, n):.6g}")),
    "adds the share to a large sum and takes it off": refusing(
        lambda psi, n: 16 * psi - 14 * psi * (1 - 1 / n)
    ),
    "an empty model costs a byte": refusing(lambda psi, n: right(psi, n) or 1),
    "infinity": refusing(lambda psi, n: math.inf),
    "not a number": refusing(lambda psi, n: math.nan),
    "more than a float can be": refusing(lambda psi, n: 10**5000),
    "a fraction of more": refusing(lambda psi, n: Fraction(10**5000, 3)),
    "less than a float can be": refusing(lambda psi, n: Fraction(1, 10**5000)),
    # types
    "text": refusing(lambda psi, n: f"{right(psi, n)} bytes"),
    "parts": refusing(lambda psi, n: (2 * psi, 14 * psi / n)),
    "numpy": refusing(lambda psi, n: np.float64(right(psi, n))),
    "tensor": refusing(lambda psi, n: torch.tensor(right(psi, n), dtype=torch.float64)),
    "complex": refusing(lambda psi, n: complex(right(psi, n))),
    "true": refusing(lambda psi, n: True),
    "nothing": lambda psi, n: None,
    "equals everything": refusing(lambda psi, n: EqualsEverything()),
    "a float that lies": refusing(lambda psi, n: FloatThatLies(right(psi, n))),
    # errors
    "lets n = 0 divide": right,
    "swallows n = 0": swallows_errors,
    "clamps psi": lambda psi, n: right(max(psi, 0), max(n, 1)),
    "refuses psi only": lambda psi, n: right(psi, n) if psi >= 0 else refuse(psi, n),
    "refuses n only": lambda psi, n: right(psi, n) if n >= 1 else refuse(psi, n),
    "recursion": calls_itself_for_ever,
    "leaves": leaves,
    # somebody else's answer
    "asks the library": lambda psi, n: zero_memory_per_device(psi, n, 2),
    "asks under another name": lambda psi, n: float(under_another_name(psi, n, 2)),
    "asks for the parts": refusing(lambda psi, n: zero_memory_breakdown(psi, n, 2)["total"]),
}


def in_fractions(psi, n):
    refuse(psi, n)
    return 2 * psi + Fraction(14 * psi, n)


def over_one_denominator(psi, n):
    refuse(psi, n)
    return (2 * psi * n + 14 * psi) / n


def per_parameter(psi, n):
    refuse(psi, n)
    return psi * (2 + 14 / n)


def tensor_by_tensor(psi, n):
    if not psi >= 0:
        raise NegativeModelError(psi)
    if not n > 0:
        raise ValueError(n)
    total = Fraction(0)
    for size, cut in ((2, False), (2, True), (4, True), (4, True), (4, True)):
        total += Fraction(size * psi, n if cut else 1)
    return total.numerator if total.denominator == 1 else float(total)


def stage_3_and_the_rest_of_the_weights(psi, n):
    refuse(psi, n)
    return (16 * psi + 2 * psi * (n - 1)) / n


def from_the_budget_of_one_device(psi, n):
    refuse(psi, n)
    budget = training_memory_bytes(psi)
    return budget["params"] + (budget["grads"] + budget["optimizer"]) / n


def from_the_recipe(psi, n):
    refuse(psi, n)
    recipe = RECIPES["2+2+12"]
    return psi * (recipe.params * n + recipe.grads + recipe.optimizer) / n


def chatty(psi, n):
    refuse(psi, n)
    print("computing", psi, n)
    return right(psi, n)


CORRECT = {
    function.__name__: function
    for function in (
        refusing(right),
        in_fractions,
        over_one_denominator,
        per_parameter,
        tensor_by_tensor,
        stage_3_and_the_rest_of_the_weights,
        from_the_budget_of_one_device,
        from_the_recipe,
        chatty,
    )
}

TABLE = {
    "weights": "replicated",
    "gradients": "partitioned",
    "master copy": "partitioned",
    "momentum": "partitioned",
    "variance": "partitioned",
}


class WordThatLies(str):
    __slots__ = ()

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


TABLE_MUTANTS = {
    "stage 0": dict.fromkeys(TABLE, "replicated"),
    "stage 1": TABLE | {"gradients": "replicated"},
    "stage 3": TABLE | {"weights": "partitioned"},
    "master copy is a weight": TABLE | {"master copy": "replicated"},
    "the wrong way round": {
        row: "replicated" if word == "partitioned" else "partitioned" for row, word in TABLE.items()
    },
    "a row is missing": {row: word for row, word in TABLE.items() if row != "variance"},
    "untouched": {},
    "booleans": {row: word == "partitioned" for row, word in TABLE.items()},
    "another word": TABLE | {"momentum": "sharded"},
    "a list": list(TABLE.items()),
    "nothing": None,
    "words that lie": dict.fromkeys(TABLE, WordThatLies("x")),
    "a table that lies": type("Lies", (dict,), {"get": lambda self, row: TABLE[row]})(),
}

POINTS = {"stage2_bytes": 8, "partition_table": 2}
WRONG = {"stage2_bytes": MUTANTS, "partition_table": TABLE_MUTANTS}
RIGHT = {
    "stage2_bytes": CORRECT,
    "partition_table": {
        "as asked": TABLE,
        "loosely written": {row: f" {word.title()} " for row, word in TABLE.items()},
    },
}
