"""What looks around after an attack is not blind: it sees what an unprotected grader lets happen.

Only attacks on the made-up course run unprotected, never one on the machine.
"""

from __future__ import annotations

import subprocess

import pytest
from exercises.attacks import course, families, grading, places
from exercises.attacks.fence import Fence


@pytest.fixture(scope="module")
def unprotected():
    fence = Fence("none")
    yield fence
    fence.close()


def graded(fence, family, name):
    attack = families.named(family, name)
    return fence.grade(course.BY_NUMBER[2].name, attack.notebook(2))


def test_the_half_solved_notebooks_earn_what_they_are_said_to(unprotected):
    for number, exercise in course.BY_NUMBER.items():
        content = course.as_bytes(course.half_solved(exercise))
        seen = unprotected.grade(course.BY_NUMBER[number].name, content)
        assert seen.points == exercise.half_points
        assert not any((seen.changed, seen.heard, seen.left, seen.raised, seen.neighbour))


def test_it_sees_what_is_read(unprotected):
    seen = graded(unprotected, "files", "reads-the-course-folder")
    assert places.TOKEN in seen.text
    assert places.SEED in seen.text


def test_it_sees_what_is_written(unprotected):
    seen = graded(unprotected, "files", "writes-into-the-course")
    assert any(path.endswith("gradebook.db") for path in seen.changed)


def test_it_hears_connections(unprotected):
    seen = graded(unprotected, "network", "tcp-to-this-machine")
    assert any("127.0.0.1" in who for who in seen.heard)


def test_it_sees_what_is_left_running():
    with subprocess.Popen(["sleep", "1000"]) as left:
        assert left.pid in grading.others()
        left.kill()


def test_every_attack_has_a_name_of_its_own():
    for attacks in families.ALL.values():
        names = [attack.name for attack in attacks]
        assert len(names) == len(set(names))
    assert sum(map(len, families.ALL.values())) >= 60
    assert set(families.OFTEN) == set(families.ALL)
