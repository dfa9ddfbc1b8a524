"""Command line of the grader."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from shardwise_grading.mutants import kill_table, read_known, use_course
from shardwise_grading.sample import copy_course, grade_class, read_class, results_table

EXIT_CODES = """\
exit status:
  0  every submission got what the class expects; that includes the broken one, which a grader
     must hand on to a human without stopping
  1  a submission got something else; the note on it says what was expected
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
    sample.set_defaults(run=run_sample)
    mutants = commands.add_parser(
        "mutants",
        help="show which hidden check finds which known mistake",
        description="Run the hidden checks on known wrong and right solutions, and print which "
        "property fails for which; exit with 1 if a mistake goes unfound.",
    )
    mutants.add_argument(
        "exercise",
        nargs="*",
        help="modules of hidden checks, such as stage_2_memory (default: all)",
    )
    mutants.add_argument(
        "--course",
        type=Path,
        default=Path("exercises"),
        metavar="FOLDER",
        help="the course whose checks are run (default: %(default)s)",
    )
    mutants.add_argument(
        "--known",
        type=Path,
        default=Path("tests/exercises/known"),
        metavar="FOLDER",
        help="the folder with the solutions (default: %(default)s)",
    )
    mutants.set_defaults(run=run_mutants)
    options = parser.parse_args(arguments)
    status: int = options.run(options)
    return status


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
    table, notes, surprises = results_table(sample, rows)
    Console().print(table)
    print(*notes, sep="\n")
    if options.keep:
        print(f"feedback, gradebook.db and grades.csv are in {options.keep}")
    return 1 if surprises else 0


def run_mutants(options: argparse.Namespace) -> int:
    """Print the tables of the exercises that the options name."""
    errors = Console(stderr=True, soft_wrap=True)
    try:
        use_course(options.course)
        names = options.exercise or sorted(path.stem for path in options.known.glob("*.py"))
        parts = [part for name in names for part in read_known(options.known / f"{name}.py")]
    except FileNotFoundError as error:
        errors.print(str(error), style="red", markup=False)
        return 2
    status = 0
    for known in parts:
        table, amiss = kill_table(known)
        Console().print(table)
        for line in amiss:
            errors.print(line, style="red", markup=False)
        status |= bool(amiss)
    return status


if __name__ == "__main__":
    sys.exit(main())
