"""Find values in the bytes of a JSON file without building them.

The json module needs thirty times the size of a hostile file, and refuses a whole file for one deep
value that nobody wants to see. Here a value is a pair of places in the bytes, and what lies between
them is looked at only where somebody asks.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BRACKETS = 500_000
MAX_MEMBERS = 100
MAX_ITEMS = 1_000
MAX_SHORT = 1_000

STRING = rb'"(?:[^"\\]++|\\.)*+"'
FLAT = rb'(?:[^\[\]{}"]++|' + STRING + rb")*+"
# Everything up to the next bracket, with the lists and objects in between that hold no other.
RUN = re.compile(
    rb'(?:[^\[\]{}"]++|' + STRING + rb"|\[" + FLAT + rb"\]|\{" + FLAT + rb"\})*+", re.DOTALL
)
OPENING, CLOSING = frozenset((b"[", b"{")), frozenset((b"]", b"}"))
SCALAR = re.compile(STRING + rb'|[^\s,:"\[\]{}]++', re.DOTALL)
SPACE = re.compile(rb"[ \t\r\n]*+")
STRINGS = re.compile(
    STRING + rb"|\[[ \t\r\n]*+(?:" + STRING + rb"[ \t\r\n]*+,?[ \t\r\n]*+)*+\]", re.DOTALL
)


Span = tuple[int, int]


class BrokenError(ValueError):
    """The bytes are no JSON, or more of it than a notebook ever holds."""


def end_of(data: bytes, at: int) -> int:
    """Return the place behind the value that starts at a place.

    Raises:
        BrokenError: there is no whole value.

    Example:
        >>> end_of(b'[1, [2, "]"]], 3', 0)
        13
    """
    if data[at : at + 1] not in OPENING:
        scalar = SCALAR.match(data, at)
        if not scalar:
            raise BrokenError(_where(data, len(data) if data[at : at + 1] == b'"' else at))
        return scalar.end()
    depth, run = 0, RUN.match
    for _ in range(MAX_BRACKETS):
        bracket = data[at : at + 1]
        if bracket in OPENING:
            depth += 1
        elif bracket in CLOSING:
            depth -= 1
        else:
            raise BrokenError(_where(data, len(data)))
        at += 1
        if depth == 0:
            return at
        at = run(data, at).end()  # type: ignore[union-attr]  # it matches nothing at least
    raise BrokenError(f"it holds more than {MAX_BRACKETS:,} lists and objects")


def members(data: bytes, at: int) -> dict[str, Span]:
    """Return where each value of the object is that starts at a place; of two, the last.

    Raises:
        BrokenError: there is no whole object.

    Example:
        >>> members(b'{"a": 1, "b": [2]}', 0)
        {'a': (6, 7), 'b': (14, 17)}
    """
    found: dict[str, Span] = {}
    start = _first(data, at, b"{", b"}")
    for _ in range(MAX_MEMBERS):
        if not start:
            return found
        end = end_of(data, start)
        colon = skip_space(data, end)
        if data[start : start + 1] != b'"' or data[colon : colon + 1] != b":":
            raise BrokenError(_where(data, start))
        key, value = short(data, start, end), skip_space(data, colon + 1)
        end = end_of(data, value)
        if isinstance(key, str):
            found[key] = value, end
        start = _next(data, end, b"}")
    raise BrokenError(f"an object in it has more than {MAX_MEMBERS} parts")


def items(data: bytes, at: int) -> Iterator[Span]:
    """Yield start and end of each value of the list that starts at a place.

    Raises:
        BrokenError: there is no whole list.

    Example:
        >>> list(items(b'[1, [2]]', 0))
        [(1, 2), (4, 7)]
    """
    start = _first(data, at, b"[", b"]")
    for _ in range(MAX_ITEMS):
        if not start:
            return
        end = end_of(data, start)
        yield start, end
        start = _next(data, end, b"]")
    raise BrokenError(f"a list in it has more than {MAX_ITEMS:,} parts")


def _first(data: bytes, at: int, opening: bytes, closing: bytes) -> int:
    """Where the first part of a list or an object starts; 0 when there is none."""
    if data[at : at + 1] != opening:
        raise BrokenError(_where(data, at))
    at = skip_space(data, at + 1)
    return 0 if data[at : at + 1] == closing else at


def _next(data: bytes, end: int, closing: bytes) -> int:
    """Where the part behind another starts; 0 when that was the last."""
    at = skip_space(data, end)
    if data[at : at + 1] == closing:
        return 0
    if data[at : at + 1] != b",":
        raise BrokenError(_where(data, at))
    return skip_space(data, at + 1)


def skip_space(data: bytes, at: int) -> int:
    """Return the place of the next byte that is no white space."""
    space = SPACE.match(data, at)
    return space.end() if space else at


def short(data: bytes, start: int, end: int) -> object:
    """Return a string, number, truth value or null; None for anything longer or else.

    Example:
        >>> short(b'{"points": 8}', 11, 12), short(b'[[1]]', 0, 5)
        (8, None)
    """
    if end - start > MAX_SHORT or data[start : start + 1] in OPENING:
        return None
    try:
        value: object = json.loads(data[start:end].decode("utf-8", "replace"), strict=False)
    except ValueError:
        return None
    return value


def text(data: bytes, start: int, end: int) -> str | None:
    r"""Return a string, or a list of strings put together; None for anything else.

    Example:
        >>> text(b'["a\\n", "b"]', 0, 12)
        'a\nb'
    """
    if not STRINGS.fullmatch(data, start, end):
        return None
    try:
        value = json.loads(data[start:end].decode("utf-8", "replace"), strict=False)
    except ValueError:
        return None
    return "".join(value)


def is_utf8(data: bytes) -> bool:
    """Whether bytes can be read as text.

    Example:
        >>> is_utf8("ä".encode()), is_utf8("ä".encode("latin-1"))
        (True, False)
    """
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _where(data: bytes, at: int) -> str:
    if not data[at:].strip():
        return "it ends in the middle"
    line, column = data.count(b"\n", 0, at) + 1, at - data.rfind(b"\n", 0, at)
    return f"it is broken in line {line}, column {column}"
