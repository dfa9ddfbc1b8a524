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

from shardwise_grading.similarity.evidence import at_least, expected, numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shardwise_grading.similarity.features import Feature

    Features = Mapping[Feature, tuple[int, ...]]

FEWEST = 3  # members; two are a pair
SAME_CHOICES = 0.5  # of what the one with less of it has
SAME_FORM = 0.75
FORM = 0.25  # bits for each run of tokens: who solves it so, by whatever name, has most of them


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
    heads = _Heads(works, threshold)
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
        self._holders: dict[str, dict[Feature, int]] = {notebook: {} for notebook in works}

    def add(self, number: int) -> None:
        for notebook, work in self._works.items():
            holders = self._holders[notebook]
            for feature in _choices(work.get(number, ())):
                holders[feature] = holders.get(feature, 0) | 1 << number

    def nearest(self, number: int) -> tuple[int, dict[str, float]]:
        """Who shares most with a student, and in which notebooks; none below the threshold."""
        nearest, most = (-1, {}), 0.0
        for head in numbers_of(self._candidates(number)):
            shared = {name: _same(work, number, head) for name, work in self._works.items()}
            bits = sum(shared.values())
            if bits >= self._threshold and bits > most:
                nearest, most = (head, {name: b for name, b in shared.items() if b}), bits
        return nearest

    def _candidates(self, number: int) -> int:
        """Who could reach the threshold: in one notebook at least, that takes its even share."""
        near = 0
        for notebook, work in self._works.items():
            found = work.get(number, {})
            if _bits(found) >= self._threshold / len(self._works):
                choices = _choices(found)
                holders = self._holders[notebook]
                enough = max(1, ceil(SAME_CHOICES * len(choices)))
                near |= at_least(enough, (holders.get(one, 0) for one in choices))
        return near


def _choices(found: Iterable[Feature]) -> list[Feature]:
    return [feature for feature in found if feature.kind != "shape"]


def _bits(found: Iterable[Feature]) -> float:
    """What a text says in any class."""
    return sum(FORM if one.kind == "shape" else -log2(expected(one)) for one in found)


def _same(work: Mapping[int, Features], first: int, second: int) -> float:
    """Bits that two share in a notebook; none when it is not the same."""
    mine, theirs = work.get(first, {}), work.get(second, {})
    shared = mine.keys() & theirs.keys()
    free = _choices(shared)
    enough = SAME_CHOICES * min(len(_choices(mine)), len(_choices(theirs)))
    form = SAME_FORM * min(len(mine) - len(_choices(mine)), len(theirs) - len(_choices(theirs)))
    if not free or len(free) < enough or len(shared) - len(free) < form:
        return 0.0
    return _bits(shared)
