"""The results of a class for a reader: a table, what needs a human, and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from shardwise_grading.class_run.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from shardwise_grading.class_run.rows import Row

WIDEST_NAME = 22
WIDEST_LATE_NAME = 15  # beside a column of penalties
WIDEST_HEAD = 6
MOST_COLUMNS = 6
MOST_NOTES = 40


def results_table(title: str, rows: Sequence[Row]) -> Table:
    """Draw a line for each student; a terminal of 80 columns holds it.

    Args:
        title: what stands above.
        rows: one for each student.
    """
    notebooks = sorted({name for row in rows for name in row.max_points})
    shown = notebooks if len(notebooks) <= MOST_COLUMNS else []
    most = {name: max(row.max_points.get(name, 0.0) for row in rows) for name in notebooks}
    late = any(row.late_penalty for row in rows)
    width = WIDEST_LATE_NAME if late else WIDEST_NAME
    table = Table(
        title=Text(title),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("student", no_wrap=True, max_width=width)
    table.add_column("status", no_wrap=True)
    for name in shown:
        head = printable(name.partition("-")[0], WIDEST_HEAD)
        table.add_column(Text(f"{head}\nof {most[name]:g}"), justify="right", no_wrap=True)
    if late:
        table.add_column("late", justify="right", no_wrap=True)
    table.add_column(f"total\nof {sum(most.values()):g}", justify="right", no_wrap=True)
    for row in rows:
        points = [f"{row.points[name]:g}" if name in row.points else "-" for name in shown]
        penalty = [f"-{row.late_penalty:g}" if row.late_penalty else ""] if late else []
        total = f"{row.total:g}" if row.points else "-"
        cells = [printable(row.student), row.status, *points, *penalty, total]
        table.add_row(*map(Text, cells))
    return table


def human_list(rows: Sequence[Row], submitted: Path, assignment: str) -> list[str]:
    """List who needs a human, why, and what to do; nothing when nobody does.

    Args:
        rows: one for each student.
        submitted: the folder that holds what was handed in.
        assignment: the folder in each student's own.
    """
    needy = [row for row in rows if row.problem]
    if not needy:
        return []
    count = "1 submission needs" if len(needy) == 1 else f"{len(needy)} submissions need"
    return [
        f"{count} a human:",
        *(f"  {printable(row.student)}: {printable(row.problem)}" for row in needy),
        f"Look at {submitted / 'STUDENT' / assignment}. Give the points by hand",
        f"('jupyter lab' in {submitted.parent}, menu Nbgrader, Formgrader), or let the student",
        "hand in again and run this command again.",
    ]


def note_list(rows: Sequence[Row]) -> list[str]:
    """List what an instructor should know besides; a long list is cut."""
    notes = [f"  {printable(row.student)}: {printable(note)}" for row in rows for note in row.notes]
    if len(notes) > MOST_NOTES:
        left = len(notes) - MOST_NOTES
        notes = [*notes[:MOST_NOTES], f"  and {left} more, in results.json"]
    return ["Notes:", *notes] if notes else []
