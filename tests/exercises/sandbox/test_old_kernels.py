"""Where the kernel has less, each wall holds without the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from shardwise_grading.sandbox import available

# Take away what older kernels lack, then try in a cage to read, change and escape.
PROGRAM = """
import errno, json, os, pathlib, sys, types
from shardwise_grading.sandbox import Limits, enter, readable_paths
from shardwise_grading.sandbox import landlock, libc, mounts, seccomp
lacking, protection, user, secret, scratch = sys.argv[1:]
readable = readable_paths()
if user == "nobody":
    os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)

def lack(*arguments, **named):
    raise OSError(errno.ENOSYS, "not in this kernel")

if "mount_setattr" in lacking:
    mounts.MOUNT_SETATTR = 9999
if "seccomp" in lacking:
    seccomp.restrict = lack
if "landlock" in lacking:
    landlock.version = lambda: 0
if "version" in lacking:
    landlock.version = lambda: 1

def tried(function, *arguments):
    try:
        return f"did: {function(*arguments)!r}"
    except BaseException as error:
        return type(error).__name__

source, give = os.pipe()
student = enter(protection, Limits(), readable, pathlib.Path(scratch), keep=(2, give))
if student == 0:
    library = json.__file__
    outcomes = [
        tried(open, secret), tried(open, secret, "w"), tried(os.listdir, os.path.dirname(secret)),
        tried(open, library, "r+"), tried(os.chmod, library, 0o777), tried(os.unlink, library),
        tried(os.kill, os.getppid() or -2, 9), tried(os.truncate, secret, 0),
    ]
    mine = tried(lambda: pathlib.Path("mine").write_text("1"))
    os.write(give, json.dumps([mine, *outcomes]).encode())
    os._exit(0)
os.close(give)
os.waitpid(student, 0)
print(os.read(source, 65536).decode())
"""

NOTHING = "mount_setattr seccomp landlock"


@pytest.mark.parametrize("user", ["own", "nobody"])
@pytest.mark.parametrize(
    ("protection", "lacking"),
    [("namespaces", NOTHING), ("namespaces", "seccomp version"), ("landlock", "version")],
)
def test_walls_hold_alone(open_folder, protection, lacking, user):
    if reason := available(protection):
        pytest.skip(f"{protection}: {reason}")
    if user == "nobody" and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    scratch = open_folder / "scratch"
    scratch.mkdir()
    scratch.chmod(0o777)
    secret = open_folder / "secret"
    secret.write_text("1", encoding="utf-8")
    secret.chmod(0o666)
    arguments = [lacking, protection, user, str(secret), str(scratch)]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.stdout, done.stderr
    mine, *outcomes = json.loads(done.stdout)
    assert mine == "did: 1"
    assert not [outcome for outcome in outcomes if outcome.startswith("did")]
