"""Runs inside the fence: grades what it is given, line by line, and looks around after each.

Reads a JSON object from each line of stdin, and writes one to stdout for each.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path

from exercises.attacks import course, places

from shardwise_grading.checking.grade import grade_notebook
from shardwise_grading.checking.limits import GradingLimits
from shardwise_grading.checking.work import Checks
from shardwise_grading.records import NotebookRecord, to_json
from shardwise_grading.sandbox import Limits
from shardwise_grading.submission import Layout, layouts, read_script

SECONDS = 1.0  # for a cell
CALL_SECONDS = 1.0
LEAVING = 3.0  # seconds in which everything that a student started has to be gone
LIMITS = GradingLimits(
    cell_seconds=SECONDS,
    notebook_seconds=40.0,
    output=20_000,
    sandbox=Limits(memory=512 << 20, processes=48),
)


def checks() -> Checks:
    """The real hidden checks, which wait a shorter time for a call."""
    sources = {}
    for exercise in course.ALL:
        text = (course.HIDDEN / f"{exercise.checks}.py").read_text(encoding="utf-8")
        sources[exercise.checks] = f"{text}\nSECONDS = {CALL_SECONDS}\n"
    return Checks(sources, places.SEED)


def others() -> set[int]:
    """Every process that descends from this one."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it is gone by now
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            parents[int(path.parent.name)] = 0 if state == "Z" else int(parent)
    found = {os.getpid()}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return found
        found |= more


class Watch:
    """What is there besides the record."""

    def __init__(self, folder: Path) -> None:
        self.course = places.Course(folder)
        self.listeners = places.Listeners(folder)
        self.course.remember()  # with the socket that is in it by now
        self.usual: set[int] = set()

    def look(self) -> dict:
        """Say what an attack left behind."""
        return {
            "changed": self.course.changes(),
            "heard": self.listeners.heard(),
            "left": self._left(),
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10,
        }

    def _left(self) -> list[str]:
        end = time.monotonic() + LEAVING
        while time.monotonic() < end:
            left = others() - self.usual
            if not left:
                return []
            time.sleep(0.02)
        return [_command(pid) for pid in sorted(left)]


class Neighbour:
    """An honest student, who must get the same after every attack."""

    def __init__(self, layout: Layout, hidden: Checks, protection: str) -> None:
        content = course.as_bytes(course.half_solved(course.ALL[1]))
        self._grade = lambda: grade_notebook(
            read_script(layout, content), hidden, LIMITS, protection
        )
        self._first = self._timeless(self._grade())

    def differs(self) -> str:
        """Say what is not as at the first time, or nothing."""
        try:
            now = self._timeless(self._grade())
        except Exception as error:  # noqa: BLE001
            return repr(error)
        return "" if now == self._first else json.dumps(now)[:2000]

    @staticmethod
    def _timeless(record: NotebookRecord) -> dict:
        content = to_json(record)
        for cell in content["cells"]:
            cell["seconds"] = 0
        return content


def _command(pid: int) -> str:
    try:
        return (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        )
    except OSError:
        return str(pid)


def main(folder: str, protection: str, machine: str) -> None:
    """Grade until stdin ends."""
    adopt_orphans()
    layouts_ = layouts(course.SOURCE)
    watch = Watch(Path(folder))
    hidden = checks()
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    neighbour = Neighbour(layouts_[course.ALL[1].name], hidden, protection)
    time.sleep(0.2)
    watch.usual = others()
    for line in sys.stdin:
        order = json.loads(line)
        content = None if order["content"] is None else base64.b64decode(order["content"])
        if content:
            content = places.filled_in(content, watch.course.folder, watch.listeners, machine)
        started = time.monotonic()
        seen: dict = {"record": None, "raised": ""}
        try:
            script = read_script(layouts_[order["name"]], content)
            seen["record"] = to_json(grade_notebook(script, hidden, LIMITS, protection))
        except BaseException:  # noqa: BLE001
            seen["raised"] = traceback.format_exc()[-3000:]
        seen["seconds"] = time.monotonic() - started
        seen |= watch.look()
        seen["neighbour"] = neighbour.differs() if order["neighbour"] else ""
        answers.write(json.dumps(seen) + "\n")
        answers.flush()


def adopt_orphans() -> None:
    """Become the parent of what loses its own, so that nothing is overlooked."""
    import ctypes

    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
