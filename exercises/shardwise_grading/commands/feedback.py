"""Write feedback pages."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from shardwise_grading.commands import options as declare

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Write a page for each notebook that was graded, and an index for each student, where nbgrader has
its own (feedback/STUDENT/ASSIGNMENT), so that 'nbgrader release_feedback' hands them out.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = declare.new(commands, "feedback", "write feedback pages", DESCRIPTION)
    declare.add_assignment(parser)
    declare.add_database(parser)
    declare.add_students(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the pages that the options name."""
    from shardwise_grading.feedback import write_feedback  # noqa: PLC0415
    from shardwise_grading.gradebook.course import Course  # noqa: PLC0415

    with declare.explained(), Course.open(options.course, options.db) as course:
        pages = write_feedback(course, options.assignment, options.student or None)
        sys.stdout.write(f"{len(pages)} pages are in {options.course / 'feedback'}\n")
        return 0
    return 2
