"""Command line of the grader."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from shardwise_grading.sample import copy_course, grade_class, read_class, results_table

EXIT_CODES = """\
exit status:
  0  every submission got what the class expects; that includes the broken one, which a grader
     must hand on to a human without stopping
  1  a submission got something else; its note says what was expected
  2  the class could not be graded at all
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    parser = argparse.ArgumentParser(prog="shardwise_grading", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    sample = commands.add_parser(
        "sample",
        help="grade the sample class through nbgrader and print the table",
        description="Grade the sample class in a temporary copy of the course, through nbgrader's "
        "own commands: generate_assignment, autograde, generate_feedback, export.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sample.add_argument(
        "--course",
        type=Path,
        default=Path("exercises"),
        metavar="FOLDER",
        help="the course to copy (default: %(default)s)",
    )
    sample.add_argument(
        "--class",
        dest="folder",
        type=Path,
        default=Path("tests/sample_class"),
        metavar="FOLDER",
        help="the folder with class.toml (default: %(default)s)",
    )
    sample.add_argument(
        "--keep",
        type=Path,
        metavar="FOLDER",
        help="work in this new folder and leave it, to look at feedback and gradebook",
    )
    return run_sample(parser.parse_args(arguments))


def run_sample(options: argparse.Namespace) -> int:
    """Grade the sample class as the options say."""
    errors = Console(stderr=True, soft_wrap=True)  # a path cut in two cannot be copied
    if options.keep and options.keep.exists():
        errors.print(f"{options.keep} exists already; name a new folder", style="red")
        return 2
    try:
        sample = read_class(options.folder)
        with tempfile.TemporaryDirectory(prefix="shardwise-") as scratch:
            course = (options.keep or Path(scratch) / "course").resolve()
            copy_course(options.course, course)
            rows = grade_class(course, sample, errors)
    except KeyboardInterrupt:
        errors.print("stopped")
        return 130
    except (OSError, RuntimeError) as error:
        errors.print(str(error), style="red", markup=False)
        return 2
    table, surprises = results_table(sample, rows)
    Console().print(table)
    if options.keep:
        print(f"feedback, gradebook.db and grades.csv are in {options.keep}")
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())
