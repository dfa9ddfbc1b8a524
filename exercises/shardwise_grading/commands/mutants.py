"""Show which hidden check finds which known mistake."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shardwise_grading.commands import options as declare

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Run the hidden checks on known wrong and right solutions, and print which property fails for which;
exit with 1 if a mistake goes unfound.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = declare.new(
        commands, "mutants", "show which hidden check finds which mistake", DESCRIPTION
    )
    parser.add_argument(
        "exercise",
        nargs="*",
        help="modules of hidden checks, such as stage_2_memory (default: all)",
    )
    declare.add_course(parser)
    parser.add_argument(
        "--known",
        type=Path,
        default=Path("tests/exercises/known"),
        metavar="FOLDER",
        help="the folder with the solutions (default: %(default)s)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the tables of the exercises that the options name."""
    from rich.console import Console  # noqa: PLC0415

    from shardwise_grading.mutants import kill_table, read_known, use_course  # noqa: PLC0415

    with declare.explained() as explain:
        use_course(options.course)
        names = options.exercise or sorted(path.stem for path in options.known.glob("*.py"))
        parts = [part for name in names for part in read_known(options.known / f"{name}.py")]
        status = 0
        for known in parts:
            table, amiss = kill_table(known)
            Console().print(table)
            for line in amiss:
                explain(line)
            status |= bool(amiss)
        return status
    return 2
