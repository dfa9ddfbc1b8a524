"""Feedback and similarity of a real course that was really graded."""

from __future__ import annotations

import re
import shutil

import pytest

from shardwise_grading.feedback import write_feedback
from shardwise_grading.gradebook.course import Course
from shardwise_grading.similarity import similar

ASSIGNMENT = "distributed-training"


@pytest.fixture(scope="module")
def pages(graded, tmp_path_factory):
    copy = tmp_path_factory.mktemp("feedback") / "course"
    shutil.copytree(graded.course, copy, ignore=shutil.ignore_patterns("feedback"))
    with Course.open(copy) as course:
        return write_feedback(course, ASSIGNMENT)


def test_every_graded_student_has_a_page_for_each_notebook_and_an_index(graded, pages):
    students = {path.name for path in (graded.course / "submitted").iterdir()}
    assert len(pages) == 6 * len(students)
    folders = {page.parent.parent.name: page.parent for page in pages}
    assert folders.keys() == students
    assert "50 of 50 points" in (folders["all-right"] / "index.html").read_text("utf-8")


def test_no_line_of_a_hidden_check_is_on_any_page(graded, pages):
    hidden = [path.read_text("utf-8") for path in (graded.course / "hidden").glob("*.py")]
    # Short lines and sentences of a property's name are on pages for other reasons.
    lines = {line.strip() for text in hidden for line in text.splitlines()}
    code = {line for line in lines if len(line) > 25 and re.search(r"[=(]\S", line)}
    assert len(code) > 100
    for page in pages:
        text = page.read_text("utf-8").replace("&#34;", '"').replace("&#39;", "'")
        assert not [line for line in code if line in text], page
        assert "BEGIN HIDDEN" not in text
        assert "from shardwise_grading import grade" not in text


def test_five_who_worked_alone_are_no_suspicious_pair(graded):
    with Course.open(graded.course) as course:
        report = similar(course, ASSIGNMENT)
    assert report.students >= 3
    assert report.pairs == ()
