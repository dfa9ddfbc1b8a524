"""Make the folder for students: nbgrader's release of the notebooks, and what runs them."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from shardwise_grading.course import nbgrader
from shardwise_grading.gradebook.safe_files import write_beside
from shardwise_grading.release.wheel import build_wheel

REQUIREMENTS = "requirements.txt"
WHEELS = "wheels"


def make_release(course: Path, assignment: str) -> Path:
    """Make ``release/<assignment>``: notebooks, a README, and all that has to be installed.

    nbgrader makes the notebooks and copies what lies beside their sources, so the folder can be
    released, collected and graded by its commands as well. An older release is replaced.

    Args:
        course: the folder with ``nbgrader_config.py``.
        assignment: the folder in its ``source/``.

    Returns:
        The folder.

    Raises:
        FileNotFoundError: there is no such assignment, or nothing to build the wheel from.
        RuntimeError: nbgrader or the build failed; the message ends with its last lines.
    """
    course = course.resolve()
    source = course / "source" / assignment
    if not source.is_dir():
        raise FileNotFoundError(
            f"assignment={assignment!r} has no folder {source}; "
            "name one of source/, and give the course by --course"
        )
    with tempfile.TemporaryDirectory(prefix="shardwise-") as scratch:
        wheel = build_wheel(Path(scratch))
        nbgrader(course, "generate_assignment", assignment, "--force")
        released = course / "release" / assignment
        shutil.copytree(wheel.parent, released / WHEELS, dirs_exist_ok=True)
    _require(released / REQUIREMENTS, f"./{WHEELS}/{wheel.name}")
    _open_to_all(released)
    return released


def _require(path: Path, wheel: str) -> None:
    """Put the wheel before what else is required.

    By its path, because a package index may have something else under the project's name.
    """
    others = path.read_text(encoding="utf-8") if path.is_file() else ""
    write_beside(path, f"{wheel}\n{others}".encode())


def _open_to_all(folder: Path) -> None:
    """Let everybody read the release, who may get it from a file server or an archive."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
