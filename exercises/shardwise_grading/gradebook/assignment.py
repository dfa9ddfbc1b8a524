"""All that a course has of one assignment, read once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nbgrader.preprocessors import ClearSolutions
from nbgrader.utils import find_all_files

from shardwise_grading.gradebook.template import read_template
from shardwise_grading.submission.layout import CODE_STUB, read_layout

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shardwise_grading.gradebook.config import Settings
    from shardwise_grading.gradebook.template import Template
    from shardwise_grading.submission.layout import Layout


@dataclass(frozen=True, slots=True)
class AssignmentSource:
    """What an instructor wrote for an assignment.

    Args:
        folder: where it is.
        layouts: its notebooks as they are graded, by name.
        templates: its notebooks as the gradebook has them, by name.
        hidden: the source of the hidden checks that it asks for, by exercise.
        others: further files that replace what students hand in, relative to the folder.
    """

    folder: Path
    layouts: Mapping[str, Layout]
    templates: Mapping[str, Template]
    hidden: Mapping[str, str]
    others: tuple[Path, ...]


def read_source(assignment: str, settings: Settings) -> AssignmentSource:
    """Read an assignment of a course.

    Raises:
        FileNotFoundError: the course has no such assignment, or no hidden checks for it.
        ValueError: a notebook can't be graded as it stands.
    """
    directory = settings.coursedir
    folder = Path(directory.format_path(directory.source_directory, ".", assignment))
    paths = sorted(folder.glob("*.ipynb")) if Path(assignment).name == assignment else []
    if not paths:
        sources = Path(directory.root) / directory.source_directory
        there = sorted(path.parent.name for path in sources.glob("*/*.ipynb"))
        raise FileNotFoundError(
            f"assignment={assignment!r} has no notebook in {folder}; "
            f"give one of: {', '.join(dict.fromkeys(there)) or 'none is there yet'}"
        )
    clear = ClearSolutions(config=settings.config)
    stubs = (clear.code_stub.get("python", CODE_STUB), clear.text_stub)
    layouts = {path.stem: read_layout(path, *stubs) for path in paths}
    exercises = {s.ask.exercise for layout in layouts.values() for s in layout.steps if s.ask}
    kept = settings.autograde.exclude_overwriting
    others = {
        Path(path).relative_to(folder)
        for path in find_all_files(str(folder), [*directory.ignore, "*.ipynb"])
    }
    return AssignmentSource(
        folder=folder,
        layouts=layouts,
        templates={path.stem: read_template(path, settings) for path in paths},
        hidden={name: _hidden(name, settings) for name in sorted(exercises)},
        others=tuple(sorted(others - set(map(Path, kept.get(assignment, []))))),
    )


def _hidden(exercise: str, settings: Settings) -> str:
    """Read the hidden checks of an exercise from the first folder that has them."""
    for folder in settings.hidden_folders:
        path = folder / f"{exercise}.py"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    named = ", ".join(map(str, settings.hidden_folders)) or "no folder"
    raise FileNotFoundError(
        f"exercise={exercise!r} has no hidden checks in {named}; "
        "name their folder in SHARDWISE_HIDDEN in nbgrader_config.py"
    )
