"""What a worker is given: a submission, and all that it takes to grade it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shardwise_grading.checking.limits import GradingLimits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shardwise_grading.submission import Layout


@dataclass(frozen=True, slots=True)
class Checks:
    """The hidden checks of an assignment, as text that can travel to another machine.

    Args:
        sources: the text of each module, by exercise.
        seed: decides the inputs that the checks draw.
    """

    sources: Mapping[str, str]
    seed: str


@dataclass(frozen=True, slots=True)
class Work:
    """A submission to grade, and everything that it takes.

    Args:
        student: who handed in.
        assignment: for what.
        digest: of all that the result depends on; copied into the record.
        layouts: the instructor's notebooks, by name.
        files: the bytes of the student's notebooks, by name; None for one that is missing.
        problems: why a file could not be read at all, by name.
        checks: the hidden checks.
        protection: what keeps the student's code in.
        limits: what each notebook may take.
        beside: files that lie beside the notebooks, by their paths from there; None for one that
            the code doesn't get.
    """

    student: str
    assignment: str
    digest: str
    layouts: Mapping[str, Layout]
    files: Mapping[str, bytes | None]
    checks: Checks
    protection: str
    problems: Mapping[str, str] = field(default_factory=dict)
    limits: GradingLimits = field(default_factory=GradingLimits)
    beside: Mapping[str, bytes | None] = field(default_factory=dict)
