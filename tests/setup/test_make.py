"""The Makefile says clearly what a machine lacks, before it installs anything."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support import ROOT


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that `make setup` reads, in a folder whose name holds a space."""
    folder = tmp_path / "a checkout"
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        folder.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(
        ROOT / "widgets", folder / "widgets", ignore=shutil.ignore_patterns("node_modules")
    )
    return folder


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder to put first on PATH, with what make itself needs and no Python or Node."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("bash", "sh", "find", "sed", "expand", "touch", "test", "rm", "mkdir", "env"):
        (folder / name).symlink_to(shutil.which(name))
    return folder


def program(folder: Path, name: str, *lines: str) -> None:
    script = folder / name
    script.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    script.chmod(0o755)


def setup(checkout: Path, programs: Path, *arguments: str) -> str:
    run = subprocess.run(
        [shutil.which("make"), "setup", *arguments],
        cwd=checkout,
        env={**os.environ, "PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode != 0
    return run.stdout + run.stderr


def skip_the_python_step(checkout: Path) -> None:
    (checkout / ".venv").mkdir()
    (checkout / ".venv/.installed").touch()


def test_no_python(checkout: Path, programs: Path):
    said = setup(checkout, programs)
    assert "needs Python 3.11 or newer, and 'python3' is not on PATH" in said
    assert "make PYTHON=" in said


def test_an_old_python(checkout: Path, programs: Path):
    program(programs, "python3", 'test "$1" = --version && echo Python 3.9.2 && exit 0', "exit 1")
    said = setup(checkout, programs)
    assert "needs Python 3.11 or newer, and 'python3' is Python 3.9.2" in said
    assert not (checkout / ".venv").exists()


def test_no_node(checkout: Path, programs: Path):
    skip_the_python_step(checkout)
    assert "needs Node.js 20 or newer to build its widgets" in setup(checkout, programs)


def test_an_old_node(checkout: Path, programs: Path):
    skip_the_python_step(checkout)
    program(programs, "node", 'test "$1" = --version && echo v16.1.0 && exit 0', "exit 1")
    assert "needs Node.js 20 or newer, and this is v16.1.0" in setup(checkout, programs)


def test_no_npm(checkout: Path, programs: Path):
    skip_the_python_step(checkout)
    program(programs, "node", "exit 0")
    assert "Shardwise needs npm, and it is not on PATH" in setup(checkout, programs)
