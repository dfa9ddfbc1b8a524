"""Argument checks that every module shares: an error names the argument, its value and a remedy."""

from __future__ import annotations

import math
import reprlib
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


def written(value: object) -> str:
    """Return `value` as an error message shows it: in short, also where Python refuses to write it.

    >>> written(10**6), written(10**60), written(10**6000)
    ('1000000', '100000000000000000...0000000000000000000', '(of over 4300 digits)')
    """
    try:
        return reprlib.repr(value)
    except ValueError:
        return "(of over 4300 digits)"


def integer(name: str, value: int, *, minimum: int = 0, maximum: int | None = None) -> int:
    """Return `value` as an int, or say why it is none between `minimum` and `maximum`.

    >>> integer("num_devices", 4, minimum=1)
    4
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}={written(value)} must be an int, not {type(value).__name__}")
    number = int(value)
    if number < minimum or (maximum is not None and number > maximum):
        allowed = f"at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
        raise ValueError(f"{name}={written(number)} is out of range: give an integer {allowed}")
    return number


def amount(name: str, value: float | Fraction) -> Fraction:
    """Return `value` as an exact Fraction, or say why it is no finite number of at least 0.

    >>> amount("gpu_bytes", 0.5)
    Fraction(1, 2)
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}={written(value)} must be a number, not {type(value).__name__}")
    if isinstance(value, Rational):
        exact = Fraction(int(value.numerator), int(value.denominator))
    elif math.isfinite(value):
        exact = Fraction(float(value))
    else:
        raise ValueError(f"{name}={written(value)} must be finite")
    if exact < 0:
        raise ValueError(f"{name}={written(value)} must not be negative")
    return exact


def whole(name: str, value: float | Fraction) -> int:
    """Return `value` as an int; it may be written as a float (7.5e9), but must be a whole number.

    >>> whole("psi", 7.5e9)
    7500000000
    """
    exact = amount(name, value)
    if exact.denominator != 1:
        raise ValueError(
            f"{name}={written(value)} must be a whole number: round it, as in round({name})"
        )
    return exact.numerator


def flag(name: str, value: bool) -> bool:
    """Return `value`, or say that it must be True or False.

    >>> flag("causal", True)
    True
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name}={written(value)} must be True or False")
    return value


def one_of(name: str, value: str, allowed: Collection[str]) -> str:
    """Return `value`, or say which values are allowed.

    >>> one_of("policy", "gpipe", ["gpipe", "1f1b"])
    'gpipe'
    """
    if not isinstance(value, str):
        raise TypeError(f"{name}={written(value)} must be one of {', '.join(allowed)}")
    if value not in allowed:
        raise ValueError(f"{name}={written(value)} is unknown: choose from {', '.join(allowed)}")
    return value


def as_float(exact: Fraction, remedy: str) -> float:
    """Return the float nearest to `exact`, or name the `remedy` where none is that large.

    >>> as_float(Fraction(15, 4), "use the exact form")
    3.75
    """
    try:
        return float(exact)
    except OverflowError:
        raise ValueError(f"the result is too large for a float: {remedy}") from None
