"""Arguments of widgets: the library's checks, within the range that a control has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shardwise._checks import amount, integer, whole

if TYPE_CHECKING:
    from collections.abc import Sequence


def number(name: str, value: Any, most: float) -> float:  # noqa: ANN401
    """Return a real number from 0 to `most` as a float.

    Example:
        >>> number("activations", 300, 192)
        Traceback (most recent call last):
        ValueError: activations=300 must be a number from 0 to 192
    """
    exact = amount(name, value)
    if exact > most:
        raise ValueError(f"{name}={value!r} must be a number from 0 to {most:,}")
    return float(exact)


def count(name: str, value: Any, least: int, most: int) -> int:  # noqa: ANN401
    """Return a whole number in a range as an int; 7.5e9 is one, 2.5 and True are not.

    Example:
        >>> count("devices", 1, 2, 8)
        Traceback (most recent call last):
        ValueError: devices=1 is out of range: give an integer from 2 to 8
    """
    return integer(name, whole(name, value), minimum=least, maximum=most)


def one_of(name: str, value: object, choices: Sequence[object]) -> None:
    """Accept one of a few values.

    Example:
        >>> one_of("stage", 4, (0, 1, 2, 3))
        Traceback (most recent call last):
        ValueError: stage=4 must be one of 0, 1, 2, 3
    """
    if isinstance(value, bool) or value not in choices:
        raise ValueError(f"{name}={value!r} must be one of {', '.join(map(str, choices))}")
