"""Grading a class by our grader and by stock nbgrader, and a student's check against validate.

Run from the repository's root: `python benchmarks/bench_grading.py`. A class of 60 hands in five
exercises each, a fixed mix of right, partly right, delegating and untouched answers. Ours is timed
as the whole command, from a cold start, sandbox on, two workers; nbgrader as the difference between
two runs over students of the same class, which leaves out its start. Both also by the computing
time of all their processes, which other work on the machine lengthens least. Memory is the
proportional set size of the whole tree of processes.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from shardwise_grading.course import nbgrader
from shardwise_grading.sample import Student, copy_course, hand_in, read_class

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
CLASS = read_class(ROOT / "tests" / "sample_class")
GRADER = [sys.executable, "-m", "shardwise_grading"]
SMALL, LARGE = 60, 240
STOCK = 1, 5  # students of the two runs by nbgrader
JOBS = 2
ROUNDS = 5  # of check and validate
EVERY_SECONDS = 0.5
CHECKED = "2-stage-2-memory.ipynb"


def student(number: int) -> Student:
    """One of the class: each exercise answered as one of the sample class answers it."""
    givers = [giver for giver in CLASS.students if not giver.raw]
    exercises = sorted({name for giver in givers for name in giver.cells})
    answers = {}
    for place, name in enumerate(exercises):
        cells = givers[(number // len(givers) ** place + number) % len(givers)].cells.get(name, {})
        answers[name] = {cell: f"{text}\n# {number}" for cell, text in cells.items()}
    return replace(CLASS.students[0], id=f"s{number:03}", cells=answers)


def make_course(released: Path, folder: Path, count: int) -> Path:
    """Copy a course with its release, and let a class hand in."""
    shutil.copytree(released, folder, ignore=shutil.ignore_patterns("submitted"))
    for number in range(count):
        hand_in(folder, CLASS.assignment, student(number))
    return folder


@contextmanager
def watched(root: psutil.Process) -> Iterator[list[int]]:
    """Collect what a tree of processes holds, in bytes, while a ``with`` block runs."""
    seen = [0]
    over = threading.Event()

    def watch() -> None:
        while not over.wait(EVERY_SECONDS):
            seen.append(held(root))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def held(root: psutil.Process) -> int:
    """Return the bytes that a tree of processes holds now; shared ones are counted once."""
    try:
        tree = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    total = 0
    for process in tree:
        try:
            lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="ascii")
        except OSError:  # it has just ended
            continue
        total += sum(int(line.split()[1]) for line in lines.splitlines() if line[:4] == "Pss:")
    return 1024 * total


@dataclass(frozen=True)
class Cost:
    """What a command took: seconds by the clock, and of computing by all its processes."""

    wall: float
    cpu: float

    def each(self, count: int, less: Cost | None = None) -> Cost:
        """Share it among submissions, less what another run took."""
        return Cost(
            (self.wall - (less.wall if less else 0)) / count,
            (self.cpu - (less.cpu if less else 0)) / count,
        )


@contextmanager
def timed() -> Iterator[list[Cost]]:
    """Collect what the commands of a ``with`` block take."""
    costs: list[Cost] = []
    begin, used = time.perf_counter(), children_seconds()
    yield costs
    costs.append(Cost(time.perf_counter() - begin, children_seconds() - used))


def children_seconds() -> float:
    """Return the computing time of all commands that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def by_us(course: Path) -> tuple[Cost, int]:
    """Grade a class by the whole command; return what it took and peak bytes."""
    command = [*GRADER, "autograde", CLASS.assignment, f"--course={course}", f"--jobs={JOBS}"]
    with (
        timed() as costs,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT
        ) as process,
        watched(psutil.Process(process.pid)) as seen,
    ):
        said = process.communicate()[0]
    if process.returncode:
        raise RuntimeError(f"our grader ended with {process.returncode}:\n{said}")
    return costs[0], max(seen)


def by_nbgrader(course: Path) -> Cost:
    """Grade a class by stock nbgrader; return what it took."""
    with timed() as costs:
        if nbgrader(course, "autograde", CLASS.assignment):
            raise RuntimeError("nbgrader autograde failed")
    return costs[0]


def command_seconds(command: list[str | Path], cwd: Path) -> float:
    """Return the median time of a whole command."""
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        subprocess.run(command, cwd=cwd, check=True, capture_output=True)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def line(what: str, value: str, target: str = "") -> None:
    """Print one measurement."""
    sys.stdout.write(f"{what:<58} {value:>14}  {target}\n")
    sys.stdout.flush()


def grading(scratch: Path, released: Path) -> None:
    """Measure the class."""
    small, peak = by_us(make_course(released, scratch / "small", SMALL))
    large, large_peak = by_us(make_course(released, scratch / "large", LARGE))
    few, more = (by_nbgrader(make_course(released, scratch / f"{n}", n)) for n in STOCK)
    stock = more.each(STOCK[1] - STOCK[0], less=few)
    mine, of_many = small.each(SMALL), large.each(LARGE)
    line(f"ours, {SMALL} submissions", f"{small.wall:.1f} s")
    line(f"ours, {LARGE} submissions", f"{large.wall:.1f} s")
    line("ours, submissions per minute", f"{60 / mine.wall:.0f}")
    line(f"nbgrader autograde, per minute ({STOCK[1]} students)", f"{60 / stock.wall:.1f}")
    line("ours against nbgrader", f"{stock.wall / mine.wall:.1f} x", ">= 10 x")
    computing = f"{mine.cpu:.2f}, {stock.cpu:.2f} s"
    line("computing time of a submission, ours and nbgrader's", computing)
    growth = f"{of_many.wall / mine.wall:.2f} ({of_many.cpu / mine.cpu:.2f})"
    line(f"one of {LARGE} against one of {SMALL} (by computing time)", growth, "<= 1.1")
    peaks = f"{peak / 1e9:.2f}, {large_peak / 1e9:.2f} GB"
    line(f"peak memory of all processes, {SMALL} and {LARGE}", peaks, "<= 1.2 GB")


def checking(scratch: Path, released: Path) -> None:
    """Measure what a student waits for, on a right solution."""
    course = make_course(released, scratch / "check", 1)
    hand_in(course, CLASS.assignment, replace(CLASS.students[0], id="right"))
    folder = course / "submitted" / "right" / CLASS.assignment
    validate = command_seconds(
        [sys.executable, "-W", "ignore", "-m", "nbgrader", "validate", CHECKED], folder
    )
    check: list[str | Path] = [*GRADER, "check", CHECKED]
    command_seconds(check, folder)  # whatever stays behind is there from now on
    warm, cold = (command_seconds([*check, *more], folder) for more in ([], ["--cold"]))
    line("nbgrader validate", f"{validate:.2f} s")
    line("check, with a warm process", f"{warm:.2f} s")
    line("check against validate", f"{warm / validate:.2f}", "<= 0.25")
    line("check, cold", f"{cold:.2f} s")
    line("cold check against validate", f"{cold / validate:.2f}")


def main() -> None:
    """Print a table of measurements."""
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    with tempfile.TemporaryDirectory(prefix="shardwise-") as folder:
        scratch = Path(folder)
        released = scratch / "released"
        copy_course(ROOT / "exercises", released)
        nbgrader(released, "generate_assignment", CLASS.assignment)
        grading(scratch, released)
        checking(scratch, released)


if __name__ == "__main__":
    main()
