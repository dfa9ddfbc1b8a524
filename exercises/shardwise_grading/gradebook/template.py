"""The instructor's notebooks as nbgrader releases them, hidden tests still inside."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import nbformat
from nbgrader.converters import GenerateAssignment
from nbgrader.preprocessors import SaveCells
from nbgrader.utils import is_grade, is_locked, is_solution, is_task

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from shardwise_grading.gradebook.config import Settings


@dataclass(frozen=True, slots=True)
class Template:
    """What of an instructor's notebook belongs into every graded one.

    Args:
        metadata: of the notebook, with its kernel.
        cells: those that nbgrader knows, by their names, in order.
    """

    metadata: Mapping[str, Any]
    cells: Mapping[str, Mapping[str, Any]]


def read_template(path: Path, settings: Settings) -> Template:
    """Bring an instructor's notebook into the form that the gradebook has of it.

    Args:
        path: the source notebook.
        settings: the course's, such as what stands in the place of a solution.
    """
    converter = GenerateAssignment(coursedir=settings.coursedir, config=settings.config)
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    resources = {"metadata": {"name": path.stem, "path": str(path.parent)}}
    steps = takewhile(lambda step: step is not SaveCells, converter.preprocessors)
    for step in steps:
        notebook, resources = step(parent=converter)(notebook, resources)
    cells = {
        cell.metadata.nbgrader.grade_id: cell
        for cell in notebook.cells
        if is_grade(cell) or is_solution(cell) or is_locked(cell) or is_task(cell)
    }
    return Template(notebook.metadata, cells)
