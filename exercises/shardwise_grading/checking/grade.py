"""Grade one submission: what a worker does, with nothing but what it is given."""

from __future__ import annotations

import atexit
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING

from shardwise_grading.checking.remote_world import RemoteWorld
from shardwise_grading.checking.session import Session
from shardwise_grading.checking.student import LostError
from shardwise_grading.checking.texts import line
from shardwise_grading.checking.warm_parent import WarmParent
from shardwise_grading.records import (
    Ask,
    CellRecord,
    NotebookRecord,
    Output,
    Script,
    Step,
    SubmissionRecord,
)
from shardwise_grading.results import Result, noting_faults
from shardwise_grading.runner import examine, load_source
from shardwise_grading.submission import read_script
from shardwise_grading.submission.text import defined_names

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from shardwise_grading.checking.limits import GradingLimits
    from shardwise_grading.checking.work import Checks, Work
    from shardwise_grading.sandbox import Limits

SIMILAR = 0.8  # how much of two names is alike when one is taken for a slip of the other


def grade_submission(work: Work) -> SubmissionRecord:
    """Grade all notebooks of one student.

    Raises:
        RuntimeError: the machine can't run a student at all; it is no student's fault.
    """
    scripts = [
        Script(name, problem=work.problems[name])
        if name in work.problems
        else read_script(layout, work.files.get(name))
        for name, layout in sorted(work.layouts.items())
    ]
    files = {path: content for path, content in work.beside.items() if content is not None}
    notebooks = tuple(
        grade_notebook(script, work.checks, work.limits, work.protection, files)
        for script in scripts
    )
    return SubmissionRecord(
        work.student,
        work.assignment,
        work.digest,
        notebooks,
        work.protection,
        _left_out(sorted(work.beside.keys() - files.keys())),
    )


def _left_out(paths: list[str]) -> tuple[str, ...]:
    """Say of files that the code did not see them."""
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return tuple(f"the code did not see {line(path, 80)}{more}" for path in paths[:1])


def grade_notebook(
    script: Script,
    checks: Checks,
    limits: GradingLimits,
    protection: str,
    beside: Mapping[str, bytes] | None = None,
) -> NotebookRecord:
    """Run a notebook in a student's process, and its hidden checks in this one.

    Args:
        script: the cells.
        checks: the hidden checks that its hidden cells name.
        limits: what it may take.
        protection: what keeps the student's code in.
        beside: files that its cells may open, by their paths from the notebook.
    """
    if script.problem:
        return NotebookRecord(script.name, notes=script.notes, problem=script.problem)
    parent = warm_parent(protection, limits.sandbox)
    with Session(parent, limits, beside) as session:
        run = _Run(session, checks)
        cells = tuple(run.cell(step) for step in script.steps)
        notes, problem = run.notes, run.problem
    return NotebookRecord(script.name, cells, (*script.notes, *notes), problem)


@cache
def warm_parent(protection: str, limits: Limits) -> WarmParent:
    """Return this process's warm parent, which lives as long as the process."""
    parent = WarmParent(protection, limits)
    atexit.register(parent.close)
    return parent


class _Run:
    """One notebook on its way, cell by cell."""

    def __init__(self, session: Session, checks: Checks) -> None:
        self._session = session
        self._checks = checks
        self._number = 0
        self.notes: list[str] = []
        self._faults: list[str] = []
        self._sources: list[str] = []

    @property
    def problem(self) -> str:
        """Why a human has to look, or nothing."""
        if self._session.forged:
            return f"its code {self._session.forged}: look for an attempt to cheat"
        return "; ".join(self._faults)

    def cell(self, step: Step) -> CellRecord:
        """Run a cell, or the checks that it stands for."""
        self._number += 1
        if step.ask:
            return CellRecord(step, results=self._results(step.ask), ran=True)
        if step.kind != "code" or not step.source.strip():
            return CellRecord(step)
        name = step.grade_id or f"cell {self._number}"
        self._sources.append(step.source)
        try:
            outputs, seconds = self._session.run(step.source)
        except LostError as lost:
            self.notes.append(f"{name} {lost.reason}")
            text = f"The cell {lost.reason}."
            return CellRecord(
                step, (Output("error", text, name="LostError", value=text),), ran=True
            )
        if seconds > self._session.cell_seconds:
            self.notes.append(f"{name} took longer than {self._session.cell_seconds:g} s")
        return CellRecord(step, outputs, ran=True, seconds=round(seconds, 3))

    def _results(self, ask: Ask) -> tuple[Result, ...]:
        module = self._module(ask.exercise)
        world = RemoteWorld(self._session, module, self._checks.seed)
        before = self._session.starts
        self._session.refill()
        with noting_faults() as faults:
            solution = world.solution(ask.solution, self._instead_of(ask.solution))
            report = examine(module, ask.part, solution, world, points=ask.points)
        with suppress(LostError):  # then there is nothing to unlock
            world.leave()
        if world.late:
            self.notes.append(f"{ask.solution} did not return in time, {times(world.late)}")
        if self._session.starts > max(before, 1):
            again = times(self._session.starts - before)
            self.notes.append(f"{ask.solution} lost its process while it was checked, {again}")
        self._faults += [
            f"{ask.exercise}, {ask.part}: the check is faulty: {line(fault)}" for fault in faults
        ]
        return report.results

    def _instead_of(self, name: str) -> str:
        """Return a name like the one that is asked for, from the student's cells; empty if none."""
        defined = [other for source in self._sources for other in defined_names(source)]
        similar = [] if name in defined else get_close_matches(name, defined, 1, SIMILAR)
        return similar[0] if similar else ""

    def _module(self, exercise: str) -> ModuleType:
        if exercise not in self._checks.sources:
            raise RuntimeError(
                f"exercise={exercise!r} has no hidden checks; "
                f"there are {', '.join(sorted(self._checks.sources)) or 'none'}"
            )
        return load_source(exercise, self._checks.sources[exercise])


def times(number: int) -> str:
    """Say how often.

    Example:
        >>> times(1), times(3)
        ('once', '3 times')
    """
    return "once" if number == 1 else f"{number} times"
