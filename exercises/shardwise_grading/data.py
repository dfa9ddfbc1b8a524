"""What may travel from a student's code to a check: data, and nothing that can lie about itself."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fractions import Fraction

DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Foreign:
    """Stands for a value that is not plain data; only the name of its type is known."""

    type_name: str

    def __repr__(self) -> str:
        """Name the type, for a message."""
        return f"an object of type {self.type_name}"


def as_data(value: object, depth: int = 0) -> object:
    """Copy a value if it is plain data, and replace whatever is not by `Foreign`.

    Subclasses are not plain: a float whose ``__eq__`` says yes to everything is no float.

    Args:
        value: what a student's function returned.
        depth: how many containers are around it.

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
    kind = type(value)
    if kind in {type(None), bool, int, float, str} or kind is _tensor_type():
        return value
    if isinstance(value, Fraction) and kind is Fraction:
        parts = (value.numerator, value.denominator)
        return Fraction(*parts) if {type(part) for part in parts} == {int} else Foreign("Fraction")
    if depth < DEEPEST and isinstance(value, (list, tuple)) and kind in {list, tuple}:
        items = [as_data(item, depth + 1) for item in value]
        return items if kind is list else tuple(items)
    if depth < DEEPEST and isinstance(value, dict) and kind is dict:
        return {
            key: as_data(item, depth + 1) for key, item in value.items() if type(key) in {int, str}
        }
    return Foreign(kind.__name__)


def _tensor_type() -> type | None:
    """The exact tensor type, without importing torch where nobody has."""
    torch = sys.modules.get("torch")
    return getattr(torch, "Tensor", None)
