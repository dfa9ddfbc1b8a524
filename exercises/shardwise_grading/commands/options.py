"""Options that several commands have."""

from __future__ import annotations

import argparse
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def new(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    help_line: str,
    description: str,
    epilog: str = "",
) -> argparse.ArgumentParser:
    """Declare a command, with its description kept as it is written."""
    return commands.add_parser(
        name,
        help=help_line,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_course(parser: argparse.ArgumentParser) -> None:
    """Declare ``--course``."""
    parser.add_argument(
        "--course",
        type=Path,
        default=Path("exercises"),
        metavar="FOLDER",
        help="the folder with nbgrader_config.py (default: %(default)s)",
    )


def add_assignment(parser: argparse.ArgumentParser) -> None:
    """Declare the assignment and the course."""
    parser.add_argument("assignment", help="a folder in source/, such as distributed-training")
    add_course(parser)


def add_database(parser: argparse.ArgumentParser) -> None:
    """Declare ``--db``."""
    parser.add_argument(
        "--db",
        metavar="URL",
        help="the gradebook, such as postgresql://host/name, in place of the course's own",
    )


def add_students(parser: argparse.ArgumentParser) -> None:
    """Declare ``--student``."""
    parser.add_argument(
        "--student",
        action="append",
        default=[],
        metavar="ID",
        help="only this student's work; may be given more than once",
    )


def positive(text: str) -> int:
    """Read a whole number above 0."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return number


def seconds(text: str) -> float:
    """Read a time above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return number


@contextmanager
def explained() -> Iterator[Callable[[str], None]]:
    """Print what went wrong in a ``with`` block, and go on behind it.

    Yields:
        What prints a line to stderr.
    """
    from rich.console import Console  # noqa: PLC0415  (no command waits for what it may not need)

    console = Console(stderr=True, soft_wrap=True)  # a path cut in two cannot be copied

    def explain(line: str) -> None:
        console.print(line, style="red", markup=False, highlight=False)

    try:
        yield explain
    except (OSError, RuntimeError, ValueError) as error:
        explain(str(error))
    except _database_error() as error:
        explain(f"the gradebook can't be used: {str(error).partition(chr(10))[0]}; see --db")


def _database_error() -> type[Exception]:
    """What the gradebook's library raises, without importing it for commands that need none."""
    library = sys.modules.get("sqlalchemy.exc")
    return library.SQLAlchemyError if library else OSError
