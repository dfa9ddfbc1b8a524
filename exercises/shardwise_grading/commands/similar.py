"""Report pairs of submissions that are suspiciously alike."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from shardwise_grading.commands import options as declare

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
List pairs of submissions that are more alike than the exercise explains, and write a page for each
pair. Whether anybody copied is for a human to say.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = declare.new(commands, "similar", "list submissions that are alike", DESCRIPTION)
    declare.add_assignment(parser)
    declare.add_database(parser)
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="where the pages and similar.json go (default: results/ASSIGNMENT/similar)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the report that the options name."""
    from rich.console import Console  # noqa: PLC0415

    from shardwise_grading.gradebook.course import Course  # noqa: PLC0415
    from shardwise_grading.similarity import similar, table, write_pages  # noqa: PLC0415

    usual = options.course / "results" / options.assignment / "similar"
    folder = options.output or usual
    with declare.explained(), Course.open(options.course, options.db) as course:
        report = similar(course, options.assignment)
        write_pages(report, folder)
        Console().print(table(report))
        sys.stdout.write(f"pages and similar.json are in {folder}\n")
        return 0
    return 2
