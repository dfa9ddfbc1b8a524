"""A gradebook on a PostgreSQL server, from Debian's packages, started for this test alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from shardwise_grading.__main__ import main

ASSIGNMENT = "distributed-training"
INSTALL = ["apt-get", "install", "-y", "postgresql"]

pytestmark = pytest.mark.long


def find_programs():
    """The folder of PostgreSQL's newest programs, or None."""
    on_path = shutil.which("initdb")
    found = [Path(on_path)] if on_path else []
    found += Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return max(found).parent if found else None


def install():
    """Install the server where we may."""
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if not shutil.which("apt-get") or (sudo and os.environ.get("CI") != "true"):
        pytest.skip(f"no PostgreSQL here; install it: sudo {' '.join(INSTALL)}")
    for command in (["apt-get", "update", "-qq"], INSTALL):
        subprocess.run([*sudo, *command], check=True, capture_output=True)


@pytest.fixture
def server():
    """The address of a server of our own, on a Unix socket; it refuses to run as root."""
    if find_programs() is None:
        install()
    programs = find_programs()
    become = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(
        prefix="pg-", dir="/tmp"
    ) as folder:  # a socket's path is short
        if become:
            shutil.chown(folder, "postgres")
        data = f"{folder}/data"

        def call(program, *arguments):
            command = [*become, programs / program, "-D", data, *arguments]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder)

        call("initdb", "--auth=trust", "--username=shardwise", "--no-sync")
        options = f"-k {folder} -c listen_addresses= -c fsync=off"
        call("pg_ctl", "--wait", f"--log={folder}/log", "-o", options, "start")
        try:
            yield f"postgresql:///postgres?host={folder}&user=shardwise"
        finally:
            call("pg_ctl", "--wait", "--mode=immediate", "stop")


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
