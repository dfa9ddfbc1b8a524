"""Lets the quarto program build the book, and lets it replace the old one only if it is sound.

Quarto runs all cells in each build: its cache (`freeze`) would go by the text of a chapter alone,
and keep what a changed library no longer puts out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from shardwise_book import check
from shardwise_book.config import load
from shardwise_book.errors import BookError, Problem, raise_any
from shardwise_book.output import WORK, put, refuse_strange, space_beside

if TYPE_CHECKING:
    from pathlib import Path

# The first version with which the whole book was tried; `pyproject.toml` names it as well.
OLDEST = (1, 10)
INSTALL = "install it from https://quarto.org, or do without: make book ENGINE=builtin"


def build(root: Path) -> Path:
    """Build the book of the project in `root` with the quarto program on PATH.

    Args:
        root: the folder that holds `_quarto.yml`.

    Returns:
        The folder of the built book.

    Raises:
        BookError: no quarto, an old one, a build that failed or a page that is broken; a book that
            was built before then stays as it was.
    """
    root = root.resolve()
    program = _program()
    target = (root / load(root).output).resolve()
    refuse_strange(root, target)
    made = root / WORK / "quarto"
    shutil.rmtree(made, ignore_errors=True)
    _render(program, root, made)
    raise_any(check.check_site(made))
    with space_beside(root, target) as folder:
        put(made, target, folder / "old")
    return target


def _program() -> str:
    """Return the path of a quarto that is new enough."""
    program = shutil.which("quarto")
    if program is None:
        raise BookError(Problem("quarto", None, "there is no such program on PATH", INSTALL))
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    said = (done.stdout + done.stderr).strip()
    version = re.match(r"(\d+)\.(\d+)", said)
    if version is None:
        raise BookError(
            Problem(program, None, f"it does not say its version, but: {said}", INSTALL)
        )
    if (int(version[1]), int(version[2])) < OLDEST:
        needed = ".".join(map(str, OLDEST))
        message = f"this is quarto {said}, and the book needs {needed} or newer"
        raise BookError(Problem(program, None, message, INSTALL))
    return program


def _render(program: str, root: Path, made: Path) -> None:
    """Have quarto write the book into `made`, with this Python for the cells."""
    done = subprocess.run(
        [program, "render", "--output-dir", made.relative_to(root).as_posix()],
        cwd=root,
        env=os.environ | {"QUARTO_PYTHON": sys.executable},
        check=False,
    )
    if done.returncode:
        message = f"it ended with exit code {done.returncode}"
        raise BookError(Problem("quarto render", None, message, "see what it said above"))
    if not made.is_dir():
        message = f"it wrote nothing into {made.relative_to(root).as_posix()}"
        raise BookError(Problem("quarto render", None, message, INSTALL))
