"""A process with one thread that forks a guard and a student for every attack it is sent.

As a program it reads requests from stdin and answers on stdout, a JSON line each. It has limits of
its own, so that a hole in the sandbox does not harm the machine.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shardwise_grading.sandbox.watch import View

NOBODY = 65534

# What is imported before the sandbox closes; an attack as another user finds no more than this.
PRELUDE = """
import asyncio, contextlib, ctypes, errno, fcntl, getpass, itertools, json, mmap, multiprocessing
import multiprocessing.pool, os, pwd, resource, select, shutil, signal, socket, subprocess, sys
import tempfile, threading, time, urllib.request
from pathlib import Path

def tried(function, *arguments, **named):
    try:
        return f"did: {function(*arguments, **named)!r}"
    except BaseException as error:
        return type(error).__name__

libc = ctypes.CDLL(None, use_errno=True)

def errno_of(name, *arguments):
    ctypes.set_errno(0)
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = getattr(libc, name)(*words)
    return errno.errorcode[ctypes.get_errno()] if result == -1 else "did"
"""


@dataclass(frozen=True)
class Answer:
    """What became of an attack.

    `value` is what it returned, `error` what it raised; `reason` is what the guard stopped it for;
    `status` is the exit code of its process; `left` are processes of the student still alive.
    """

    value: object
    error: str
    reason: str
    status: int
    left: list[int]


class Nursery:
    """The program below, as this user or another, and a way to send it attacks."""

    def __init__(self, *, as_nobody: bool) -> None:
        arguments = [sys.executable, "-u", __file__, *(["nobody"] if as_nobody else [])]
        self.process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PATH": "/usr/bin:/bin", "SECRET_OF_THE_INSTRUCTOR": "s3cret", "LANG": "C.UTF-8"},
        )

    def run(
        self, attack, *arguments, protection="namespaces", seconds=10.0, only=(), **limits
    ) -> Answer:
        """Run a function, whose source alone is sent, in a student's process.

        It can read the paths in `only`, or else all that imports need.
        """
        source = textwrap.dedent(inspect.getsource(attack))
        call = f"{attack.__name__}(*{arguments!r})"
        request = {"source": source, "call": call, "protection": protection, "seconds": seconds}
        request |= {"limits": limits, "only": list(map(str, only))}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"the nursery died of {attack.__name__}"
        return Answer(**json.loads(line))

    def close(self) -> None:
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=20)


def main() -> None:
    import resource

    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
    resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    space: dict[str, object] = {}
    exec(PRELUDE, space)
    from shardwise_grading.sandbox import privileges, readable_paths

    readable = readable_paths()
    if sys.argv[1:] == ["nobody"]:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        privileges.set_dumpable()  # as a process of that user is
    parent = os.getpid()
    for line in sys.stdin:
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(ours)
            try:
                answer = guard(json.loads(line), readable, space, parent)
                os.write(theirs, json.dumps(answer).encode())
            except Exception as error:  # noqa: BLE001
                os.write(2, f"guard: {error!r}\n".encode())
            os._exit(0)
        os.close(theirs)
        with os.fdopen(ours, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(child, 0)
        for scratch in Path(tempfile.gettempdir()).glob(f"scratch-{child}-*"):
            shutil.rmtree(scratch)
        print(answer.decode(), flush=True)


def guard(request: dict, readable: list[Path], space: dict, parent: int) -> dict:
    from shardwise_grading.sandbox import Limits, ProtectionError, die_with, enter, stop, watch
    from shardwise_grading.sandbox.watch import _views

    die_with(parent)
    small = {"memory": 96 * 2**20, "processes": 12, "cpu_seconds": 20, "disk": 4 * 2**20}
    limits = Limits(**(small | request["limits"]))
    begin = time.monotonic()
    result, give = os.pipe()
    scratch = Path(tempfile.mkdtemp(prefix=f"scratch-{os.getpid()}-"))
    readable = list(map(Path, request["only"])) or readable
    try:
        student = enter(request["protection"], limits, readable, scratch, keep=(2, give))
    except ProtectionError as error:
        return {"value": None, "error": str(error), "reason": "", "status": 0, "left": []}
    if student == 0:
        os.write(give, run(request, space))
        os._exit(0)
    os.close(give)
    reason, content = "", b""
    while time.monotonic() - begin < request["seconds"]:
        if select.select([result], [], [], 0.02)[0]:
            piece = os.read(result, 65536)
            content += piece
            if not piece or content.endswith(b"\n"):
                break
        reason = watch(student, limits)
        if reason or os.waitid(os.P_PID, student, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            break
    else:
        reason = "time is over"
    # It may have answered and ended between two looks.
    if select.select([result], [], [], 0)[0]:
        content += os.read(result, 65536)
    owners = _owned(student, _views[student])
    stop(student)
    status = os.waitstatus_to_exitcode(os.waitpid(student, 0)[1])
    with contextlib.suppress(ChildProcessError):
        while request["protection"] == "none":
            os.wait()
    left = [one for one in owners if Path(f"/proc/{one}").exists()]
    value = json.loads(content) if content.endswith(b"\n") else {"value": None, "error": ""}
    return value | {"reason": reason, "status": status, "left": left}


def _owned(student: int, view: View) -> list[int]:
    """Host ids of all processes of the student."""

    def home(process: object) -> int:
        with contextlib.suppress(OSError):
            return Path(f"/proc/{process}/ns/pid").stat().st_ino
        return 0

    if view.guard:
        return view.processes()
    everybody = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
    own = home(student)
    return [process for process in everybody if own and home(process) == own]


def run(request: dict, space: dict) -> bytes:
    value = {"value": None, "error": ""}
    try:
        exec(request["source"], space)
        value["value"] = eval(request["call"], space)
    except Exception as error:  # noqa: BLE001
        value["error"] = f"{type(error).__name__}: {error}"
    return json.dumps(value).encode() + b"\n"


if __name__ == "__main__":
    main()
