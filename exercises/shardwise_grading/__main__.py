"""Command line of the grader."""

from __future__ import annotations

import argparse
import sys

from shardwise_grading.commands import autograde, feedback, mutants, release, sample, similar

CHECK = "check"


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == [CHECK]:
        # A student waits for this one, and it knows its own options.
        from shardwise_grading.check.command import main as check  # noqa: PLC0415

        return check(given[1:])
    options = make_parser().parse_args(given)
    try:
        status: int = options.run(options)
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        return autograde.STOPPED
    return status


def make_parser() -> argparse.ArgumentParser:
    """Declare all commands."""
    parser = argparse.ArgumentParser(prog="shardwise_grading", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (release, autograde, feedback, similar):
        command.add(commands)
    commands.add_parser(CHECK, help="run a notebook's visible checks, as students do")
    sample.add(commands)
    mutants.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
