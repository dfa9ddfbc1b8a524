"""Arguments of widgets: what is wrong is said with the argument's name, its value and its range."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def number(name: str, value: Any, least: float, most: float) -> float:  # noqa: ANN401
    """Return a real number in a range as a float.

    Example:
        >>> number("activations", 300, 0, 192)
        Traceback (most recent call last):
        ValueError: activations=300 must be a number from 0 to 192
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not least <= float(value) <= most:
        raise ValueError(f"{name}={value!r} must be a number from {least:,} to {most:,}")
    return float(value)


def integer(name: str, value: Any, least: int, most: int) -> int:  # noqa: ANN401
    """Return a whole number in a range as an int; 7.5e9 is one, 2.5 and True are not.

    Example:
        >>> integer("devices", 1, 2, 8)
        Traceback (most recent call last):
        ValueError: devices=1 must be a whole number from 2 to 8
    """
    whole = isinstance(value, Real) and not isinstance(value, bool) and value == value // 1
    if not whole or not least <= value <= most:
        raise ValueError(f"{name}={value!r} must be a whole number from {least:,} to {most:,}")
    return int(value)


def one_of(name: str, value: object, choices: Sequence[object]) -> None:
    """Accept one of a few values.

    Example:
        >>> one_of("stage", 4, (0, 1, 2, 3))
        Traceback (most recent call last):
        ValueError: stage=4 must be one of 0, 1, 2, 3
    """
    if isinstance(value, bool) or value not in choices:
        raise ValueError(f"{name}={value!r} must be one of {', '.join(map(str, choices))}")
