"""A course of other notebooks than ours, on its whole way through the command line."""

from __future__ import annotations

import csv
import json
import re

import nbformat
import pytest
from exercises.gradebook.small_course import (
    ASSIGNMENT,
    RIGHT,
    WRONG,
    add_cells,
    by_hand,
    hand_in,
    write_course,
)
from exercises.gradebook.test_stock import nbgrader
from nbgrader.api import Gradebook

from shardwise_grading.__main__ import main
from shardwise_grading.gradebook.course import Course

pytestmark = pytest.mark.long
ESSAY = "3-essay"


def give(root, student, answers=RIGHT, prose="Because.", timestamp=None):
    """Hand in all three notebooks."""
    folder = hand_in(root, student, answers, timestamp)
    add_cells(folder / "2-half.ipynb", by_hand("why", prose))
    nbformat.write(
        nbformat.v4.new_notebook(cells=[by_hand("essay", prose)]), folder / f"{ESSAY}.ipynb"
    )


@pytest.fixture
def course(tmp_path, monkeypatch):
    """Two notebooks with hidden checks, one of them with a question; and one of prose alone."""
    monkeypatch.setenv("SHARDWISE_SEED", "7")
    monkeypatch.delenv("SHARDWISE_HIDDEN", raising=False)
    root = write_course(tmp_path / "a course")
    source = root / "source" / ASSIGNMENT
    add_cells(source / "2-half.ipynb", by_hand("why", "Say why."))
    metadata = nbformat.read(source / "2-half.ipynb", as_version=4).metadata
    essay = nbformat.v4.new_notebook(cells=[by_hand("essay", "Write.", 5)], metadata=metadata)
    nbformat.write(essay, source / f"{ESSAY}.ipynb")
    return root


def autograde(root, capsys, *options):
    """Grade, and return the exit status, how many were graded, and how many were unchanged."""
    status = main(["autograde", ASSIGNMENT, f"--course={root}", *options])
    said = re.search(r"(\d+) submissions? graded(?:, (\d+) unchanged)?", capsys.readouterr().out)
    return status, int(said[1]), int(said[2] or 0)


def students(root):
    content = json.loads((root / "results" / ASSIGNMENT / "results.json").read_text())
    return {row["student"]: row for row in content["students"]}


def mark(root, student, notebook, cell, points):
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}", "small") as book:
        grade = book.find_grade(cell, notebook, ASSIGNMENT, student)
        grade.manual_score, grade.needs_manual_grade = points, False
        book.db.commit()


def test_by_hand_and_by_machine(course, capsys):
    """Grade, mark the rest by hand, regrade, change one answer; export says the same each time."""
    give(course, "ada")
    give(course, "bob", WRONG, "Say why.")
    assert autograde(course, capsys) == (1, 2, 0)
    assert "by hand" in students(course)["ada"]["problem"]
    for student in ("ada", "bob"):
        mark(course, student, "2-half", "why", 3)
        mark(course, student, ESSAY, "essay", 4)
    assert autograde(course, capsys) == (0, 0, 2)
    assert students(course)["ada"]["points"] == {"1-twice": 3, "2-half": 5, ESSAY: 4}
    nbgrader(course, "export")
    with (course / "grades.csv").open() as file:
        exported = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert exported == {"ada": 12, "bob": 9}
    assert exported == {name: row["total"] for name, row in students(course).items()}

    assert main(["feedback", ASSIGNMENT, f"--course={course}"]) == 0
    page = (course / "feedback" / "ada" / ASSIGNMENT / f"{ESSAY}.html").read_text("utf-8")
    assert "4 of 5 points" in page
    assert "your instructor set the points to 4" in page

    assert autograde(course, capsys, "--force") == (0, 2, 0)
    give(course, "ada", prose="Because of another thing.")
    assert autograde(course, capsys)[1:] == (1, 1)
    assert students(course)["ada"]["points"] == {"1-twice": 3, "2-half": 5, ESSAY: 4}
    with Course.open(course) as graded:
        marks = graded.marks("ada", ASSIGNMENT)
    assert marks[ESSAY].cells["essay"].is_outdated  # on another answer somebody looks again


def test_a_new_due_date_costs_points_without_another_grading(course, capsys):
    with (course / "nbgrader_config.py").open("a") as file:
        file.write("c.LateSubmissionPlugin.penalty_method = 'zero'\n")
    give(course, "ada", timestamp="2026-03-01T12:30:00+01:00")
    autograde(course, capsys)
    for due, penalty in (("2026-03-01 11:00:00", 5), ("2026-03-01 12:00:00", 0)):
        with Gradebook(f"sqlite:///{course / 'gradebook.db'}", "small") as book:
            book.update_or_create_assignment(ASSIGNMENT, duedate=due)
        assert autograde(course, capsys)[1:] == (0, 1)
        assert students(course)["ada"]["late_penalty"] == penalty


def test_after_a_rename_the_assignment_is_a_new_one(course, capsys):
    give(course, "ada")
    autograde(course, capsys)
    for folder in ("source", "submitted/ada"):
        (course / folder / ASSIGNMENT).rename(course / folder / "sums")
    status = main(["autograde", "sums", f"--course={course}"])
    assert status == 1
    assert "1 submission graded" in capsys.readouterr().out
    assert main(["autograde", ASSIGNMENT, f"--course={course}"]) == 2
    assert "has no notebook in" in capsys.readouterr().err
    with Course.open(course) as graded:
        assert graded.marks("ada", "sums") == graded.marks("ada", ASSIGNMENT)


def test_who_left_is_in_the_gradebook_and_not_in_the_results(course, capsys):
    for student in ("ada", "bob"):
        give(course, student)
    autograde(course, capsys)
    (course / "submitted" / "bob").rename(course / "left")
    assert autograde(course, capsys)[1:] == (0, 1)
    assert students(course).keys() == {"ada"}
    with Course.open(course) as graded:
        assert graded.marks("bob", ASSIGNMENT)["1-twice"].score == 3
