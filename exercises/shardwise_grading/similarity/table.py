"""The similarity report in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group as Together
from rich.table import Table
from rich.text import Text

from shardwise_grading.feedback.plain import plain
from shardwise_grading.similarity.words import (
    MEANING,
    MOST_NAMES,
    called,
    compared,
    strongest,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shardwise_grading.similarity.pairs import Similarities


def table(report: Similarities) -> Together:
    """Draw one row for each group and each pair, with its strongest evidence.

    Args:
        report: what `similar` found.
    """
    drawn = _empty()
    for number, group in enumerate(report.groups, 1):
        more = len(group.students) - MOST_NAMES
        names = [*group.students[:MOST_NAMES], *([f"and {more} more"] if more > 0 else [])]
        _add(drawn, [f"group {number}:", *names], group.bits, strongest(report, group))
    for pair in report.pairs:
        names = [called(report, pair.first), called(report, pair.second)]
        _add(drawn, names, pair.bits, strongest(report, pair))
    first = Text(f"{plain(report.assignment)}: {' '.join(compared(report))}")
    if not drawn.row_count:
        return Together(first, Text("No pair and no group stands out."))
    line = f"Listed from {report.threshold:.0f} bits."
    return Together(first, drawn, Text(f"{line} {MEANING}"))


def _empty() -> Table:
    drawn = Table(show_lines=True)
    drawn.add_column("who", overflow="fold")
    drawn.add_column("bits", justify="right", no_wrap=True)
    drawn.add_column("strongest evidence", overflow="fold", ratio=1)
    return drawn


def _add(drawn: Table, names: Iterable[str], bits: float, said: Iterable[str]) -> None:
    drawn.add_row(Text(plain("\n".join(names))), f"{bits:.0f}", Text("\n".join(said)))
