"""nbgrader's own commands, run on a course folder, and what they leave in its gradebook."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat

from shardwise_grading.class_run.rows import Row
from shardwise_grading.submission.read import missing

if TYPE_CHECKING:
    from collections.abc import Callable

KEPT_LINES = 30


def nbgrader(course: Path, *arguments: str, on_line: Callable[[str], None] | None = None) -> int:
    """Run an nbgrader command from a course folder.

    The user's own Jupyter and IPython settings stay out of it, so that every machine grades alike.

    Args:
        course: the folder with ``nbgrader_config.py``.
        arguments: the command and its arguments.
        on_line: gets each line of the log as it comes.

    Returns:
        The exit status; nbgrader's is 1 when any submission failed.

    Raises:
        RuntimeError: nbgrader could not do its work at all; the message ends with its last lines.
    """
    private = course / ".settings"
    environment = os.environ | {
        "JUPYTER_CONFIG_DIR": str(private / "jupyter"),
        "IPYTHONDIR": str(private / "ipython"),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        "SHARDWISE_HIDDEN": str(course / "hidden"),
    }
    last: deque[str] = deque(maxlen=KEPT_LINES)
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "nbgrader", *arguments],
        cwd=course,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            last.append(line)
            if on_line:
                on_line(line)
    if process.returncode and arguments[0] != "autograde":
        raise RuntimeError(f"nbgrader {' '.join(arguments)} failed:\n{''.join(last)}")
    return process.returncode


def read_rows(course: Path, assignment: str) -> list[Row]:
    """Read from folders and gradebook how each submission of an assignment fared.

    A submission that nbgrader gave up on has an entry in the gradebook with 0 points. It is a row
    that needs a human here, because nobody has looked at the work.
    """
    from nbgrader.api import Gradebook, MissingEntry  # noqa: PLC0415  (takes seconds)

    rows = []
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        for folder in sorted((course / "submitted").iterdir()):
            student = folder.name
            problem = find_problem(course, student, assignment)
            if problem:
                rows.append(Row(student, problem=problem))
                continue
            try:
                notebooks = gradebook.find_submission(assignment, student).notebooks
            except MissingEntry:
                rows.append(Row(student, problem="the gradebook has no entry for this submission"))
                continue
            points = {notebook.name: float(notebook.score) for notebook in notebooks}
            max_points = {notebook.name: float(notebook.max_score) for notebook in notebooks}
            rows.append(Row(student, dict(sorted(points.items())), max_points))
    return rows


def find_problem(course: Path, student: str, assignment: str) -> str:
    """Say why a human has to look at a submission, or nothing when nbgrader could grade it."""
    handed_in = course / "submitted" / student / assignment
    names = {path.name for path in handed_in.glob("*.ipynb")}
    if not names:
        return "no notebook was handed in"
    released = {path.name: path for path in (course / "release" / assignment).glob("*.ipynb")}
    for name in sorted(names | released.keys()):
        if name not in names:
            return missing(Path(name).stem, [Path(other).stem for other in names - released.keys()])
        problem = _damage(handed_in / name, released.get(name))
        if problem:
            return f"{name} {problem}"
    # nbgrader gives up on all notebooks of a student where one is damaged: that was said above.
    for name in sorted(names):
        if not _was_run(course / "autograded" / student / assignment / name):
            again = f"nbgrader autograde {assignment} --student={student}"
            return f"{name} could not be graded by nbgrader; see what '{again}' says"
    return ""


def _damage(path: Path, released: Path | None) -> str:
    """Say what is wrong with the file of a notebook, so that nbgrader would give 0 points for it.

    A damaged file makes nbformat raise what it likes.
    """
    try:
        version = json.loads(path.read_bytes())["nbformat"]
        if version != nbformat.current_nbformat:
            return f"is in notebook format {version}; save it in {nbformat.current_nbformat}"
        missing = sorted(_cells(released).keys() - _cells(path).keys()) if released else []
    except json.JSONDecodeError as error:
        return f"is no JSON: {error}"
    except Exception as error:  # noqa: BLE001
        reason = " ".join(str(error).split())[:80]
        return f"is no readable notebook: {type(error).__name__} {reason}"
    return f"lacks cells of the release: {', '.join(missing)}"[:120] if missing else ""


def _was_run(path: Path) -> bool:
    """Whether a kernel ran every graded cell of an autograded notebook."""
    return path.is_file() and all(
        cell.execution_count is not None
        for cell in _cells(path).values()
        if cell.cell_type == "code" and cell.metadata.nbgrader.grade
    )


def _cells(path: Path) -> dict[str, Any]:
    """The cells of a notebook that nbgrader knows, by its own name for them."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    return {
        cell.metadata.nbgrader.grade_id: cell
        for cell in notebook.cells
        if "grade_id" in cell.metadata.get("nbgrader", {})
    }
