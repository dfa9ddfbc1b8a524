"""Root makes the student another user where namespaces are missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shardwise_grading.sandbox import available

# The source of the functions below is sent into the cage; `tried` and the modules are known there.
# ruff: noqa: F821

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def act(course, guard):
    return {
        "users": sorted(set(os.getresuid() + os.getresgid())),
        "groups": os.getgroups(),
        "mine": tried(Path("mine").write_text, "1"),
        "harm": [
            tried(Path(course, "gradebook.db").read_text),
            tried(os.listdir, course),
            tried(Path(course, "new").write_text, "1"),
            tried(os.kill, guard or os.getppid(), 9),
            tried(os.setuid, 0),
            tried(os.fork),
            tried(socket.socket),
            tried(socket.create_connection, ("127.0.0.1", 9), 1),
            tried(Path("/usr/new").write_text, "1"),
        ],
    }


@pytest.mark.parametrize("protection", ["landlock", "user"])
def test_has_its_own_files_only(nurseries, course, protection):
    if protection == "landlock" and available(protection):
        pytest.skip("no landlock")
    course.chmod(0o700)
    nursery = nurseries(as_nobody=False)
    answer = nursery.run(act, str(course), 0, protection=protection, only=[Path("/usr")])
    assert answer.error == ""
    found = answer.value
    assert len(found["users"]) == 1
    assert found["users"][0] >= 65534
    assert found["groups"] == []
    assert found["mine"] == "did: 1"
    assert not [outcome for outcome in found["harm"] if outcome.startswith("did")]
