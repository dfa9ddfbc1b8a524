"""The sample class: what each student hands in, and what grading must say to it."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import nbformat

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from shardwise_grading.class_run.rows import Row

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


def compare(sample: SampleClass, rows: Sequence[Row]) -> tuple[list[str], int]:
    """Write a line on each student, and count who differs from what the class expects."""
    by_id = {student.id: student for student in sample.students}
    surprises, lines = 0, []
    for row in rows:
        student = by_id[row.student]
        surprise = student.surprise(row)
        surprises += bool(surprise)
        said = filter(None, (surprise, row.problem or student.about))
        lines.append(f"{row.student}: {'; '.join(said)}")
    missing = sorted(by_id.keys() - {row.student for row in rows})
    return [*lines, *(f"{name}: no result" for name in missing)], surprises + len(missing)
