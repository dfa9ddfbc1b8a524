"""What students handed in: files that are looked at with care, because anything may be there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Submission:
    """All that one student handed in for an assignment, not yet read.

    Args:
        student: the folder in ``submitted/``; escaped and shortened where the gradebook could not
            hold it.
        assignment: the folder in that.
        folder: where the files are.
        files: the notebooks that can be read, by name without ending; also those that the
            assignment doesn't have.
        refused: names of the notebooks that are there and can't be read.
        others: the remaining files, relative to the folder.
        timestamp: when it was handed in, in UTC without a zone; None where nobody says.
        problem: why a human has to look, whatever the grader finds; empty when nobody has to.
        usable: whether the gradebook can hold the student's name.
    """

    student: str
    assignment: str
    folder: Path
    files: Mapping[str, Path] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    others: tuple[Path, ...] = ()
    timestamp: datetime | None = None
    problem: str = ""
    usable: bool = True
