"""How far a run has come: a bar on a terminal, plain lines anywhere else."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from shardwise_grading.class_run.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

WIDEST = 40


class Report(Protocol):
    """What a run tells of each submission."""

    def __call__(self, student: str, outcome: str) -> None:
        """Say that a student's submission is done, and how."""


@contextmanager
def progress(console: Console, total: int) -> Iterator[Report]:
    """Show how many of a number of submissions are done.

    Args:
        console: where; a bar if it is a terminal, else a line for each submission.
        total: how many there are.
    """
    if not console.is_terminal:
        yield _Lines(console, total)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("starting", total=total)

        def advance(student: str, outcome: str) -> None:
            line = printable(f"{student}: {outcome}", WIDEST)
            bar.update(task, advance=1, description=escape(line))

        yield advance


class _Lines:
    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        self._total = total
        self._done = 0

    def __call__(self, student: str, outcome: str) -> None:
        self._done += 1
        count = f"{self._done:{len(str(self._total))}}/{self._total}"
        line = f"{count}  {printable(student)}: {printable(outcome)}"
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)
