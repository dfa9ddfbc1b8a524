"""A PostgreSQL server of a test's own, from Debian's packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

INSTALL = ["apt-get", "install", "-y", "postgresql"]


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


@contextmanager
def postgres() -> Iterator[str]:
    """Start a server on a Unix socket; its address without the scheme. It refuses to run as root.

    Its database is empty, and in UTF-8 wherever the machine is.
    """
    if find_programs() is None:
        install()
    programs = find_programs()
    become = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    # A socket's path is short.
    with tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp") as folder:
        if become:
            shutil.chown(folder, "postgres")
        data = f"{folder}/data"

        def call(program, *arguments):
            command = [*become, programs / program, "-D", data, *arguments]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder)

        call("initdb", "--auth=trust", "--username=shardwise", "--encoding=UTF8", "--no-sync")
        options = f"-k {folder} -c listen_addresses= -c fsync=off"
        call("pg_ctl", "--wait", f"--log={folder}/log", "-o", options, "start")
        try:
            yield f":///postgres?host={folder}&user=shardwise"
        finally:
            call("pg_ctl", "--wait", "--mode=immediate", "stop")
