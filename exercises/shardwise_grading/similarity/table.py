"""The similarity report in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from shardwise_grading.feedback.plain import plain
from shardwise_grading.similarity.words import MEANING, describe

if TYPE_CHECKING:
    from shardwise_grading.similarity.pairs import Similarities

MOST_EVIDENCE = 3


def table(report: Similarities) -> Table:
    """Draw one row for each pair, with its strongest evidence.

    Args:
        report: what `similar` found.
    """
    drawn = Table(
        title=f"{plain(report.assignment)}: pairs to look at among {report.students} submissions",
        caption=f"Pairs are listed from {report.threshold:.0f} bits. {MEANING}",
        caption_justify="left",
    )
    drawn.add_column("pair", overflow="fold")
    drawn.add_column("bits", justify="right", no_wrap=True)
    drawn.add_column("strongest evidence", overflow="fold", ratio=1)
    for pair in report.pairs:
        strongest = (
            f"{one.notebook}: {describe(one, report.students)}"
            for one in pair.evidence[:MOST_EVIDENCE]
        )
        drawn.add_row(
            Text(plain(f"{pair.first}\n{pair.second}")),
            f"{pair.bits:.0f}",
            Text("\n".join(strongest)),
        )
    return drawn
