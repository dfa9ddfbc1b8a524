"""Evidence put into words, for the table and for the pages alike."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from shardwise_grading.feedback.plain import plain
from shardwise_grading.similarity.pairs import Pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardwise_grading.similarity.evidence import Evidence
    from shardwise_grading.similarity.pairs import Similarities
    from shardwise_grading.similarity.shared import Group, Shared

MOST_VALUES = 3
LONGEST_VALUE = 60
MOST_NAMES, MOST_EVIDENCE = 12, 3  # in a line of the list
MEANING = (
    "One bit halves the odds that two who worked alone have that in common. In a large class a few "
    "who never met reach the line by some bits, and two who used the same source look alike too. "
    "So this is where to look and whom to ask, and no verdict."
)
PLURAL = {
    "shape": "pieces of the code's form",
    "name": "names",
    "comment": "comments and notes",
    "message": "strings",
    "spacing": "lines with the same odd spacing",
}


def describe(evidence: Evidence, students: int, others: str = "else") -> str:
    """Say what two students share, and how many others have it too.

    Args:
        evidence: of one kind, in one notebook.
        students: the size of the class; a group counts as one.
        others: whom "nobody" means.

    Example:
        >>> from shardwise_grading.similarity.evidence import Evidence
        >>> describe(Evidence("n", "comment", 9.0, 1, 4, 0, ("the avrage",)), 60)
        '1 of 4 comments and notes (the avrage), which nobody else has'
        >>> describe(Evidence("n", "shape", 2.0, 9, 9, 6), 62)
        "9 of 9 pieces of the code's form, which 10 % of the others have"
    """
    what = f"{evidence.shared} of {evidence.of} {PLURAL[evidence.kind]}"
    what += _quoted(evidence.values)
    share = round(100 * evidence.others / max(1, students - 2))
    few = f"nobody {others} has" if not evidence.others else f"{max(1, share)} % of the others have"
    return f"{what}, which {few}"


def describe_shared(shared: Shared, students: int) -> str:
    """Say what a group has in common in one notebook.

    Args:
        shared: what it is.
        students: the size of the class.

    Example:
        >>> from shardwise_grading.similarity.shared import Shared
        >>> three = ("ada", "bob", "cy")
        >>> describe_shared(Shared("n", 9.0, three, (2, 3, 5), (3, 3), ("the avrage",)), 4)
        '3 of 4 submissions have these 3 lines letter for letter (the avrage)'
        >>> describe_shared(Shared("n", 9.0, three, (2, 3, 5), (0, 2), ()), 60)
        '3 of 60 submissions have 0 to 2 of these 3 lines letter for letter'
    """
    who = f"{len(shared.students)} of {students} submissions have"
    least, most, of = min(shared.held), max(shared.held), len(shared.lines)
    quoted = _quoted(shared.values)
    if 0 < of == least:
        return f"{who} these {of} lines letter for letter{quoted}"
    if not most:
        return f"{who} the same text in other names or other lines{quoted}"
    return f"{who} {least} to {most} of these {of} lines letter for letter{quoted}"


def compared(report: Similarities) -> list[str]:
    """Say how many submissions were compared, and how many were left out and why."""
    reasons = Counter(report.left_out.values())
    handed_in = report.students + len(report.left_out)
    return [
        f"{report.students} of {handed_in} submissions were compared.",
        *(f"Left out: {many}, where {why}." for why, many in sorted(reasons.items())),
    ]


def describe_pair(report: Similarities, pair: Pair) -> list[str]:
    """Say what a pair has in common, in the order of its evidence."""
    in_groups = {student for group in report.groups for student in group.students}
    outside = "outside the group" if in_groups & {pair.first, pair.second} else "else"
    return [describe(one, report.authors, outside) for one in pair.evidence]


def strongest(report: Similarities, found: Group | Pair) -> list[str]:
    """Say the most telling of what a group or pair has in common, and in which notebooks."""
    if isinstance(found, Pair):
        parts, said = [one.notebook for one in found.evidence], describe_pair(report, found)
    else:
        parts = [one.notebook for one in found.shared]
        said = [describe_shared(one, report.students) for one in found.shared]
    named = [f"{part}: {text}" for part, text in zip(parts, said, strict=True)]
    return named[:MOST_EVIDENCE]


def called(report: Similarities, student: str) -> str:
    """Name a student of a pair, and the group that goes with the name."""
    for number, group in enumerate(report.groups, 1):
        if student in group.students:
            return f"{student} (of group {number})"
    return student


def _quoted(values: Sequence[str]) -> str:
    if not values:
        return ""
    named = [_short(value) for value in values[:MOST_VALUES]]
    return f" ({'; '.join(named)}{'; …' if len(values) > len(named) else ''})"


def _short(value: str) -> str:
    text = plain(value).strip()
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE // 2]}…"
