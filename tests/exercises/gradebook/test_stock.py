"""Back and forth between ``nbgrader autograde`` and ours: one honest class, the same scores."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from exercises.gradebook.small_course import (
    ASSIGNMENT,
    RIGHT,
    WRONG,
    Small,
    hand_in,
)
from support import ROOT

from shardwise_grading.gradebook.course import Course
from shardwise_grading.records import CellRecord, NotebookRecord, SubmissionRecord
from shardwise_grading.submission.read import read_script

STUB = {"1-twice": "def twice(x):\n    # Your code here.", "2-half": RIGHT["2-half"]}
CLASS = {"right": RIGHT, "wrong": WRONG, "stub": STUB, "one": {"1-twice": RIGHT["1-twice"]}}


def nbgrader(root, *arguments):
    """Run nbgrader's own command in a course; what it says goes into the error."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "JUPYTER_CONFIG_DIR": str(root / ".jupyter")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "nbgrader", *arguments],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def facts(course, student, assignment=ASSIGNMENT):
    """All that the gradebook says of a student."""
    return course.marks(student, assignment)


@dataclass
class Both:
    """One class, graded by stock nbgrader and by us."""

    stock: Path
    ours: Path


@pytest.fixture(scope="module")
def both(blank, tmp_path_factory):
    stock, ours = (tmp_path_factory.mktemp(name) / "course" for name in ("stock", "ours"))
    shutil.copytree(blank, stock)
    for student, answers in CLASS.items():
        hand_in(stock, student, answers, timestamp="2026-01-01 10:00:00 UTC")
    shutil.copytree(stock, ours)
    nbgrader(stock, "autograde", ASSIGNMENT)
    with Course.open(ours) as course:
        for student in CLASS:
            Small(ours, course).grade(student)
    return Both(stock, ours)


@pytest.mark.long
class TestSmall:
    def test_the_gradebooks_agree(self, both):
        with Course.open(both.stock) as stock, Course.open(both.ours) as ours:
            for student in CLASS:
                assert facts(stock, student) == facts(ours, student)
            entries = [
                [
                    (e.student_id, e.timestamp, e.score)
                    for e in book.assignment_submissions("arithmetic")
                ]
                for book in (stock._gradebook, ours._gradebook)
            ]
            assert sorted(entries[0]) == sorted(entries[1])

    def test_the_folders_agree(self, both):
        for path in (both.stock / "autograded").rglob("*"):
            other = both.ours / path.relative_to(both.stock)
            assert other.stat().st_mode == path.stat().st_mode
            if path.suffix != ".ipynb":
                continue
            stock, ours = (nbformat.read(one, as_version=4) for one in (path, other))
            assert stock.metadata.kernelspec == ours.metadata.kernelspec
            for a, b in zip(stock.cells, ours.cells, strict=True):
                assert (a.cell_type, a.source) == (b.cell_type, b.source)
                assert (
                    a.metadata.get("nbgrader", {}).items() <= b.metadata.get("nbgrader", {}).items()
                )
                assert a.get("execution_count") == b.get("execution_count")
                kinds = [[o.output_type for o in cell.get("outputs", [])] for cell in (a, b)]
                if "stub" not in path.parts or a.id != "twice-hidden":  # there ours says more
                    assert kinds[0] == kinds[1]

    def test_stock_then_ours_changes_no_score(self, both, tmp_path):
        root = tmp_path / "course"
        shutil.copytree(both.stock, root)
        with Course.open(root) as course:
            small = Small(root, course)
            for student in CLASS:
                before = facts(course, student)
                assert not course.is_current(small.submission(student))
                small.grade(student)
                assert facts(course, student) == before
                assert course.is_current(small.submission(student))

    def test_ours_then_stock_changes_no_score(self, both, tmp_path):
        root = tmp_path / "course"
        shutil.copytree(both.ours, root)
        assert "Skipping existing assignment" in nbgrader(root, "autograde", ASSIGNMENT)
        with Course.open(root) as course:
            small = Small(root, course)
            assert all(course.is_current(small.submission(student)) for student in CLASS)
            before = facts(course, "wrong")
            hand_in(root, "wrong", WRONG, timestamp="2026-01-02 10:00:00 UTC")
            said = nbgrader(root, "autograde", ASSIGNMENT)
            assert "Updating existing assignment" in said
            assert said.count("Skipping existing assignment") == len(CLASS) - 1
            assert facts(course, "wrong") == before
            submission = small.submission("wrong")
            assert not course.is_current(submission)
            record = course.record("wrong", ASSIGNMENT)
            assert record.digest == course.digest(submission)
            course.save(record, submission)
            assert course.is_current(submission)
            assert facts(course, "wrong") == before

    def test_feedback_and_export_work_on_ours(self, both, tmp_path):
        root = tmp_path / "course"
        shutil.copytree(both.ours, root)
        folder = hand_in(root, "broken")
        (folder / "1-twice.ipynb").write_bytes(b"{")
        with Course.open(root) as course:
            Small(root, course).grade("broken")
        nbgrader(root, "generate_feedback", ASSIGNMENT)
        page = (root / "feedback" / "wrong" / ASSIGNMENT / "1-twice.html").read_text()
        assert "Hidden checks: 2 of 3 points" in page
        assert "(Score: 2.0 / 3.0)" in page
        assert (root / "feedback" / "broken" / ASSIGNMENT / "1-twice.html").is_file()
        nbgrader(root, "export")
        with (root / "grades.csv").open() as file:
            rows = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
        assert rows == {"right": 5, "wrong": 2, "stub": 2, "one": 3, "broken": 2}


def solved(root, student, change=None):
    """Hand in the instructor's own notebooks, which hold the solutions."""
    folder = root / "submitted" / student / "distributed-training"
    shutil.copytree(root / "source" / "distributed-training", folder)
    for path in folder.glob("*.ipynb") if change else ():
        path.write_text(change(path.read_text()))


@pytest.mark.long
def test_the_books_own_course(tmp_path, monkeypatch):
    """The five exercises with their real hidden checks, solved and not."""
    from shardwise_grading.runner import load, run

    root = tmp_path / "course"
    root.mkdir()
    for part in ("source", "hidden"):
        shutil.copytree(ROOT / "exercises" / part, root / part)
    shutil.copy(ROOT / "exercises" / "nbgrader_config.py", root)
    solved(root, "ada")
    solved(root, "bob", lambda text: text.replace("return", "return None #"))
    monkeypatch.setenv("SHARDWISE_HIDDEN", str(root / "hidden"))
    monkeypatch.setenv("SHARDWISE_SEED", "23")

    def graded(script):
        names: dict = {}
        cells = []
        for step in script.steps:
            results = ()
            if step.ask:
                ask = step.ask
                report = run(
                    load(ask.exercise), ask.part, names[ask.solution], points=ask.points, seed="23"
                )
                results = report.results
            elif step.role == "solution":
                exec(step.source, names)
            cells.append(CellRecord(step, (), results, ran=step.kind == "code"))
        return NotebookRecord(script.name, tuple(cells))

    with Course.open(root) as course:
        course.ensure_assignment("distributed-training")
        ours = {}
        for submission in course.submissions("distributed-training"):
            contents = course.contents(submission)
            layouts = course.layouts("distributed-training").items()
            notebooks = tuple(
                graded(read_script(layout, contents[name])) for name, layout in layouts
            )
            digest = course.digest(submission)
            record = SubmissionRecord(submission.student, submission.assignment, digest, notebooks)
            course.save(record, submission)
            marks = course.marks(submission.student, submission.assignment)
            ours[submission.student] = {name: mark.score for name, mark in marks.items()}
        nbgrader(root, "autograde", "distributed-training", "--force")
        for student, points in ours.items():
            marks = course.marks(student, "distributed-training")
            assert {name: mark.score for name, mark in marks.items()} == points
    assert sum(ours["ada"].values()) == 50
    assert sum(ours["bob"].values()) < 25
