"""Nothing of a student outlives its guard, or the process that the guard was forked from."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

# A warm parent, its guard, a student and two daemons of it; then the guard's id on stdout.
FAMILY = """
import os, signal, sys, tempfile, time
from pathlib import Path
from shardwise_grading.sandbox import Limits, die_with, enter
from shardwise_grading.sandbox.readable import readable_paths
protection, user, when = sys.argv[2:]
readable = readable_paths()
if user == "nobody":
    os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
warm, scratch = os.getpid(), Path(sys.argv[1])
guard = os.fork()
if guard == 0:
    die_with(warm)
    if when == "early":
        print(os.getpid(), flush=True)
    student = enter(protection, Limits(), readable, scratch, keep=())
    if student == 0:
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        if protection == "namespaces":
            for _ in range(2):
                if os.fork() == 0:
                    os.setsid()
                    break
        time.sleep(30)
    print(os.getpid(), flush=True)
    signal.pause()
os.waitpid(guard, 0)
time.sleep(5)
"""


def alive(token: str) -> list[int]:
    """Ids of processes that were forked from the family's program."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                lines = (folder / "cmdline").read_bytes()
                state = (folder / "stat").read_bytes().rpartition(b")")[2].split()[0]
            except OSError:
                continue
            if token.encode() in lines and state != b"Z":
                found.append(int(folder.name))
    return found


def left_after_a_while(token: str, expected: int) -> int:
    """How many processes of the family live, once it is that many or seconds have passed."""
    for _ in range(200):
        if len(alive(token)) == expected:
            break
        time.sleep(0.02)
    return len(alive(token))


@contextmanager
def family(token: str, protection: str, user: str, when: str) -> Iterator[subprocess.Popen]:
    command = [sys.executable, "-c", FAMILY, token, protection, user, when]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as warm:
        try:
            yield warm
        finally:
            warm.kill()


@pytest.fixture
def token(open_folder):
    yield str(open_folder)
    for process in alive(str(open_folder)):
        os.kill(process, signal.SIGKILL)


CASES = [("namespaces", "own"), ("namespaces", "nobody"), ("landlock", "own"), ("none", "own")]


@pytest.mark.parametrize(("protection", "user"), CASES)
class TestEverybodyEnds:
    def test_with_the_guard(self, token, protection, user):
        with family(token, protection, user, "late") as warm:
            guard = int(warm.stdout.readline())
            all_of_them = 5 if protection == "namespaces" else 3
            assert left_after_a_while(token, all_of_them) == all_of_them
            os.kill(guard, signal.SIGKILL)
            assert left_after_a_while(token, 1) == 1

    def test_with_the_warm_parent(self, token, protection, user):
        with family(token, protection, user, "late") as warm:
            warm.stdout.readline()
            warm.kill()
            warm.wait()
            assert left_after_a_while(token, 0) == 0


@pytest.mark.parametrize("user", ["own", "nobody"])
def test_also_when_the_guard_ends_while_it_closes_the_cage(token, user):
    chance = random.Random(7)
    for _ in range(4):
        with family(token, "namespaces", user, "early") as warm:
            guard = int(warm.stdout.readline())
            time.sleep(chance.uniform(0, 0.04))
            os.kill(guard, signal.SIGKILL)
            assert left_after_a_while(token, 1) == 1
