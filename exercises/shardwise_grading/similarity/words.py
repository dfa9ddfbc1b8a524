"""Evidence put into words, for the table and for the pages alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardwise_grading.feedback.plain import cut, plain

if TYPE_CHECKING:
    from shardwise_grading.similarity.evidence import Evidence

MOST_VALUES = 3
LONGEST_VALUE = 60
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


def describe(evidence: Evidence, students: int) -> str:
    """Say what two students share, and how many others have it too.

    Args:
        evidence: of one kind, in one notebook.
        students: the size of the class.

    Example:
        >>> from shardwise_grading.similarity.evidence import Evidence
        >>> describe(Evidence("n", "comment", 9.0, 1, 4, 0, ("the avrage",)), 60)
        '1 of 4 comments and notes (the avrage), which nobody else has'
        >>> describe(Evidence("n", "shape", 2.0, 9, 9, 6), 62)
        "9 of 9 pieces of the code's form, which 10 % of the others have"
    """
    what = f"{evidence.shared} of {evidence.of} {PLURAL[evidence.kind]}"
    if evidence.values:
        named = [_short(value) for value in evidence.values[:MOST_VALUES]]
        what += f" ({'; '.join(named)}{'; …' if len(evidence.values) > len(named) else ''})"
    share = round(100 * evidence.others / max(1, students - 2))
    few = "nobody else has" if not evidence.others else f"{max(1, share)} % of the others have"
    return f"{what}, which {few}"


def _short(value: str) -> str:
    text = plain(value).strip()
    return (
        text if len(text) <= LONGEST_VALUE else cut(text, LONGEST_VALUE)[: LONGEST_VALUE // 2] + "…"
    )
