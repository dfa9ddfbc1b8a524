"""What a stranger does first: the README's commands, in a fresh copy, in a folder with a space."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from support import ROOT

pytestmark = pytest.mark.long


def environment() -> dict[str, str]:
    """The environment of a shell in which nothing of this checkout is active."""
    own = str(ROOT / ".venv/bin")
    path = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if p != own)
    hidden = ("VIRTUAL_ENV", "QUARTO_PYTHON", "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHONPATH")
    return {k: v for k, v in os.environ.items() if k not in hidden} | {"PATH": path}


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of every file that git tracks or would track, and of nothing else."""
    folder = tmp_path_factory.mktemp("fresh") / "my clone of shardwise"
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def shell(command: str, folder: Path, timeout: float = 900) -> str:
    run = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert run.returncode == 0, f"{command}\n{run.stdout}\n{run.stderr}"
    return run.stdout + run.stderr


def readme_commands(section: str) -> list[str]:
    """The lines of the fenced shell blocks under one heading of the README."""
    text = (ROOT / "README.md").read_text()
    body = re.split(r"^## ", text, flags=re.MULTILINE)
    part = next(b for b in body if b.startswith(section))
    blocks = re.findall(r"```bash\n(.*?)```", part, flags=re.DOTALL)
    return [line.split("   #")[0].strip() for block in blocks for line in block.splitlines()]


def test_the_first_command_of_the_readme_builds_the_book(clone: Path):
    text = (ROOT / "README.md").read_text()
    assert re.search(r"```bash\nmake book .*\nmake test ", text)
    shell("make book ENGINE=builtin", clone)
    assert "Distributed" in (clone / "_book/index.html").read_text()


def test_a_second_build_does_nothing_twice(clone: Path):
    kept = [
        clone / ".venv/.installed",
        clone / "widgets/node_modules/.installed",
        clone / "widgets/shardwise_widgets/static/.built",
    ]
    before = [path.stat().st_mtime_ns for path in kept]
    pages = {p: p.stat().st_mtime_ns for p in sorted((clone / "_book").rglob("*.html"))}
    shell("make book ENGINE=builtin", clone)
    assert [path.stat().st_mtime_ns for path in kept] == before
    assert {p: p.stat().st_mtime_ns for p in pages} == pages


def test_serve_answers_and_search_has_an_index(clone: Path):
    server = subprocess.Popen(
        ["make", "serve", "ENGINE=builtin", "PORT=0"],
        cwd=clone,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 120
        address = None
        while address is None and time.monotonic() < deadline:
            address = re.search(r"http://localhost:(\d+)", server.stdout.readline())
        assert address, "make serve never said where the book is"
        fetch = f"curl -sf {address[0]}/index.html {address[0]}/pagefind/pagefind.js"
        assert "Distributed" in shell(fetch, clone)
    finally:
        os.killpg(server.pid, 15)
        server.wait(timeout=30)
        server.stdout.close()


def test_the_commands_under_solve_open_the_exercise(clone: Path):
    release, lab = readme_commands("Solve")
    shell(release, clone)
    # JupyterLab would run until it is stopped: let it show what it would serve instead.
    assert lab.startswith(".venv/bin/jupyter lab ")
    assert (clone / lab.split()[-1]).is_dir()
    assert "Options" in shell(lab.replace(" exercises", " --help exercises"), clone)


def test_make_grade_prints_the_table_of_the_sample_class(clone: Path):
    table = shell("make grade", clone)
    assert "needs a human" in table
    assert "10" in table


def test_the_commands_under_grade_take_a_class_through_nbgrader(clone: Path):
    commands = readme_commands("Grade")
    assert commands[:2] == ["source .venv/bin/activate", "cd exercises"]
    release = next(c for c in commands if "generate_assignment" in c)
    fill = (
        "mkdir -p submitted/ada && "
        "cp -r release/distributed-training submitted/ada/distributed-training"
    )
    steps: list[str] = []
    for command in commands:
        if "collect" in command:  # needs an exchange folder; the comment names the other way
            continue
        steps.append(command)
        if command == release:
            steps.append(fill)
    shell(" && ".join(steps), clone)
    assert (clone / "exercises/feedback/ada/distributed-training").is_dir()
    assert "ada" in (clone / "exercises/grades.csv").read_text()


def test_the_four_plain_commands_build_the_book_without_make(clone: Path):
    shutil.rmtree(clone / ".venv")
    shutil.rmtree(clone / "_book")
    shutil.rmtree(clone / "widgets/node_modules")
    shutil.rmtree(clone / "widgets/shardwise_widgets/static")
    shell(" && ".join(readme_commands("How it is tested")), clone)
    assert (clone / "_book/index.html").exists()
