"""What may travel from a student's code to a check: data, and nothing that can lie about itself."""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 20
MOST = 100_000
PLAIN = {id(kind) for kind in (type(None), bool, int, float, str)}
HOLDERS = {id(kind) for kind in (list, tuple, dict)}


@dataclass(frozen=True, slots=True)
class Foreign:
    """Stands for a value that is not plain data; only the name of its type is known."""

    type_name: str

    def __repr__(self) -> str:
        """Name the type, for a message."""
        return f"an object of type {self.type_name}"


def as_data(value: object) -> object:
    """Copy a value if it is plain data, and replace whatever is not by `Foreign`.

    Subclasses are not plain: a float whose ``__eq__`` says yes to everything is no float.
    What is nested deeper than `DEEPEST` or has more than `MOST` items is not copied either.

    Args:
        value: what a student's function returned.

    Returns:
        None, bool, int, float, Fraction, str and exact torch tensors as they are; lists, tuples
        and dicts (with int or str keys) rebuilt from such; `Foreign` for everything else.

    Example:
        >>> class Yes(float):
        ...     def __eq__(self, other):
        ...         return True
        >>> as_data([1, Yes(2.0)])
        [1, an object of type Yes]
    """
    return _copy(value, 0, itertools.count())


def type_name(kind: type) -> str:
    """Return the name of a type, without asking its metaclass."""
    return str.__str__(type.__dict__["__name__"].__get__(kind))


def ancestors(kind: type) -> tuple[type, ...]:
    """Return the types that a type derives from, itself first, without asking its metaclass."""
    found: tuple[type, ...] = type.__dict__["__mro__"].__get__(kind)
    return found


def _copy(value: Any, depth: int, nodes: Iterator[int]) -> object:  # noqa: ANN401
    # Types are compared by identity: `==` would ask a metaclass, and isinstance the value.
    kind = type(value)
    if next(nodes) >= MOST:
        return Foreign(type_name(kind))
    if id(kind) in PLAIN or kind is tensor_type():
        return value
    if kind is Fraction:
        parts = (value.numerator, value.denominator)
        plain = all(type(part) is int for part in parts)
        return Fraction(*parts) if plain else Foreign("Fraction")
    if id(kind) in HOLDERS and depth < DEEPEST and len(value) <= MOST:
        if kind is dict:
            return {
                key: _copy(item, depth + 1, nodes)
                for key, item in value.items()
                if type(key) is int or type(key) is str
            }
        items = [_copy(item, depth + 1, nodes) for item in value]
        return items if kind is list else tuple(items)
    return Foreign(type_name(kind))


def tensor_type() -> Any:  # noqa: ANN401
    """The exact tensor type, without importing torch where nobody has."""
    torch = sys.modules.get("torch")
    return getattr(torch, "Tensor", None)
