"""Let the gradebook know an assignment, as ``nbgrader generate_assignment`` does."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from nbgrader.api import Assignment, Notebook, SourceCell
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import is_locked
from sqlalchemy import select

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from nbgrader.api import Gradebook

    from shardwise_grading.gradebook.config import Settings
    from shardwise_grading.gradebook.template import Template

Cells = dict[tuple[str, str], tuple["Any", ...]]


def is_known(gradebook: Gradebook, assignment: str, templates: Mapping[str, Template]) -> bool:
    """Whether a gradebook has an assignment with just these notebooks and cells.

    Args:
        gradebook: nbgrader's, in a transaction.
        assignment: the assignment.
        templates: its notebooks by name.
    """
    of_assignment = select(Notebook.name).join(Assignment).where(Assignment.name == assignment)
    columns = (SourceCell.cell_type, SourceCell.locked, SourceCell.checksum)
    of_cells = of_assignment.join(SourceCell, SourceCell.notebook_id == Notebook.id)
    found = gradebook.db.execute(of_cells.add_columns(SourceCell.name, *columns))
    cells: Cells = {(notebook, name): tuple(rest) for notebook, name, *rest in found}
    notebooks = set(gradebook.db.scalars(of_assignment))
    return notebooks == templates.keys() and cells == _expected(templates)


def _expected(templates: Mapping[str, Template]) -> Cells:
    return {
        (notebook, name): (cell["cell_type"], is_locked(cell), cell["metadata"].nbgrader.checksum)
        for notebook, template in templates.items()
        for name, cell in template.cells.items()
    }


def make_known(settings: Settings, assignment: str) -> None:
    """Write an assignment into the gradebook; the release folder stays as it is.

    Raises:
        ValueError: nbgrader refuses, because cells or notebooks changed after students handed in.
    """
    with tempfile.TemporaryDirectory() as scratch:
        directory = CourseDirectory(
            config=settings.config, assignment_id=assignment, release_directory=scratch
        )
        try:
            GenerateAssignment(coursedir=directory, config=settings.config).start()
        except NbGraderException as error:
            raise ValueError(
                f"assignment={assignment!r} can't be brought into the gradebook: "
                f"run 'nbgrader generate_assignment {assignment} --force' and read why ({error})"
            ) from error
