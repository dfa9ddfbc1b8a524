"""What the exercise suites share: one graded sample class for all of them."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from support import ROOT

from shardwise_grading.runner import load

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


@dataclass(frozen=True)
class GradedClass:
    """The course folder after `sample --keep`, and what the command printed."""

    course: Path
    status: int
    table: str


@pytest.fixture(scope="session")
def graded(tmp_path_factory: pytest.TempPathFactory) -> GradedClass:
    """Grade the sample class once, as `make grade` does, in a folder with a space in its name.

    Processes of pytest-xdist share it, so tests leave it as it is.
    """
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    course, said = shared / "a class" / "course", shared / "graded.json"
    with (shared / "graded.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            done = _sample(course, tmp_path_factory.mktemp("home"))
            said.write_text(json.dumps([done.returncode, done.stdout + done.stderr]))
    return GradedClass(course, *json.loads(said.read_text()))


def _sample(course: Path, home: Path) -> subprocess.CompletedProcess[str]:
    course.parent.mkdir()
    return subprocess.run(
        [sys.executable, "-m", "shardwise_grading", "sample", "--keep", str(course)],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "160", "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.fixture
def hidden_folder(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the hidden checks are, named as the course names it."""
    folder = ROOT / "exercises" / "hidden"
    monkeypatch.setenv("SHARDWISE_HIDDEN", str(folder))
    monkeypatch.setenv("SHARDWISE_SEED", "23")
    return folder


@pytest.fixture
def stage_2_checks(hidden_folder: Path) -> ModuleType:
    """The hidden checks of exercise 2."""
    return load("stage_2_memory")
