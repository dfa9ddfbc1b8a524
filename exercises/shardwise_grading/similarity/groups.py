"""Groups that hold the same text, however many of the class they are.

What many share is usual, so a copy that most of a class hands in would look usual too. Here nobody
else of the class counts: a notebook is the same as another when they agree in what a solution
leaves free (names, comments, messages, spacing) and in its form, and it weighs what the same words
would in any class. The one obvious way to write a short function has few such words.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2
from typing import TYPE_CHECKING

from shardwise_grading.similarity.evidence import KINDS, at_least, expected, numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from shardwise_grading.similarity.features import Feature, Features

FEWEST = 3  # members; two are a pair
SAME = 0.5  # of what the one with less of a kind has, so that what was added hides nothing
LEAST = 20.0  # bits that a group shares, in however small a class
# Bits for what comes with the obvious solution: a run of its tokens, the name of what it computes.
OBVIOUS = {"shape": 0.25, "name": 0.5}


@dataclass(frozen=True, slots=True)
class Gathered:
    """Students who hold the same text, by number.

    Args:
        head: the one with the most text, to whom the others were compared.
        members: for each other one, the notebooks that are the same and the bits of each.
    """

    head: int
    members: Mapping[int, Mapping[str, float]]


def gather(works: Mapping[str, Mapping[int, Features]], threshold: float) -> list[Gathered]:
    """Find who holds the same text as at least two others.

    Args:
        works: by notebook and student, what is special about it.
        threshold: bits that all notebooks together must reach.

    Returns:
        The groups, no student in two of them.
    """
    worth: dict[int, float] = {}
    for work in works.values():
        for number, found in work.items():
            worth[number] = worth.get(number, 0.0) + _bits(found)
    heads = _Heads(works, max(threshold, LEAST))
    members: dict[int, dict[int, dict[str, float]]] = {}
    for number in sorted(worth, key=lambda number: (-worth[number], number)):
        head, same = heads.nearest(number)
        if same:
            members[head][number] = same
        else:
            heads.add(number)
            members[number] = {}
    return [Gathered(head, rest) for head, rest in members.items() if len(rest) + 1 >= FEWEST]


class _Heads:
    """Those who share their text with nobody before them, and who of them has which words."""

    def __init__(self, works: Mapping[str, Mapping[int, Features]], threshold: float) -> None:
        self._works = works
        self._threshold = threshold
        self._holders: dict[tuple[str, Feature], int] = {}

    def add(self, number: int) -> None:
        for key in self._free(number):
            self._holders[key] = self._holders.get(key, 0) | 1 << number

    def nearest(self, number: int) -> tuple[int, dict[str, float]]:
        """Who shares most with a student, and in which notebooks; none below the threshold."""
        nearest: tuple[int, dict[str, float]] = (-1, {})
        most = 0.0
        for head in numbers_of(self._candidates(number)):
            shared = {name: _same(work, number, head) for name, work in self._works.items()}
            bits = sum(shared.values())
            if bits >= self._threshold and bits > most:
                nearest, most = (head, {name: b for name, b in shared.items() if b}), bits
        return nearest

    def _candidates(self, number: int) -> int:
        """Who has so many of the same words that the threshold is reached if all else is alike."""
        free = list(self._free(number))
        everything = sum(len(work.get(number, ())) for work in self._works.values())
        missing = self._threshold - OBVIOUS["shape"] * (everything - len(free))
        halves = (
            self._holders.get((name, one), 0)
            for name, one in free
            for _ in range(ceil(2 * _bits([one])))
        )
        return at_least(max(1, int(2 * missing)), halves)

    def _free(self, number: int) -> Iterator[tuple[str, Feature]]:
        for notebook, work in self._works.items():
            for feature in _choices(work.get(number, ())):
                yield notebook, feature


def _choices(found: Iterable[Feature]) -> list[Feature]:
    return [feature for feature in found if feature.kind != "shape"]


def _bits(found: Iterable[Feature]) -> float:
    """What a text says in any class."""
    return sum(OBVIOUS.get(one.kind) or -log2(expected(one)) for one in found)


def _same(work: Mapping[int, Features], first: int, second: int) -> float:
    """Bits that two share in a notebook; none when it is not the same."""
    mine, theirs = work.get(first, {}), work.get(second, {})
    shared = mine.keys() & theirs.keys()
    agree = {}
    for kind in KINDS:
        same = [one for one in shared if one.kind == kind]
        fewer = min(sum(one.kind == kind for one in found) for found in (mine, theirs))
        if same and len(same) >= SAME * fewer:
            agree[kind] = _bits(same)
    return sum(agree.values()) if "shape" in agree and len(agree) > 1 else 0.0
