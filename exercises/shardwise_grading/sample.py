"""Grade the sample class by the real nbgrader path, in a temporary copy of the course."""

from __future__ import annotations

import re
import shutil
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import nbformat
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from shardwise_grading.course import Row, nbgrader, read_rows

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

COURSE_PARTS = ("nbgrader_config.py", "source", "hidden")


@dataclass(frozen=True, slots=True)
class Student:
    """One member of the sample class.

    Args:
        id: the student's name in the course.
        about: what is special about the work.
        points: what grading must give, by exercise.
        needs_human: whether grading must hand the work on to a human instead.
        cells: source by exercise and nbgrader cell id, in place of the release's.
        raw: whole files by exercise, in place of the release's.
    """

    id: str
    about: str
    points: dict[str, float] = field(default_factory=dict)
    needs_human: bool = False
    cells: dict[str, dict[str, str]] = field(default_factory=dict)
    raw: dict[str, str] = field(default_factory=dict)

    def surprise(self, row: Row) -> str:
        """Say how a row differs from what the class expects; empty when it doesn't."""
        if self.needs_human:
            return "" if row.problem else "expected: needs a human"
        if row.points == self.points:
            return ""
        return f"expected {', '.join(f'{k}: {v:g}' for k, v in self.points.items())}"


@dataclass(frozen=True, slots=True)
class SampleClass:
    """The assignment and the students that ``class.toml`` describes."""

    assignment: str
    students: tuple[Student, ...]


def read_class(folder: Path) -> SampleClass:
    """Read a sample class.

    Raises:
        FileNotFoundError: the folder holds no ``class.toml``.
    """
    path = folder / "class.toml"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; run this from the repository or give --class")
    content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    students = tuple(Student(**student) for student in content["student"])
    return SampleClass(content["assignment"], students)


def copy_course(course: Path, target: Path) -> None:
    """Copy what an instructor keeps of a course: settings, source and hidden checks.

    Raises:
        FileNotFoundError: the folder is no course.
    """
    if not (course / "nbgrader_config.py").is_file():
        raise FileNotFoundError(
            f"{course / 'nbgrader_config.py'} is missing; "
            "run this from the repository or give --course"
        )
    target.mkdir(parents=True, exist_ok=True)
    for name in COURSE_PARTS:
        if (course / name).is_dir():
            shutil.copytree(course / name, target / name, ignore=shutil.ignore_patterns(".*", "_*"))
        else:
            shutil.copy2(course / name, target / name)


def hand_in(course: Path, assignment: str, student: Student) -> None:
    """Fill ``submitted/`` with one student's work, made from the release."""
    target = course / "submitted" / student.id / assignment
    target.mkdir(parents=True)
    for path in sorted((course / "release" / assignment).glob("*.ipynb")):
        if path.stem in student.raw:
            (target / path.name).write_text(student.raw[path.stem].strip(), encoding="utf-8")
            continue
        notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
        answers = student.cells.get(path.stem, {})
        for cell in notebook.cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            cell.source = answers.get(name, cell.source).strip("\n")
        nbformat.write(notebook, target / path.name)  # type: ignore[no-untyped-call]


def grade_class(course: Path, sample: SampleClass, console: Console) -> list[Row]:
    """Release, hand in, autograde, write feedback and export, with a progress bar.

    Args:
        course: a copy of the course, which this fills.
        sample: who hands in what.
        console: where the progress goes.

    Returns:
        One row for each student.
    """
    columns = (TextColumn("{task.description:<34}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("", total=len(sample.students) + 4)

        def step(description: str) -> None:
            progress.update(task, description=description)

        def follow(line: str) -> None:
            started = re.search(r"INFO\] Sanitizing .*?submitted[/\\]([^/\\]+)[/\\]", line)
            if started:
                progress.update(task, advance=1, description=f"autograde {started[1]}")

        step("generate_assignment")
        nbgrader(course, "generate_assignment", sample.assignment)
        progress.advance(task)
        for student in sample.students:
            hand_in(course, sample.assignment, student)
        step("autograde")
        nbgrader(course, "autograde", sample.assignment, on_line=follow)
        progress.advance(task)
        for command in (("generate_feedback", sample.assignment), ("export",)):
            step(command[0])
            nbgrader(course, *command)
            progress.advance(task)
    return read_rows(course, sample.assignment)


def results_table(sample: SampleClass, rows: list[Row]) -> tuple[Table, list[str], int]:
    """Draw the table, write a note on each student, and count who differs from what is expected."""
    exercises = sorted({name for row in rows for name in row.points})
    table = Table(title=f"{sample.assignment}: a class of {len(rows)}")
    table.add_column("student", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for name in exercises:
        best = next(row.max_points[name] for row in rows if name in row.max_points)
        table.add_column(f"ex. {name.partition('-')[0]}\nof {best:g}", justify="right")
    table.add_column("total", justify="right")
    by_id = {student.id: student for student in sample.students}
    surprises, notes = 0, []
    for row in rows:
        surprise = by_id[row.student].surprise(row)
        surprises += bool(surprise)
        points = [f"{row.points[name]:g}" if name in row.points else "-" for name in exercises]
        total = f"{sum(row.points.values()):g}" if row.points else "-"
        note = "; ".join(filter(None, (surprise, row.problem or by_id[row.student].about)))
        notes.append(f"{row.student}: {note}")
        table.add_row(row.student, row.status, *points, total)
    return table, notes, surprises
