"""Which hidden check finds which mistake: known wrong solutions against the properties."""

from __future__ import annotations

import os
import runpy
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.table import Table

from shardwise_grading.runner import load, run

if TYPE_CHECKING:
    from pathlib import Path

    from shardwise_grading.results import Report


@dataclass(frozen=True, slots=True)
class Known:
    """Solutions of one part of an exercise of which it is known whether they are right.

    Args:
        exercise: the module with the hidden checks.
        part: the check in it.
        points: what its cell is worth.
        wrong: mutants by name; each is a mistake that somebody could make.
        right: solutions, written differently, that meet the specification.
    """

    exercise: str
    part: str
    points: int
    wrong: dict[str, object]
    right: dict[str, object]

    def reports(self, solutions: dict[str, object]) -> dict[str, Report]:
        """Check solutions, with the folder and the seed that the environment names."""
        module = load(self.exercise)
        return {
            name: run(module, self.part, solution, points=self.points)
            for name, solution in solutions.items()
        }


def read_known(path: Path) -> list[Known]:
    """Read a module of known solutions: ``POINTS``, ``WRONG`` and ``RIGHT``, each by part.

    Raises:
        FileNotFoundError: there is no such file.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; run this from the repository or give --known")
    module = runpy.run_path(str(path))
    return [
        Known(path.stem, part, points, module["WRONG"][part], module["RIGHT"][part])
        for part, points in module["POINTS"].items()
    ]


def kill_table(known: Known) -> tuple[Table, list[str]]:
    """Draw which property fails for which mutant, and list what is amiss.

    Returns:
        The table, with a column for each property, and a line for each mutant that loses nothing,
        each property that finds nothing, and each right solution that loses points.
    """
    killed = known.reports(known.wrong)
    properties = next(iter(killed.values())).results
    table = Table(title=f"{known.exercise}: {known.part}", title_justify="left")
    table.add_column("mutant")
    for number in range(1, len(properties) + 1):
        table.add_column(f"{number}", justify="center", no_wrap=True)
    table.caption = "\n".join(
        f"{number}  {result.property} ({result.points})"
        for number, result in enumerate(properties, start=1)
    )
    table.caption_justify = "left"
    table.add_column(f"of {known.points}", justify="right", no_wrap=True)
    for name, report in killed.items():
        marks = ["" if result.passed else "x" for result in report.results]
        table.add_row(name, *marks, f"{report.score:g}")
    finds = [
        sum(not report.results[place].passed for report in killed.values())
        for place in range(len(properties))
    ]
    table.add_section()
    table.add_row(f"{len(killed)} mutants", *map(str, finds), "")
    amiss = [f"{name}: loses nothing" for name, r in killed.items() if r.score == known.points]
    amiss += [
        f"{result.property}: finds nothing"
        for result, found in zip(properties, finds, strict=True)
        if not found
    ]
    amiss += [
        f"{name}: is right and gets {report.score:g} of {known.points}"
        for name, report in known.reports(known.right).items()
        if report.score != known.points
    ]
    return table, amiss


def use_course(course: Path) -> None:
    """Take the hidden checks of a course and its usual seed, unless the environment names others.

    Raises:
        FileNotFoundError: the folder has no hidden checks.
    """
    hidden = course / "hidden"
    if not hidden.is_dir():
        raise FileNotFoundError(
            f"{hidden} is missing; run this from the repository or give --course"
        )
    os.environ.setdefault("SHARDWISE_HIDDEN", str(hidden))
    os.environ.setdefault("SHARDWISE_SEED", "23")
