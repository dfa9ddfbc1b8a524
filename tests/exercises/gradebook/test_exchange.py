"""Out to a student and back: nbgrader's exchange around our grading and our feedback."""

from __future__ import annotations

import getpass

import nbformat
import pytest
from exercises.gradebook.small_course import ASSIGNMENT, RIGHT, Small
from exercises.gradebook.test_stock import nbgrader

from shardwise_grading.feedback import write_feedback
from shardwise_grading.gradebook.course import Course

EXCHANGE = """
c.Exchange.root = {root!r}
c.CourseDirectory.course_id = "small"
"""


@pytest.fixture
def student(small, tmp_path):
    """A student's folder, beside the course; both know the exchange."""
    exchange, folder = tmp_path / "exchange", tmp_path / "student"
    exchange.mkdir()
    exchange.chmod(0o777)  # nbgrader insists
    folder.mkdir()
    lines = EXCHANGE.format(root=str(exchange))
    (folder / "nbgrader_config.py").write_text(f"c = get_config()\n{lines}")
    with (small.root / "nbgrader_config.py").open("a") as file:
        file.write(lines)
    return folder


@pytest.mark.long
def test_feedback_comes_back_to_who_handed_in(small, student):
    nbgrader(small.root, "generate_assignment", ASSIGNMENT)
    nbgrader(small.root, "release_assignment", ASSIGNMENT)
    nbgrader(student, "fetch_assignment", ASSIGNMENT)
    path = student / ASSIGNMENT / "1-twice.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[1].source = RIGHT["1-twice"]
    nbformat.write(notebook, path)
    nbgrader(student, "submit", ASSIGNMENT)
    nbgrader(small.root, "collect", ASSIGNMENT)

    name = getpass.getuser()
    with Course.open(small.root) as course:
        again = Small(small.root, course)
        again.grade(name)
        assert again.standing(name).points == {"1-twice": 3, "2-half": 0}
        assert again.submission(name).timestamp is not None
        pages = {page.name: page for page in write_feedback(course, ASSIGNMENT)}
    nbgrader(small.root, "release_feedback", ASSIGNMENT)
    nbgrader(student, "fetch_feedback", ASSIGNMENT)
    fetched = {page.name: page for page in (student / ASSIGNMENT / "feedback").rglob("*.html")}
    assert fetched.keys() == {"1-twice.html", "2-half.html"}
    for file_name, page in fetched.items():
        assert page.read_bytes() == pages[file_name].read_bytes()
    assert "3 of 3 points" in fetched["1-twice.html"].read_text("utf-8")
