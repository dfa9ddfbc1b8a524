"""Take a sample class through the whole path."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from shardwise_grading.commands import options as declare

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Take a small class through release, grading, feedback and export, in a temporary copy of the course,
and compare its points with what they must be.
"""

EXIT_CODES = """\
exit status:
  0    every submission got what the class expects; that includes the broken one, which a grader
       must hand on to a human without stopping
  1    a submission got something else; the line on it says what was expected
  2    the class could not be graded at all
  130  stopped by Ctrl-C
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = declare.new(commands, "sample", "grade the sample class", DESCRIPTION, EXIT_CODES)
    declare.add_course(parser)
    parser.add_argument(
        "--class",
        dest="folder",
        type=Path,
        default=Path("tests/sample_class"),
        metavar="FOLDER",
        help="the folder with class.toml (default: %(default)s)",
    )
    parser.add_argument(
        "--with",
        dest="grader",
        choices=("shardwise", "nbgrader"),
        default="shardwise",
        help="whose grader: ours, or nbgrader's own commands (default: %(default)s)",
    )
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="FOLDER",
        help="work in this new folder and leave it, to look at feedback and gradebook",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Grade the sample class as the options say."""
    from rich.console import Console  # noqa: PLC0415

    from shardwise_grading.class_run.summary import results_table  # noqa: PLC0415
    from shardwise_grading.sample import compare, copy_course, read_class  # noqa: PLC0415
    from shardwise_grading.sample_grading import GRADERS  # noqa: PLC0415

    with declare.explained():
        if options.keep and options.keep.exists():
            raise ValueError(f"{options.keep} exists already; name a new folder")
        sample = read_class(options.folder)
        with tempfile.TemporaryDirectory(prefix="shardwise-") as scratch:
            course = (options.keep or Path(scratch) / "course").resolve()
            copy_course(options.course, course)
            errors = Console(stderr=True, soft_wrap=True)
            rows = GRADERS[options.grader](course, sample, errors)
        lines, surprises = compare(sample, rows)
        title = f"{sample.assignment}: a class of {len(rows)}"
        Console().print(results_table(title, rows))
        for line in lines:
            sys.stdout.write(f"{line}\n")
        if options.keep:
            sys.stdout.write(f"feedback, gradebook.db and grades.csv are in {options.keep}\n")
        return 1 if surprises else 0
    return 2
