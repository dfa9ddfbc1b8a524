"""A gradebook on a PostgreSQL server, started for this test alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from exercises.postgres import postgres
from nbgrader.api import Gradebook

from shardwise_grading.__main__ import main

ASSIGNMENT = "distributed-training"

pytestmark = pytest.mark.long


@pytest.fixture
def server():
    """The address of a server of our own."""
    with postgres() as address:
        yield f"postgresql{address}"


def test_a_class_is_graded_into_postgresql(graded, server, tmp_path, capsys):
    course = tmp_path / "course"
    shutil.copytree(graded.course, course, ignore=shutil.ignore_patterns("*.db", "autograded"))
    command = ["autograde", ASSIGNMENT, f"--course={course}", f"--db={server}"]
    assert main(command) == 1
    where = Path("results") / ASSIGNMENT / "results.json"
    assert (course / where).read_bytes() == (graded.course / where).read_bytes()
    assert not (course / "gradebook.db").exists()
    with Gradebook(server) as gradebook:
        assert gradebook.find_submission(ASSIGNMENT, "all-right").score == 50
        assert gradebook.find_submission(ASSIGNMENT, "partly-right").score == 27
    capsys.readouterr()
    assert main(command) == 1
    assert "0 submissions graded, 5 unchanged" in capsys.readouterr().out
