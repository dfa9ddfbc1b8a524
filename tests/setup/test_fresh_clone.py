"""What a stranger does first: the README's commands, in a fresh copy, in a folder with a space."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from typing import TYPE_CHECKING

import pytest
from support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.long

ASSIGNMENT = "exercises/release/distributed-training"
# What grading writes into the course.
WRITTEN = ("release", "submitted", "autograded", "feedback", "results", "gradebook.db")


def environment() -> dict[str, str]:
    """The environment of a shell in which nothing of this checkout is active."""
    own = str(ROOT / ".venv/bin")
    path = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if p != own)
    hidden = ("VIRTUAL_ENV", "QUARTO_PYTHON", "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHONPATH")
    return {k: v for k, v in os.environ.items() if k not in hidden} | {"PATH": path}


def copy_into(folder: Path) -> Path:
    """Copy every file that git tracks or would track, and nothing else."""
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


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy in which the README's first command has run."""
    folder = copy_into(tmp_path_factory.mktemp("fresh") / "my clone of shardwise")
    shell("make book ENGINE=builtin", folder, timeout=1800)
    return folder


@pytest.fixture
def course(built: Path) -> Path:
    """The same copy, with nothing in its course that grading wrote."""
    for name in WRITTEN:
        path = built / "exercises" / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    return built


@contextmanager
def running(command: list[str] | str, folder: Path) -> Iterator[Queue[str | None]]:
    """Run a server in a process group of its own, give the lines that it prints, and end it."""
    server = subprocess.Popen(
        command if isinstance(command, list) else ["bash", "-c", command],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    lines: Queue[str | None] = Queue()

    def read() -> None:
        for line in server.stdout:
            lines.put(line)
        lines.put(None)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield lines
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        try:
            server.wait(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait(timeout=30)
            raise
        finally:
            reader.join(timeout=30)
            server.stdout.close()


def wait_for_line(lines: Queue[str | None], pattern: str, seconds: float) -> re.Match[str]:
    """Return the first match in what a server prints, and fail when it ends or takes too long."""
    deadline = time.monotonic() + seconds
    seen = []
    while (left := deadline - time.monotonic()) > 0:
        try:
            line = lines.get(timeout=left)
        except Empty:
            break
        if line is None:
            pytest.fail(f"the server ended and never said {pattern!r}:\n{''.join(seen)}")
        seen.append(line)
        if found := re.search(pattern, line):
            return found
    pytest.fail(f"{seconds} s and never {pattern!r}:\n{''.join(seen)}")


def wait_for_answer(url: str, lines: Queue[str | None], seconds: float) -> bytes:
    """Return what the address answers, as soon as something listens there."""
    deadline = time.monotonic() + seconds
    seen: list[str | None] = []
    while time.monotonic() < deadline and None not in seen:
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return bytes(answer.read())
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
        while not lines.empty():
            seen.append(lines.get())
    pytest.fail(f"{url} never answered:\n{''.join(filter(None, seen))}")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def readme_commands(section: str) -> list[str]:
    """The lines of the fenced shell blocks under one heading of the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    body = re.split(r"^## ", text, flags=re.MULTILINE)
    part = next(b for b in body if b.startswith(section))
    blocks = re.findall(r"```bash\n(.*?)```", part, flags=re.DOTALL)
    return [line.split("   #")[0].strip() for block in blocks for line in block.splitlines()]


def test_the_first_command_of_the_readme_builds_the_book(built: Path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(r"```bash\nmake book .*\nmake test ", text)
    assert "Distributed" in (built / "_book/index.html").read_text(encoding="utf-8")


def test_a_second_build_does_nothing_twice(built: Path):
    kept = [
        built / ".venv/.installed",
        built / "widgets/node_modules/.installed",
        built / "widgets/shardwise_widgets/static/.built",
    ]
    before = [path.stat().st_mtime_ns for path in kept]
    pages = {p: p.stat().st_mtime_ns for p in sorted((built / "_book").rglob("*.html"))}
    assert pages
    shell("make book ENGINE=builtin", built)
    assert [path.stat().st_mtime_ns for path in kept] == before
    assert {p: p.stat().st_mtime_ns for p in pages} == pages


def test_serve_answers_and_search_has_an_index(built: Path):
    with running(["make", "serve", "ENGINE=builtin", "PORT=0"], built) as lines:
        address = wait_for_line(lines, r"http://localhost:\d+", seconds=120)[0]
        page = wait_for_answer(f"{address}/index.html", lines, seconds=20)
        assert b"Distributed" in page
        assert wait_for_answer(f"{address}/pagefind/pagefind.js", lines, seconds=20)


def test_the_command_under_solve_opens_the_exercises(course: Path, tmp_path: Path):
    solve, check = readme_commands("Solve")
    assert solve == "make solve"
    work = course / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    (work / "2-stage-2-memory.ipynb").write_text("begun", encoding="utf-8")
    port = free_port()
    options = f"--no-browser --port={port} --ServerApp.port_retries=0 --IdentityProvider.token=ours"
    if os.geteuid() == 0:  # as in a container; Jupyter asks for it there
        options += " --allow-root"
    folders = " ".join(
        f"JUPYTER_{name}_DIR='{tmp_path}/{name}'" for name in ("CONFIG", "DATA", "RUNTIME")
    )
    with running(f"{folders} {solve} LAB='{options}'", course) as lines:
        api = f"http://127.0.0.1:{port}/api"
        assert "version" in json.loads(wait_for_answer(api, lines, seconds=180))
        opened = json.loads(wait_for_answer(f"{api}/contents?token=ours", lines, seconds=30))
    exercises = sorted(path.name for path in (course / ASSIGNMENT).glob("*.ipynb"))
    assert sorted(entry["name"] for entry in opened["content"]) == exercises != []
    assert (work / "2-stage-2-memory.ipynb").read_text(encoding="utf-8") == "begun"
    assert "all_reduce_mean" in shell(f"{check}; test $? = 1", course)  # nobody solved it yet


def test_make_grade_prints_the_table_of_the_sample_class(built: Path):
    lines = shell("COLUMNS=160 make grade", built).splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines if re.match(r"[\w-]+ {2,}\w", line)}
    assert rows["all-right"] == ["graded", *["10"] * 5, "50"]
    assert rows["untouched"] == ["graded", *["0"] * 5, "0"]
    assert rows["broken-json"][:3] == ["needs", "a", "human"]


def test_the_commands_under_grade_take_a_class_from_release_to_feedback(course: Path):
    commands = readme_commands("Grade")
    assert commands[:2] == ["source .venv/bin/activate", "make release"]
    shell(" && ".join(commands), course)
    exercises = course / "exercises"
    assert (exercises / "feedback/ada/distributed-training/1-all-reduce-mean.html").is_file()
    results = exercises / "results/distributed-training/results.csv"
    assert "ada" in results.read_text(encoding="utf-8")


def test_the_plain_commands_build_the_book_without_make(tmp_path: Path):
    folder = copy_into(tmp_path / "a clone without make")
    shell(" && ".join(readme_commands("How it is tested")), folder, timeout=1800)
    assert (folder / "_book/index.html").exists()
