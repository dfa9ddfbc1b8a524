"""Which of a class hold the same text, and which pairs have more in common than the rest of it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import combinations
from math import log2
from typing import TYPE_CHECKING

from shardwise_grading.similarity.evidence import Cohort, Evidence, numbers_of
from shardwise_grading.similarity.features import Features, Given, Work, features, given
from shardwise_grading.similarity.groups import Gathered, gather
from shardwise_grading.similarity.shared import Group, describe_group

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# What more students than this share points at no pair; the work for it grows with its square.
MOST_HOLDERS = 24
# Bits above those that one of all pairs reaches by chance, were each thing chosen by itself.
MARGIN = 11.0


@dataclass(frozen=True, slots=True)
class Pair:
    """Two students whose works have more in common than those of their class.

    Args:
        first: a student.
        second: another, later in the order of names.
        bits: how much all evidence says together.
        evidence: what it is, the strongest first.
    """

    first: str
    second: str
    bits: float
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Similarities:
    """All suspicious groups and pairs of an assignment.

    Args:
        assignment: which.
        students: how many were compared.
        left_out: the others who handed in, and why each was not compared.
        threshold: bits that a pair must reach to be listed; it grows with the class.
        groups: three or more who hold the same text, the largest first.
        pairs: the strongest first; a group counts as one author, who is named first in it.
        works: by student and notebook, for the pages.
    """

    assignment: str
    students: int
    left_out: Mapping[str, str]
    threshold: float
    groups: tuple[Group, ...]
    pairs: tuple[Pair, ...]
    works: Mapping[str, Mapping[str, Work]] = field(repr=False)

    @property
    def authors(self) -> int:
        """How many were compared, where a group counts once."""
        return self.students - sum(len(group.students) - 1 for group in self.groups)


def compare(
    assignment: str,
    works: Mapping[str, Mapping[str, Work]],
    released: Mapping[str, Work],
) -> Similarities:
    """Find the groups that hold the same text, and the pairs alike as the rest of a class isn't.

    Args:
        assignment: what they were asked to do.
        works: by student and notebook, what each wrote.
        released: by notebook, what everybody was given.

    Returns:
        Those at or above the threshold, in an order that does not depend on that of `works`.
    """
    names = sorted(works)
    known = {notebook: given(work) for notebook, work in released.items()}
    found: dict[str, dict[int, Features]] = {
        notebook: {
            number: features(works[name][notebook], known.get(notebook, Given()))
            for number, name in enumerate(names)
            if notebook in works[name]
        }
        for notebook in sorted({notebook for work in works.values() for notebook in work})
    }
    compared = {number for work in found.values() for number, one in work.items() if one}
    threshold = 2 * log2(max(len(compared), 2)) + MARGIN
    gathered = gather(found, threshold)
    groups = [describe_group(one, names, found, works, released) for one in gathered]
    return Similarities(
        assignment,
        len(compared),
        {name: _reason(works[name]) for n, name in enumerate(names) if n not in compared},
        threshold,
        tuple(sorted(groups, key=lambda one: (-len(one.students), -one.bits, one.students))),
        _pairs(names, found, gathered, threshold),
        works,
    )


def _reason(work: Mapping[str, Work]) -> str:
    return "nothing was written beyond the release" if work else "no notebook can be read"


def _pairs(
    names: Sequence[str],
    found: Mapping[str, Mapping[int, Features]],
    groups: Sequence[Gathered],
    threshold: float,
) -> tuple[Pair, ...]:
    """The pairs, where what a group shares counts as one author's: its copies make it no habit."""
    copies = {
        (notebook, number)
        for group in groups
        for number, same in group.members.items()
        for notebook in same
    }
    group_of = {n: one.head for one in groups for n in (one.head, *one.members)}
    cohorts = [
        Cohort(notebook, {n: one for n, one in work.items() if (notebook, n) not in copies})
        for notebook, work in found.items()
    ]
    pairs = (
        _pair(names, cohorts, (first, second))
        for first, second in _candidates(cohorts, threshold)
        if group_of.get(first, first) != group_of.get(second, second)
    )
    listed = (pair for pair in pairs if pair.bits >= threshold)
    return tuple(sorted(listed, key=lambda pair: (-pair.bits, pair.first, pair.second)))


def _candidates(cohorts: Iterable[Cohort], threshold: float) -> Iterable[tuple[int, int]]:
    """Pairs that could reach the threshold, found by what few have."""
    most: defaultdict[tuple[int, int], float] = defaultdict(float)
    for one in cohorts:
        groups: defaultdict[int, float] = defaultdict(float)
        for feature, holders in one.holders.items():
            if 1 < holders.bit_count() <= MOST_HOLDERS:
                groups[holders] += one.rarity(feature)
        for holders, bits in groups.items():
            for pair in combinations(numbers_of(holders), 2):
                most[pair] += bits
    return sorted(pair for pair, bits in most.items() if bits >= threshold / 2)


def _pair(names: Sequence[str], cohorts: Iterable[Cohort], pair: tuple[int, int]) -> Pair:
    found = [evidence for one in cohorts for evidence in one.evidence(*pair)]
    found.sort(key=lambda evidence: (-evidence.bits, evidence.notebook, evidence.kind))
    bits = sum(evidence.bits for evidence in found)
    return Pair(names[pair[0]], names[pair[1]], round(bits, 1), tuple(found))
