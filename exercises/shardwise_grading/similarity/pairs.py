"""Which pairs of a class have more in common than the rest of it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import combinations
from math import log2
from typing import TYPE_CHECKING

from shardwise_grading.similarity.evidence import Cohort, Evidence, numbers_of
from shardwise_grading.similarity.features import Given, Work, features, given

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
    """All suspicious pairs of an assignment.

    Args:
        assignment: which.
        students: how many handed in something of their own.
        threshold: bits that a pair must reach to be listed; it grows with the class.
        pairs: the strongest first.
        works: by student and notebook, for the pages.
    """

    assignment: str
    students: int
    threshold: float
    pairs: tuple[Pair, ...]
    works: Mapping[str, Mapping[str, Work]] = field(repr=False)


def compare(
    assignment: str,
    works: Mapping[str, Mapping[str, Work]],
    released: Mapping[str, Work],
) -> Similarities:
    """Find the pairs of a class that have more in common than the rest of it.

    Args:
        assignment: what they were asked to do.
        works: by student and notebook, what each wrote.
        released: by notebook, what everybody was given.

    Returns:
        The pairs at or above the threshold, in an order that does not depend on that of `works`.
    """
    names = sorted(works)
    known = {notebook: given(work) for notebook, work in released.items()}
    cohorts = [
        Cohort(
            notebook,
            {
                number: features(works[name][notebook], known.get(notebook, Given()))
                for number, name in enumerate(names)
                if notebook in works[name]
            },
        )
        for notebook in sorted({notebook for work in works.values() for notebook in work})
    ]
    students = len({number for one in cohorts for number in one.works})
    threshold = 2 * log2(max(students, 2)) + MARGIN
    pairs = (_pair(names, cohorts, pair) for pair in _candidates(cohorts, threshold))
    listed = sorted(
        (pair for pair in pairs if pair.bits >= threshold),
        key=lambda pair: (-pair.bits, pair.first, pair.second),
    )
    return Similarities(assignment, students, threshold, tuple(listed), works)


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
