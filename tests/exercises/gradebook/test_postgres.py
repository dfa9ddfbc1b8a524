"""A gradebook on a real PostgreSQL server, started for this test alone."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest
from exercises.gradebook.small_course import ASSIGNMENT, RIGHT, WRONG, Small, hand_in, write_course
from exercises.postgres import postgres

from shardwise_grading.gradebook.course import Course
from shardwise_grading.gradebook.grades import save_grades
from shardwise_grading.gradebook.transaction import open_gradebook

SAVE_GRADES = "shardwise_grading.gradebook.course.save_grades"


@pytest.fixture
def server():
    """The address of a server of our own, with the driver named."""
    pytest.importorskip("psycopg")
    with postgres() as address:
        yield f"postgresql+psycopg{address}"


@pytest.mark.long
def test_grading_regrading_and_reading(server, tmp_path):
    root = write_course(tmp_path / "course")
    hand_in(root, "ada", RIGHT, timestamp="2026-01-01 10:00:00 UTC")
    hand_in(root, "Zoë o'hara", WRONG)
    (hand_in(root, "eve") / "1-twice.ipynb").write_bytes(b"\x00{")
    with Course.open(root, server) as course:
        course.ensure_assignment(ASSIGNMENT)
        course.ensure_assignment(ASSIGNMENT)
        small = Small(root, course)
        for student in ("ada", "Zoë o'hara", "eve"):
            small.grade(student)
            assert course.is_current(small.submission(student))
        assert [small.standing(s).total for s in ("ada", "Zoë o'hara", "eve")] == [5, 2, 2]
        assert small.standing("eve").needs_manual

        book = open_gradebook(course._settings.coursedir)
        with book:
            grade = book.find_grade("twice-hidden", "1-twice", ASSIGNMENT, "ada")
            grade.manual_score, grade.extra_credit = 1, 0.5
            book.db.commit()
        submission = small.submission("ada")
        course.save(small.record(submission), submission)
        assert small.standing("ada").points == {"1-twice": 1.5, "2-half": 2}

        with (
            patch(SAVE_GRADES, lambda *given, **named: (save_grades(*given, **named), 1 / 0)),
            pytest.raises(ZeroDivisionError),
        ):
            course.save(small.record(submission), replace(submission, student="gone"))
        assert course.marks("gone", ASSIGNMENT) == {}
        with open_gradebook(course._settings.coursedir) as book:
            assert {student.id for student in book.students} == {"ada", "Zoë o'hara", "eve"}
    assert not (root / "gradebook.db").exists()
