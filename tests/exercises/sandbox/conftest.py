"""Cages for attacks: each protection of a fork, as this user and as one without rights."""

from __future__ import annotations

import functools
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from exercises.sandbox.nursery import NOBODY, Nursery

from shardwise_grading.sandbox import available

if sys.platform != "linux":
    collect_ignore_glob = ["test_*.py"]


class Cage:
    """A nursery and the protection that attacks meet there."""

    def __init__(self, nursery: Nursery, protection: str, name: str) -> None:
        self.name = name
        self.protection = protection
        self.run = functools.partial(nursery.run, protection=protection)

    def value(self, attack, *arguments, **named):
        """What an attack returns; it must not raise or be stopped."""
        answer = self.run(attack, *arguments, **named)
        assert (answer.error, answer.reason) == ("", ""), answer
        return answer.value


@pytest.fixture(scope="session")
def nurseries():
    started: dict[bool, Nursery] = {}

    def nursery(*, as_nobody: bool) -> Nursery:
        if as_nobody and os.geteuid() != 0:
            pytest.skip("only root can become another user")
        if as_nobody not in started:
            started[as_nobody] = Nursery(as_nobody=as_nobody)
        return started[as_nobody]

    yield nursery
    for one in started.values():
        one.close()


def _cage(nurseries, name: str) -> Cage:
    protection, _, user = name.partition("-")
    if reason := available(protection):
        pytest.skip(f"{protection}: {reason}")
    return Cage(nurseries(as_nobody=user == "nobody"), protection, name)


ROOMY = ["namespaces", "namespaces-nobody"]


@pytest.fixture(params=[*ROOMY, "landlock", "landlock-nobody"])
def cage(nurseries, request) -> Cage:
    return _cage(nurseries, request.param)


@pytest.fixture(params=ROOMY)
def room(nurseries, request) -> Cage:
    """Namespaces only: a cage where a student may start other processes."""
    return _cage(nurseries, request.param)


@pytest.fixture
def open_folder():
    """A folder that every user of the system may read and write; pytest's own is closed."""
    folder = Path(tempfile.mkdtemp(prefix="open-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def course(open_folder):
    """A course folder that every user of the system may read and write."""
    gradebook = open_folder / "gradebook.db"
    gradebook.write_text("secret", encoding="utf-8")
    gradebook.chmod(0o666)
    if os.geteuid() == 0:
        os.chown(gradebook, NOBODY, NOBODY)
    yield open_folder
    assert gradebook.read_text(encoding="utf-8") == "secret"
    assert [path.name for path in open_folder.iterdir()] == ["gradebook.db"]
