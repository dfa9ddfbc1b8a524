"""What a group has in common, line by line, for a human to judge."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardwise_grading.similarity.features import MOST_CHARACTERS, Features, Work

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shardwise_grading.similarity.groups import Gathered

WORDS = ("message", "comment", "name")  # what is quoted, the most telling first


@dataclass(frozen=True, slots=True)
class Shared:
    """What some of a group have in common in one notebook.

    Args:
        notebook: which.
        bits: how much it says, of the one who shares least.
        students: who, the one to whom the others were compared first.
        lines: of that one's code, from 1: what was not released and at least half of the others
            have letter for letter.
        held: how many of these lines each of the others has, in their order.
        values: strings, comments and names that most of them have, the most telling first.
    """

    notebook: str
    bits: float
    students: tuple[str, ...]
    lines: tuple[int, ...]
    held: tuple[int, ...]
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Three or more students who hold the same text.

    Args:
        students: who, the one to whom the others were compared first.
        bits: how much it says, of the one who shares least.
        shared: what they have in common, the most telling notebook first.
    """

    students: tuple[str, ...]
    bits: float
    shared: tuple[Shared, ...]


def describe_group(
    found: Gathered,
    names: Sequence[str],
    features: Mapping[str, Mapping[int, Features]],
    works: Mapping[str, Mapping[str, Work]],
    released: Mapping[str, Work],
) -> Group:
    """Put together what a group has in common.

    Args:
        found: the group, by number.
        names: of the students.
        features: by notebook and number.
        works: by student and notebook.
        released: by notebook, what everybody was given.
    """
    shared = []
    for notebook in {name for same in found.members.values() for name in same}:
        bits = {n: same[notebook] for n, same in found.members.items() if notebook in same}
        others = sorted(bits)
        mine = works[names[found.head]][notebook]
        known = _lines(released.get(notebook, Work("")).code)
        numbered = enumerate(mine.code[:MOST_CHARACTERS].split("\n"), 1)
        own = {number: line.rstrip() for number, line in numbered if _says_something(line, known)}
        theirs = [_lines(works[names[number]][notebook].code) for number in others]
        own = {n: line for n, line in own.items() if _most(line in lines for lines in theirs)}
        shared.append(
            Shared(
                notebook,
                min(bits.values()),
                (names[found.head], *(names[number] for number in others)),
                tuple(own),
                tuple(sum(line in lines for line in own.values()) for lines in theirs),
                _values(features[notebook][found.head], [features[notebook][n] for n in others]),
            )
        )
    shared.sort(key=lambda one: (-len(one.students), -one.bits, one.notebook))
    students = (names[found.head], *(names[number] for number in sorted(found.members)))
    return Group(
        students,
        round(min(sum(same.values()) for same in found.members.values()), 1),
        tuple(shared),
    )


def _lines(code: str) -> set[str]:
    return {line.rstrip() for line in code[:MOST_CHARACTERS].split("\n")}


def _says_something(line: str, known: set[str]) -> bool:
    return bool(re.search(r"\w", line)) and line.rstrip() not in known


def _most(answers: Iterable[bool]) -> bool:
    given = list(answers)
    return 2 * sum(given) >= len(given)


def _values(mine: Features, others: Sequence[Features]) -> tuple[str, ...]:
    """What at least half of the others have too."""
    found = [one for one in mine if one.kind in WORDS and _most(one in other for other in others)]
    found.sort(key=lambda one: (WORDS.index(one.kind), -len(one.value), one.value))
    return tuple(one.value for one in found)
