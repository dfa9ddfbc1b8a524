"""Build the wheel that students install: the library and the grader, without hidden checks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

KEPT_LINES = 20


def build_wheel(folder: Path) -> Path:
    """Build the project's wheel into an empty folder.

    Returns:
        The wheel.

    Raises:
        FileNotFoundError: the package was not installed from its repository.
        RuntimeError: the build failed; the message ends with its last lines.
    """
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(
        command,
        cwd=_project(),
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-KEPT_LINES:])
        raise RuntimeError(f"hatchling could not build the wheel:\n{last}")
    (wheel,) = folder.glob("*.whl")
    return wheel


def _project() -> Path:
    root = Path(__file__).resolve().parents[3]
    if not (root / "pyproject.toml").is_file():
        raise FileNotFoundError(
            f"there is no pyproject.toml in {root} to build the students' wheel from; "
            "make the release in the project's repository, after make setup"
        )
    return root
