"""Checks of rates, shares and flags that the planner's dataclasses and functions have in common."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, TypeVar

from shardwise._checks import amount, integer

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

LARGEST = 10**9
"""The largest size accepted: far above any model or cluster, and products of sizes stay floats."""

LARGEST_QUANTITY = 1e30
"""The largest rate or amount accepted, and 1 over the smallest rate: no result becomes infinite."""


def size(name: str, value: int) -> int:
    """Return `value` as an int from 1 to `LARGEST`, or say why it is none.

    >>> size("layers", 96)
    96
    """
    if type(value) is int and 1 <= value <= LARGEST:  # a search asks this a million times
        return value
    return integer(name, value, minimum=1, maximum=LARGEST)


def keep_sizes(owner: object, names: Sequence[str]) -> None:
    """Put ints in place of the sizes of a frozen dataclass: NumPy's integers would overflow.

    >>> from types import SimpleNamespace
    >>> keep_sizes(SimpleNamespace(layers=96), ["layers"])
    """
    for name in names:
        value = getattr(owner, name)
        whole = size(name, value)
        if whole is not value:
            object.__setattr__(owner, name, whole)


def quantity(name: str, value: float) -> float:
    """Return `value` as a float from 0 to `LARGEST_QUANTITY`, or say why it is none.

    >>> quantity("num_bytes", 10**9)
    1000000000.0
    """
    if type(value) is float and 0 <= value <= LARGEST_QUANTITY:  # as in `size`
        return value
    exact = amount(name, value)
    if exact > LARGEST_QUANTITY:
        shown = reprlib.repr(value)
        raise ValueError(f"{name}={shown} is out of range: give at most {LARGEST_QUANTITY:g}")
    return float(exact)


def positive(name: str, value: float) -> float:
    """Return `value` as a float above 0, or say why it is none.

    >>> positive("bandwidth", 25e9)
    25000000000.0
    """
    number = quantity(name, value)
    if number == 0:
        raise ValueError(f"{name}={value} must be above 0: nothing could be done at that rate")
    if number < 1 / LARGEST_QUANTITY:
        raise ValueError(f"{name}={value} is out of range: give at least {1 / LARGEST_QUANTITY:g}")
    return number


def share(name: str, value: float) -> float:
    """Return `value` as a float from 0 to 1, or say why it is none.

    >>> share("overlap", 1)
    1.0
    """
    number = quantity(name, value)
    if number > 1:
        raise ValueError(f"{name}={value} is a share: give a number from 0 to 1")
    return number


def instance(name: str, value: object, kind: type) -> None:
    """Say what `value` should have been if it is no `kind`.

    >>> instance("layers", 96, int)
    """
    if not isinstance(value, kind):
        raise TypeError(
            f"{name}={reprlib.repr(value)} must be a {kind.__name__}, not {type(value).__name__}"
        )


def divisors(number: int) -> list[int]:
    """Return the divisors of a number of at least 1 in increasing order.

    >>> divisors(12)
    [1, 2, 3, 4, 6, 12]
    """
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return sorted({*small, *(number // d for d in small)})


def collection(name: str, values: Sequence[T]) -> Sequence[T]:
    """Return a tuple that holds something, or say that it is none.

    >>> collection("chunks", (1, 2))
    (1, 2)
    """
    if not isinstance(values, tuple):
        raise TypeError(f"{name}={reprlib.repr(values)} must be a tuple, as (1, 2)")
    if not values:
        raise ValueError(f"{name}=() leaves nothing to choose from: give at least one value")
    return values
