"""Arguments and traits of widgets: checked before anything is stored or anyone hears of it.

Traitlets takes back a refused state of the front end only for its own TraitError, so the errors
here are that too. A check must answer for every value that Python can hold, and say no by name.
"""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

import traitlets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")
LONGEST = 60  # characters of a value in a message


class TraitValueError(ValueError, traitlets.TraitError):
    """A ValueError that traitlets takes back a state for."""


class TraitTypeError(TypeError, traitlets.TraitError):
    """A TypeError that traitlets takes back a state for."""


def shown(value: object) -> str:
    """Return a value as a message shows it: on one line, and no longer than a line.

    Example:
        >>> shown("x" * 1000)[-5:], shown(10**5000)
        ('xxxx…', 'a value of type int')
    """
    try:
        text = " ".join((str(value) if isinstance(value, Real) else repr(value)).split())
    except Exception:  # noqa: BLE001 - Python writes no int of 4301 digits, and a repr may do anything
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _real(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, Real):
        kind = type(value).__name__
        raise TraitTypeError(f"{name}={shown(value)} must be a number, not {kind}")


def number(name: str, value: Any, most: float) -> float:  # noqa: ANN401
    """Return a real number from 0 to `most` as a float.

    Example:
        >>> number("activations", 300, 192)
        Traceback (most recent call last):
        shardwise_widgets._checks.TraitValueError: activations=300 must be a number from 0 to 192
    """
    _real(name, value)
    if not 0 <= value <= most:  # NaN isn't
        raise TraitValueError(f"{name}={shown(value)} must be a number from 0 to {most:,}")
    return float(value)


def count(name: str, value: Any, least: int, most: int) -> int:  # noqa: ANN401
    """Return a whole number in a range as an int; 7.5e9 is one, 2.5 and True are not.

    Example:
        >>> count("devices", 2.5, 2, 8)
        Traceback (most recent call last):
        shardwise_widgets._checks.TraitValueError: devices=2.5 must be a whole number from 2 to 8
    """
    _real(name, value)
    if not least <= value <= most or value != int(value):
        raise TraitValueError(
            f"{name}={shown(value)} must be a whole number from {least} to {most}"
        )
    return int(value)


def one_of(name: str, value: object, choices: Sequence[T]) -> T:
    """Return the one of a few numbers or texts that a value equals.

    Example:
        >>> one_of("stage", 4, (0, 1, 2, 3))
        Traceback (most recent call last):
        shardwise_widgets._checks.TraitValueError: stage=4 must be one of 0, 1, 2, 3
    """
    # Nothing else is compared: an array answers with an array.
    if isinstance(value, (Real, str)) and not isinstance(value, bool):
        for choice in choices:
            if value == choice:
                return choice
    allowed = ", ".join(map(str, choices))
    raise TraitValueError(f"{name}={shown(value)} must be one of {allowed}")


class Checked(traitlets.TraitType[T, Any]):
    """A trait whose check runs before its value is stored, also where several are set at once."""

    def __init__(self, check: Callable[[str, Any], T]) -> None:
        """Take the function that returns the value to store or raises one of the errors above."""
        super().__init__()
        self.check = check

    def validate(self, obj: object, value: Any) -> T:  # noqa: ANN401, ARG002 - traitlets' signature
        """Return what is stored."""
        return self.check(str(self.name), value)
