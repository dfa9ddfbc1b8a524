"""Fill the folder of a graded submission with what nbgrader keeps there."""

from __future__ import annotations

import errno
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbgrader.utils import is_grade, is_task

from shardwise_grading.gradebook.notebooks import IN_THE_RESULTS, GradedNotebook, graded_notebook
from shardwise_grading.gradebook.safe_files import open_regular
from shardwise_grading.records import NotebookRecord

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from shardwise_grading.gradebook.assignment import AssignmentSource
    from shardwise_grading.gradebook.config import Settings
    from shardwise_grading.gradebook.folders import Submission
    from shardwise_grading.records import SubmissionRecord

IN_THE_WAY = (FileExistsError, NotADirectoryError, IsADirectoryError)
NOT_GRADED = f"it was not graded; {IN_THE_RESULTS}"
GROUP_MAY_ALL = 0o2770


@dataclass(frozen=True, slots=True)
class Missing:
    """A notebook that was not handed in.

    Args:
        name: without its ending.
        scores: no points by graded cell; None where only a human can say.
    """

    name: str
    scores: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What goes into folder and gradebook.

    Args:
        notebooks: those that were handed in, readable or not.
        missing: the others.
    """

    notebooks: tuple[GradedNotebook, ...]
    missing: tuple[Missing, ...]

    @property
    def scores(self) -> dict[tuple[str, str], float | None]:
        """Automatic points that the gradebook has to hold, by notebook and cell."""
        scores = {notebook.name: notebook.scores for notebook in self.missing}
        scores |= {notebook.name: notebook.scores for notebook in self.notebooks}
        return {(name, cell): points for name in scores for cell, points in scores[name].items()}


def outcome(
    record: SubmissionRecord, submission: Submission, source: AssignmentSource, settings: Settings
) -> Outcome:
    """Write every notebook of an assignment as nbgrader needs it.

    A notebook that is missing gets no points, as from nbgrader; where all are, or the student's
    files could not be read, nobody knows, so a human has to look.
    """
    found = {notebook.name: notebook for notebook in record.notebooks}
    there = source.templates.keys() & {*submission.files, *submission.refused}
    notebooks, missing = [], []
    for name, template in source.templates.items():
        if name in there:
            graded = found.get(name, NotebookRecord(name, problem=NOT_GRADED))
            notebooks.append(graded_notebook(graded, template, settings.config))
        else:
            parts = (part for part, c in template.cells.items() if is_grade(c) or is_task(c))
            missing.append(Missing(name, dict.fromkeys(parts, 0.0 if there else None)))
    return Outcome(tuple(notebooks), tuple(missing))


def is_in_folder(outcome: Outcome, folder: Path) -> bool:
    """Whether a folder holds just these notebooks."""
    expected = {f"{notebook.name}.ipynb": notebook for notebook in outcome.notebooks}
    found = {path.name: path for path in folder.glob("*.ipynb")}
    return found.keys() == expected.keys() and all(
        path.read_bytes() == expected[name].content() for name, path in found.items()
    )


def fill_folder(
    folder: Path,
    notebooks: tuple[GradedNotebook, ...],
    submission: Submission,
    source: AssignmentSource,
    settings: Settings,
) -> None:
    """Write notebooks and further files; the instructor's win over the student's.

    Args:
        folder: an empty one.
        notebooks: graded.
        submission: where the student's further files are.
        source: where the instructor's are.
        settings: the course's, with the permissions of its files.
    """
    for notebook in notebooks:
        (folder / f"{notebook.name}.ipynb").write_bytes(notebook.content())
    for path in source.others:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.folder / path, folder / path)
    for path in submission.others:
        _copy_from_student(submission.folder / path, folder / path)
    _set_permissions(folder, settings)


def _copy_from_student(path: Path, target: Path) -> None:
    """Copy a file, unless it vanished, turned into something else, or has no place."""
    try:
        file = open_regular(path)
    except OSError:
        return
    with file:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            copy = target.open("xb")
        except IN_THE_WAY:
            return
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return
            raise
        with copy:
            shutil.copyfileobj(file, copy)


def _set_permissions(folder: Path, settings: Settings) -> None:
    """Give files the permissions that nbgrader gives them."""
    mode = int(str(settings.autograde.permissions), 8)
    for path in [folder, *folder.rglob("*")]:
        if not path.is_dir():
            path.chmod(mode)
        elif settings.coursedir.groupshared:
            path.chmod((path.stat().st_mode | GROUP_MAY_ALL) & 0o2777)
