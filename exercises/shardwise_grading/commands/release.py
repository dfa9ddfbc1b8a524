"""Make the folder for students."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from shardwise_grading.commands import options as declare

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Make release/ASSIGNMENT: the notebooks without solutions and hidden checks, a README, and all that
students have to install. An older release is replaced.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = declare.new(commands, "release", "make the folder for students", DESCRIPTION)
    declare.add_assignment(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Make the folder that the options name."""
    from shardwise_grading.release import make_release  # noqa: PLC0415

    with declare.explained():
        sys.stdout.write(f"{make_release(options.course, options.assignment)}\n")
        return 0
    return 2
