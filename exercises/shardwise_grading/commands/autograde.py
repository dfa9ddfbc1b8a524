"""Grade a class."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from shardwise_grading.commands import options as declare

if TYPE_CHECKING:
    import argparse

    from shardwise_grading.checking.limits import GradingLimits
    from shardwise_grading.class_run.plan import ClassResults, Plan

DESCRIPTION = """\
Grade what students handed in for an assignment, as 'nbgrader autograde' does: the same folders,
the same gradebook, the same scores. Students' code runs in processes of its own that can reach
neither the course nor the network. What is unchanged since it was graded is not graded again; a
run that was stopped goes on where it was.
"""

EXIT_CODES = """\
exit status:
  0    everything is graded
  1    some submissions need a human; the list says which and why
  2    nothing could be graded at all
  130  stopped by Ctrl-C; what was graded until then is kept
"""

MIB = 2**20
STOPPED = 130


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = declare.new(commands, "autograde", "grade a class", DESCRIPTION, EXIT_CODES)
    declare.add_assignment(parser)
    declare.add_database(parser)
    declare.add_students(parser)
    parser.add_argument(
        "--jobs",
        type=declare.positive,
        metavar="N",
        help="submissions at a time (default: one for each processor and each GiB of memory)",
    )
    parser.add_argument(
        "--backend",
        choices=("loky", "dask"),
        default="loky",
        help="loky: processes of this machine; dask: a Dask cluster (default: %(default)s)",
    )
    parser.add_argument(
        "--scheduler",
        default="",
        metavar="ADDRESS",
        help="the scheduler of a Dask cluster, such as tcp://10.0.0.1:8786 "
        "(default: a local cluster of --jobs processes)",
    )
    parser.add_argument("--force", action="store_true", help="grade what is unchanged again")
    parser.add_argument("--seed", help="decides the inputs of hidden checks, in place of the usual")
    parser.add_argument(
        "--no-sandbox",
        action="store_true",
        help="run students' code with your rights; only for code that you trust",
    )
    _add_limits(parser)
    parser.set_defaults(run=run)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    limits = parser.add_argument_group("limits of each notebook")
    for name, kind, unit, text in (
        ("cell-seconds", declare.seconds, "S", "how long a cell may run (30)"),
        ("notebook-seconds", declare.seconds, "S", "how long all of it may take (120)"),
        (
            "memory",
            declare.positive,
            "MIB",
            "memory of all its processes, besides torch itself (1024)",
        ),
        ("processes", declare.positive, "N", "processes and threads (64)"),
        ("disk", declare.positive, "MIB", "files that it may write (32)"),
        ("output", declare.positive, "N", "characters that a cell may show (50000)"),
    ):
        limits.add_argument(f"--{name}", type=kind, metavar=unit, help=text)


def run(options: argparse.Namespace) -> int:
    """Grade as the options say."""
    from rich.console import Console  # noqa: PLC0415

    from shardwise_grading.class_run.progress import progress  # noqa: PLC0415

    errors = Console(stderr=True, soft_wrap=True)  # a path cut in two cannot be copied

    def say(sentence: str) -> None:
        errors.print(sentence, markup=False, highlight=False)

    with declare.explained():
        from shardwise_grading.class_run.run import grade_class  # noqa: PLC0415

        if options.seed is not None:
            os.environ["SHARDWISE_SEED"] = options.seed  # the course's own seed is only a default
        plan = make_plan(options)
        try:
            results = grade_class(options.course, plan, say, lambda total: progress(errors, total))
        except KeyboardInterrupt:
            say("stopped; the same command goes on where it was")
            return STOPPED
        return show(results, options)
    return 2


def make_plan(options: argparse.Namespace) -> Plan:
    """Say what the options ask for.

    Raises:
        ValueError: they contradict each other.
    """
    from shardwise_grading.class_run.plan import Plan  # noqa: PLC0415
    from shardwise_grading.class_run.pool import most_jobs  # noqa: PLC0415

    if options.scheduler and options.backend != "dask":
        raise ValueError("--scheduler is for a Dask cluster; add --backend dask")
    return Plan(
        options.assignment,
        tuple(options.student),
        options.jobs or most_jobs(),
        options.backend,
        options.scheduler,
        options.force,
        options.db,
        make_limits(options),
        not options.no_sandbox,
    )


def make_limits(options: argparse.Namespace) -> GradingLimits:
    """Put the limits that the options name in the place of the usual ones."""
    from dataclasses import replace  # noqa: PLC0415

    from shardwise_grading.checking.limits import GradingLimits  # noqa: PLC0415

    usual = GradingLimits()
    held = {
        "memory": options.memory and options.memory * MIB,
        "processes": options.processes,
        "disk": options.disk and options.disk * MIB,
    }
    time = {
        "cell_seconds": options.cell_seconds,
        "notebook_seconds": options.notebook_seconds,
        "output": options.output,
    }
    sandbox = replace(usual.sandbox, **{k: v for k, v in held.items() if v is not None})
    return replace(usual, sandbox=sandbox, **{k: v for k, v in time.items() if v is not None})


def show(results: ClassResults, options: argparse.Namespace) -> int:
    """Print the table, who needs a human, and notes; return the exit status."""
    from rich.console import Console  # noqa: PLC0415

    from shardwise_grading.class_run.summary import (  # noqa: PLC0415
        human_list,
        note_list,
        results_table,
    )

    rows, assignment = results.rows, options.assignment
    students = f"{len(rows)} student{'' if len(rows) == 1 else 's'}"
    Console().print(results_table(f"{assignment}: {students}", rows))
    human = human_list(rows, options.course / "submitted", assignment)
    for line in (*note_list(rows), *human, results.sentence):
        sys.stdout.write(f"{line}\n")
    return 1 if human else 0
