"""What students get: complete on its own, and with neither hidden checks nor solutions in it."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys

import nbformat
import pytest
from leaks import forbidden, leaks, packed_in_every_way
from support import ROOT

from shardwise_grading.course import nbgrader
from shardwise_grading.release import make_release
from shardwise_grading.sample import copy_course

ASSIGNMENT = "distributed-training"
COURSE = ROOT / "exercises"
SOURCE = COURSE / "source" / ASSIGNMENT
DOWNLOADS = ROOT / "chapter" / "exercises"
FILES = sorted(path.name for path in SOURCE.glob("*.ipynb"))
TABLE = "2-stage-2-memory.ipynb"  # the notebook with two parts


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """The folder for students, made from a copy of the course, in a folder with a space."""
    course = tmp_path_factory.mktemp("a course")
    copy_course(COURSE, course)
    before = os.umask(0o077)  # an instructor whose files are private
    try:
        return make_release(course, ASSIGNMENT)
    finally:
        os.umask(before)


def build(kind, folder):
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.iterdir()
    return path


class TestLeaks:
    def test_are_seen_however_they_are_packed(self):
        for line in sorted(forbidden())[::20]:
            for package in packed_in_every_way(line):
                assert line in leaks(package)

    def test_are_seen_in_the_sources(self):
        assert len(leaks(COURSE / "hidden")) > 40
        assert len(leaks(SOURCE)) > 10


class TestFolder:
    def test_is_all_that_a_student_needs_and_nothing_else(self, released):
        files = {path.relative_to(released).as_posix() for path in released.rglob("*.*")}
        (wheel,) = (name for name in files if name.endswith(".whl"))
        assert files == {*FILES, "README.md", "requirements.txt", wheel}
        first, *others = (released / "requirements.txt").read_text().splitlines()
        assert first == f"./{wheel}"
        assert others == (SOURCE / "requirements.txt").read_text().splitlines()

    def test_can_be_read_by_everybody(self, released):
        """Also where the instructor's own files can't."""
        modes = {path: path.stat().st_mode & 0o777 for path in (released, *released.rglob("*"))}
        assert {path for path in modes if path.is_dir()} == {released, released / "wheels"}
        assert all(mode == (0o755 if path.is_dir() else 0o644) for path, mode in modes.items())

    def test_holds_neither_checks_nor_solutions(self, released):
        assert leaks(released) == set()
        for path in released.glob("*.ipynb"):
            text = path.read_text(encoding="utf-8")
            for word in ("BEGIN", "report.score", "grade(", "SHARDWISE_HIDDEN"):
                assert word not in text
            assert "# Your code here." in text

    @pytest.mark.parametrize("file", FILES)
    def test_the_stub_is_python_or_a_magic(self, released, file):
        for cell in nbformat.read(released / file, as_version=4).cells:
            if cell.cell_type == "code":
                ast.parse(cell.source)

    @pytest.mark.parametrize("file", FILES)
    def test_the_readme_says_of_each_notebook_what_the_notebook_says(self, released, file):
        header = nbformat.read(released / file, as_version=4).cells[0].source
        minutes, difficulty = re.search(r"\| (\d+) \| (\d) / 5 \|", header).groups()
        row = f"| `{file}` | {minutes} | {difficulty} of 5 |"
        assert row in (released / "README.md").read_text(encoding="utf-8")

    @pytest.mark.long
    def test_validate_tells_a_stub_from_a_solution(self, released):
        course, lines, names = released.parent.parent, [], []
        for folder in (released, SOURCE):
            for file in FILES:
                names.append(f"{folder.parent.name}-{file}")
                shutil.copy2(folder / file, course / names[-1])
        nbgrader(course, "validate", *names, on_line=lines.append)
        verdicts = re.findall(r"VALIDATION FAILED ON \d CELL|Success!", "".join(lines))
        stubs = [f"VALIDATION FAILED ON {2 if file == TABLE else 1} CELL" for file in FILES]
        assert verdicts == [*stubs, *["Success!"] * len(FILES)]

    def test_replaces_an_older_one(self, released):
        course = released.parent.parent
        (released / "old.txt").write_text("old")
        (released / FILES[0]).write_text("changed")
        before = (released / FILES[1]).read_bytes()
        assert make_release(course, ASSIGNMENT) == released
        assert not (released / "old.txt").exists()
        assert (released / FILES[0]).stat().st_size > 1000
        assert (released / FILES[1]).read_bytes() == before
        assert len(list((released / "wheels").iterdir())) == 1

    def test_of_no_assignment_names_what_is_missing(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="assignment='other' has no folder"):
            make_release(tmp_path, "other")


class TestPackages:
    def test_the_wheel_holds_the_check_and_no_part_of_the_course(self, released):
        (wheel,) = (released / "wheels").iterdir()
        names = subprocess.run(
            [sys.executable, "-m", "zipfile", "-l", wheel],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert "shardwise_grading/check/command.py" in names
        assert not re.search(r"hidden|source/|tests?/|\.ipynb|gradebook\.db", names)
        assert leaks(wheel.read_bytes()) == set()

    def test_the_sdist_holds_neither_checks_nor_solutions(self, tmp_path):
        assert leaks(build("sdist", tmp_path)) == set()


class TestDownloads:
    @pytest.mark.parametrize("file", FILES)
    def test_are_what_the_release_holds(self, released, file):
        """`make release` writes both."""
        assert (DOWNLOADS / file).read_bytes() == (released / file).read_bytes()

    def test_are_no_others(self):
        assert sorted(path.name for path in DOWNLOADS.iterdir()) == FILES


@pytest.mark.long
def test_requirements_install_and_check_runs_on_a_students_machine(released, tmp_path):
    """A fresh environment, with the packages of ours beside it in place of a download."""
    folder = tmp_path / "a student's folder"
    shutil.copytree(released, folder)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    wheel = (folder / "requirements.txt").read_text().splitlines()[0]
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run(install, cwd=folder, check=True)
    (packages,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    ours = next(entry for entry in sys.path if entry.endswith("site-packages"))
    # After the environment's own, so that the installed wheel is what is imported.
    (packages / "others.pth").write_text(f"{ours}\n")
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(tmp_path)}
    where = "import shardwise, shardwise_grading as g; print(shardwise.__file__, g.__file__)"
    found = run([python, "-c", where], folder, environment)
    assert found.stdout.count(str(packages)) == 2, found
    done = run([python, "-m", "shardwise_grading", "check", *FILES], folder, environment)
    assert done.returncode == 1, done
    assert done.stdout.count("The saved file has only the stub") == len(FILES) + 1
    shutil.copy2(SOURCE / FILES[0], folder)
    done = run(
        [python, "-m", "shardwise_grading", "check", "--cold", FILES[0]], folder, environment
    )
    assert done.returncode == 0, done


def run(command, folder, environment):
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
