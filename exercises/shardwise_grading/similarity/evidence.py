"""How much it says that two students have something in common, given what their class has.

One bit halves the chance that a third student would share it. Two rules keep it sober: what was
seen in the class counts before what is expected of any class, and where several things go together
(who writes a solution of one form shares all of that form) only what is left to explain counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from shardwise_grading.similarity.features import Feature, Kind

# The chance that somebody else writes it so too, for what nobody else of the class has; it weighs
# as much as `SEEN` students. Of comments and messages it is that of a word, to the power of words.
EXPECTED = {"shape": 0.6, "name": 0.3, "comment": 0.3, "message": 0.4, "spacing": 0.3}
RAREST = 0.01
SEEN = 2
SAME_SHAPE = 0.75  # of what two share: who has that much of it has their shape
MORE_OF_A_SHAPE = 0.5  # bits for each further run of tokens that nobody else has
KINDS: tuple[Kind, ...] = ("shape", "name", "comment", "message", "spacing")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What two students have in common in one notebook, of one kind.

    Args:
        notebook: which.
        kind: the kind of what is shared.
        bits: how much it says.
        shared: how many such things they share.
        of: how many the one with fewer of them has.
        others: how many others of the class have as much of the same.
        values: what it is, the rarest first; nothing for a shape.
        lines: where it is in the code of the first and of the second, from 1.
    """

    notebook: str
    kind: Kind
    bits: float
    shared: int
    of: int
    others: int
    values: tuple[str, ...] = ()
    lines: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())


class Cohort:
    """All works on one notebook, and who shares what."""

    def __init__(
        self, notebook: str, works: Mapping[int, Mapping[Feature, tuple[int, ...]]]
    ) -> None:
        """Take the works of a class.

        Args:
            notebook: its name.
            works: for each student, by number, the features and their lines.
        """
        self.notebook = notebook
        self.works = {number: work for number, work in works.items() if work}
        self.holders: dict[Feature, int] = {}  # students as the bits of a number
        for number, work in self.works.items():
            for feature in work:
                self.holders[feature] = self.holders.get(feature, 0) | 1 << number
        self.everybody = sum(1 << number for number in self.works)

    def evidence(self, first: int, second: int) -> list[Evidence]:
        """Weigh what two students share, kind by kind."""
        mine, theirs = self.works.get(first, {}), self.works.get(second, {})
        shared = sorted(mine.keys() & theirs.keys(), key=self._common_first)
        others = self.everybody & ~(1 << first | 1 << second)
        found = []
        for kind in KINDS:
            same = [feature for feature in shared if feature.kind == kind]
            if same:
                of = min(sum(f.kind == kind for f in work) for work in (mine, theirs))
                bits, rest = self._weigh(kind, same, of, others)
                lines = (_lines(mine, same), _lines(theirs, same))
                values = () if kind == "shape" else tuple(f.value for f in reversed(same))
                found.append(
                    Evidence(self.notebook, kind, bits, len(same), of, rest, values, lines)
                )
        return found

    def rarity(self, feature: Feature) -> float:
        """Bits of one feature by itself."""
        return _bits(feature, self.holders[feature].bit_count() - 2, len(self.works) - 2)

    def _weigh(
        self, kind: Kind, same: Sequence[Feature], of: int, others: int
    ) -> tuple[float, int]:
        """Bits of all that is shared of one kind, and how many others have as much of it."""
        if kind == "shape":
            return self._weigh_shape(same, of, others)
        bits = 0.0
        for feature in same:
            before = others.bit_count()
            others &= self.holders[feature]
            bits += _bits(feature, others.bit_count(), before)
        # One rare name among many is found in two works by chance; all of them are not.
        return bits * (len(same) / of if kind == "name" else 1), others.bit_count()

    def _weigh_shape(self, same: Sequence[Feature], of: int, others: int) -> tuple[float, int]:
        enough = ceil(SAME_SHAPE * len(same))
        alike = at_least(enough, (self.holders[f] & others for f in same)).bit_count()
        bits = _bits(same[0], alike, others.bit_count())
        only_theirs = sum(self.holders[feature].bit_count() <= 2 for feature in same)  # noqa: PLR2004
        bits += MORE_OF_A_SHAPE * max(0, only_theirs - 1) if not alike else 0
        return bits * len(same) / of, alike

    def _common_first(self, feature: Feature) -> tuple[int, Feature]:
        return -self.holders[feature].bit_count(), feature


def at_least(enough: int, sets: Iterable[int]) -> int:
    """Return who is in enough of some sets; all of them are the bits of numbers.

    Args:
        enough: in how many, at least 1.
        sets: as many as there are.

    Example:
        >>> bin(at_least(2, [0b110, 0b011, 0b010]))
        '0b10'
    """
    digits: list[int] = []  # of how often each number was seen, the lowest first
    for carry in sets:
        for place, digit in enumerate(digits):
            digits[place], carry = digit ^ carry, digit & carry  # noqa: PLW2901
        if carry:
            digits.append(carry)
    more, same = 0, -1
    for place in reversed(range(max(len(digits), enough.bit_length()))):
        digit = digits[place] if place < len(digits) else 0
        if enough >> place & 1:
            same &= digit
        else:
            more, same = more | same & digit, same & ~digit
    return more | same


def numbers_of(holders: int) -> Iterator[int]:
    """Return which bits of a number are set.

    Example:
        >>> list(numbers_of(0b10010))
        [1, 4]
    """
    while holders:
        lowest = holders & -holders
        yield lowest.bit_length() - 1
        holders ^= lowest


def expected(feature: Feature) -> float:
    """Return the chance that an author of any class writes something so too.

    Example:
        >>> from shardwise_grading.similarity.features import Feature
        >>> expected(Feature("comment", "on average"))
        0.09
    """
    words = len(feature.value.split()) if feature.kind in ("comment", "message") else 1
    return max(RAREST, EXPECTED[feature.kind] ** words)


def _bits(feature: Feature, have: int, of: int) -> float:
    """Bits of a feature that so many others have, of those who could; none where all have it."""
    if have:
        return -log2((have + 0.5) / (of + 0.5))
    return -log2(SEEN * expected(feature) / (of + SEEN))


def _lines(work: Mapping[Feature, tuple[int, ...]], same: Iterable[Feature]) -> tuple[int, ...]:
    return tuple(sorted({line for feature in same for line in work[feature]}))
