"""A gradebook on a real PostgreSQL server, started for this test alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
from exercises.gradebook.small_course import ASSIGNMENT, RIGHT, WRONG, Small, hand_in, write_course

from shardwise_grading.gradebook.course import Course
from shardwise_grading.gradebook.grades import save_grades
from shardwise_grading.gradebook.transaction import open_gradebook

OWNER = "nobody"
SAVE_GRADES = "shardwise_grading.gradebook.course.save_grades"


def find(program):
    """Where Debian keeps the servers of each version."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return shutil.which(program) or next((str(p / program) for p in places), None)


@pytest.fixture(scope="module")
def server():
    """The address of a fresh database, reached through a socket in its own folder."""
    initdb, postgres, createdb = map(find, ("initdb", "postgres", "createdb"))
    if not (initdb and postgres and createdb):
        pytest.skip("there is no PostgreSQL server here: install Debian's package postgresql")
    pytest.importorskip("psycopg")
    # A server refuses to run as root, and the name of its socket must be short.
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    user = {"user": OWNER} if os.geteuid() == 0 else {}
    if user:
        shutil.chown(folder, OWNER)
    data = folder / "data"
    make = [initdb, "-D", data, "-U", "me", "-A", "trust", "-E", "UTF8"]
    subprocess.run(make, cwd=folder, check=True, capture_output=True, **user)
    command = [postgres, "-D", data, "-k", folder, "-c", "listen_addresses=", "-F"]
    log = (folder / "log").open("w")
    process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, **user)
    try:
        create = [createdb, "-h", folder, "-U", "me", "grades"]
        for _ in range(100):
            if subprocess.run(create, check=False, capture_output=True).returncode == 0:
                break
            assert process.poll() is None, (folder / "log").read_text()
            time.sleep(0.1)
        yield f"postgresql+psycopg://me@/grades?host={folder}"
    finally:
        process.terminate()
        process.wait(30)
        log.close()
        shutil.rmtree(folder)


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
