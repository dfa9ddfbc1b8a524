"""The small course, for every suite of the gradebook."""

from __future__ import annotations

import shutil

import pytest
from exercises.gradebook.small_course import ASSIGNMENT, Small, write_course

from shardwise_grading.gradebook.course import Course


@pytest.fixture(scope="session")
def blank(tmp_path_factory):
    """A course whose gradebook knows the assignment, for copying."""
    root = write_course(tmp_path_factory.mktemp("small") / "a course")
    with Course.open(root) as course:
        course.ensure_assignment(ASSIGNMENT)
    return root


@pytest.fixture
def small(blank, tmp_path):
    root = tmp_path / "course"
    shutil.copytree(blank, root)
    with Course.open(root) as course:
        yield Small(root, course)
