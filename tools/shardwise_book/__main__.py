"""The commands `python -m shardwise_book build`, `quarto`, `check` and `serve`."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from rich.console import Console

from shardwise_book import check, links, prose, quarto, serve
from shardwise_book.build import build
from shardwise_book.epub import epub
from shardwise_book.errors import BookError, Problem, raise_any


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m shardwise_book", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("build", help="build the book of the current folder")
    made.add_argument(
        "--output", type=Path, help="folder of the built book (default: as _quarto.yml says)"
    )
    commands.add_parser("quarto", help="let the quarto program build it, and check what it made")
    bound = commands.add_parser("epub", help="write the book as an EPUB")
    bound.add_argument("output", nargs="?", type=Path, default=Path("_book.epub"), help="the file")
    commands.add_parser("prose", help="look for what the text doesn't say or doesn't compute")
    listed = commands.add_parser("links", help="list the addresses outside a built book")
    listed.add_argument("folder", nargs="?", type=Path, default=Path("_book"), help="a built book")
    listed.add_argument("--ask", action="store_true", help="go online and see whether they answer")
    looked = commands.add_parser("check", help="look for what is broken in a built book")
    looked.add_argument("folder", nargs="?", type=Path, default=Path("_book"), help="a built book")
    served = commands.add_parser("serve", help="serve a built book on this machine")
    served.add_argument("folder", nargs="?", type=Path, default=Path("_book"), help="a built book")
    served.add_argument(
        "--watch", action="store_true", help="build what changes, and reload the open pages"
    )
    served.add_argument("--port", type=int, default=4200, help="port to listen on (default: 4200)")
    return parser


def _run(arguments: argparse.Namespace, console: Console) -> None:
    if arguments.command == "build":
        report = build(Path.cwd(), arguments.output, console)
        print(
            _summary(report.pages, report.executed, report.changed, report.seconds), report.output
        )
    elif arguments.command == "quarto":
        print("Quarto built the book, and nothing in it is broken:", quarto.build(Path.cwd()))
    elif arguments.command == "epub":
        print("The EPUB:", epub(Path.cwd(), arguments.output, console))
    elif arguments.command == "prose":
        raise_any(prose.problems(Path.cwd(), console))
        print("Every sentence has its line, every letter a meaning, every number a cell.")
    elif arguments.command == "links":
        found = links.outside(arguments.folder)
        raise_any(links.silent(found) if arguments.ask else [])
        print(*sorted(found), sep="\n")
    elif arguments.command == "check":
        raise_any(check.check_site(arguments.folder))
        print(f"{arguments.folder}: nothing is broken")
    elif arguments.watch:
        from shardwise_book.author import serve_and_rebuild  # noqa: PLC0415 - only authors need it

        serve_and_rebuild(Path.cwd(), arguments.folder, arguments.port, console)
    else:
        serve.serve(arguments.folder, arguments.port)


def _summary(pages: int, executed: list[str], changed: bool, seconds: float) -> str:
    if not changed:
        return f"Nothing has changed since the last build ({seconds:.1f} s):"
    ran = f"cells ran in {', '.join(executed)}" if executed else "no cell had to run"
    return f"{pages} pages in {seconds:.1f} s, {ran}:"


def _refused(error: OSError) -> Problem:
    """Say what the machine refused."""
    what = error.strerror or str(error) or type(error).__name__
    remedy = "see that it is where it should be, may be read and written, and the disk has room"
    return Problem(str(error.filename or "this machine"), None, what, remedy)


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    """Run one command.

    Returns:
        0 if all is well, 1 if the book has problems, 130 if it was interrupted.
    """
    arguments = _parser().parse_args()
    signal.signal(signal.SIGTERM, _stop)
    try:
        _run(arguments, Console(stderr=True))
    except (BookError, OSError) as caught:
        error = caught if isinstance(caught, BookError) else BookError(_refused(caught))
        count = len(error.problems)
        print(
            error,
            f"{count} problem{'s' * (count != 1)}; nothing was changed.",
            sep="\n",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        print(
            "Interrupted. The book is as it was; chapters that had finished are kept.",
            file=sys.stderr,
        )
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
