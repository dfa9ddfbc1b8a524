"""What a run is to do, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shardwise_grading.checking.limits import GradingLimits

if TYPE_CHECKING:
    from pathlib import Path

    from shardwise_grading.class_run.rows import Row


@dataclass(frozen=True, slots=True)
class Plan:
    """What to grade, where and how.

    Args:
        assignment: the folder in ``source/``.
        students: whose work; everybody's when empty.
        jobs: submissions at a time on this machine.
        backend: ``"loky"`` for processes of this machine, ``"dask"`` for a cluster.
        scheduler: the cluster's address; empty for a local one.
        force: whether what is unchanged is graded again.
        db_url: the gradebook, in place of the one that the course names.
        limits: what each notebook may take.
        sandbox: whether students' code must be kept in.
    """

    assignment: str
    students: tuple[str, ...] = ()
    jobs: int = 1
    backend: str = "loky"
    scheduler: str = ""
    force: bool = False
    db_url: str | None = None
    limits: GradingLimits = field(default_factory=GradingLimits)
    sandbox: bool = True


@dataclass(frozen=True, slots=True)
class ClassResults:
    """What came of a class.

    Args:
        rows: one for each student that the plan names, in the order of their names.
        graded: how many were graded now.
        unchanged: how many had nothing to grade.
        protection: what kept the students' code in; empty when none was run.
        folder: where results.json and results.csv are, with everybody's.
    """

    rows: tuple[Row, ...]
    graded: int
    unchanged: int
    protection: str
    folder: Path

    @property
    def sentence(self) -> str:
        """How many were graded, and where their results are."""
        done = f"{count(self.graded)} graded{unchanged(self.unchanged)}"
        return f"{done}; results.json and results.csv are in {self.folder}"


def count(number: int) -> str:
    """Name a number of submissions."""
    return f"{number} submission{'' if number == 1 else 's'}"


def unchanged(number: int) -> str:
    """Add how many had nothing to grade, if that is news."""
    return f", {number} unchanged" if number else ""
