"""A fence around the grader: what it fails to hold in must not harm the machine.

The grader runs as a process of its own, where possible in a PID namespace of its own, under limits
that its children inherit, and is ended with all of them when they take too much.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from support import ROOT

MOST_MEMORY = 6 << 30
MOST_PROCESSES = 600
PATIENCE = 100.0  # seconds after which the grader is thought to hang
START = 60.0


@dataclass(frozen=True)
class Seen:
    """What came of one submission.

    Args:
        record: the grader's record of the notebook; None if it made none.
        raised: the traceback when grading raised.
        seconds: how long that took.
        changed: files outside that are not what they were.
        heard: connections that came through.
        left: command lines of processes that were still there.
        peak: the most memory that the checking process ever held, in bytes.
        neighbour: how the next student's result differs from what it always is.
    """

    record: dict | None = None
    raised: str = ""
    seconds: float = 0.0
    changed: tuple[str, ...] = ()
    heard: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    peak: int = 0
    neighbour: str = ""

    @property
    def points(self) -> float:
        """Points of all hidden cells."""
        return sum(
            result["points"]
            for cell in (self.record or {"cells": []})["cells"]
            for result in cell["results"]
            if result["passed"]
        )

    @property
    def text(self) -> str:
        """Everything that a reader of the record sees, but the sources of cells."""
        if not self.record:
            return ""
        parts = [self.record["problem"], *self.record["notes"]]
        for cell in self.record["cells"]:
            for output in cell["outputs"]:
                parts += [output[name] for name in ("text", "name", "value")]
            parts += [result["message"] for result in cell["results"]]
        return "\n".join(map(str, parts))


class Fence:
    """One grader behind the fence; it is started again when it had to be ended.

    Args:
        protection: what the grader is to protect itself with.
    """

    def __init__(self, protection: str) -> None:
        self.protection = protection
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="shardwise-fence-"))
        self._ended = ""

    def grade(
        self,
        name: str,
        content: bytes | None,
        *,
        neighbour: bool = True,
    ) -> Seen:
        """Grade one notebook, and the neighbour's after it."""
        process = self._alive()
        order = {
            "name": name,
            "content": None if content is None else base64.b64encode(content).decode(),
            "neighbour": neighbour,
        }
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(order).encode() + b"\n")
            process.stdin.flush()
        line = self._line()
        if not line:
            why = self._ended or f"the grader ended with status {process.poll()}"
            self.close()
            return Seen(raised=why)
        seen = json.loads(line)
        return Seen(**{k: tuple(v) if isinstance(v, list) else v for k, v in seen.items()})

    def close(self) -> None:
        """End the grader and all that came of it."""
        if self._process:
            end(self._process)
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _alive(self) -> subprocess.Popen[bytes]:
        if self._process and self._process.poll() is None:
            return self._process
        self._ended = ""
        self._folder = Path(tempfile.mkdtemp(prefix="shardwise-fence-"))
        program = [
            sys.executable,
            "-m",
            "exercises.attacks.grading",
            str(self._folder / "a course"),
        ]
        machine = str(Path("/proc/self/ns/pid").readlink())
        self._process = start(
            [*program, self.protection, machine],
            self._folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        threading.Thread(target=self._watch, args=(self._process,), daemon=True).start()
        return self._process

    def _line(self) -> bytes:
        process = self._process
        end = time.monotonic() + PATIENCE + (START if not self._ended else 0)
        while time.monotonic() < end and not self._ended:
            if select.select([process.stdout], [], [], 0.5)[0]:
                return process.stdout.readline()
        self._ended = self._ended or f"the grader did not answer within {PATIENCE:g} s"
        return b""

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        self._ended = watch(process) or self._ended


def run(program: list[str], home: Path, patience: float) -> tuple[int, str]:
    """Run a program behind a fence until it ends; returns its status and what it printed."""
    process = start(program, home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    watcher = threading.Thread(target=watch, args=(process,), daemon=True)
    watcher.start()
    try:
        printed, _ = process.communicate(timeout=patience)
    finally:
        end(process)
        process.stdout.close()
        watcher.join()
    return process.returncode, printed.decode(errors="replace")


def start(program: list[str], home: Path, **settings) -> subprocess.Popen[bytes]:
    """Start a program inside limits, and in a PID namespace of its own where that is possible."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(ROOT / "tests"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "SHARDWISE_SEED": "another",
        "COLUMNS": "160",
    }
    return subprocess.Popen(
        [*own_namespace(), *program],
        env=environment,
        start_new_session=True,
        preexec_fn=_limits,
        cwd=ROOT,
        **settings,
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """End a program and all that came of it."""
    if process.poll() is None:
        for pid in descendants(process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    process.wait()


def watch(process: subprocess.Popen[bytes]) -> str:
    """End everything when it takes too much of the machine, and say so."""
    while process.poll() is None:
        pids = descendants(process.pid)
        memory = sum(map(_memory, pids))
        if memory > MOST_MEMORY:  # forks share most of it
            memory = sum(map(_own_share, pids))
        if memory > MOST_MEMORY or len(pids) > MOST_PROCESSES:
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return f"the fence ended {len(pids)} processes that held {memory >> 20} MiB"
        time.sleep(0.2)
    return ""


@cache
def own_namespace() -> list[str]:
    """A prefix that gives a program a PID namespace of its own, where that is possible."""
    prefix = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if os.getuid() != 0 or not shutil.which("unshare"):
        return []
    done = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    return prefix if done.returncode == 0 else []


def descendants(pid: int) -> list[int]:
    """A process and all that descend from it."""
    found = [pid]
    for each in found:
        with suppress(OSError):
            for children in Path(f"/proc/{each}/task").glob("*/children"):
                found += map(int, children.read_text().split())
    return found


def _memory(pid: int) -> int:
    """What a process holds in memory that is no file's, in bytes."""
    with suppress(OSError, ValueError):
        fields = Path(f"/proc/{pid}/statm").read_text().split()
        return (int(fields[1]) - int(fields[2])) * resource.getpagesize()
    return 0


def _own_share(pid: int) -> int:
    """The same with each shared page divided by those who share it; slow."""
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return 0


def _limits() -> None:
    for kind, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 256 << 20),
        (resource.RLIMIT_AS, 24 << 30),
    ):
        resource.setrlimit(kind, (value, value))
