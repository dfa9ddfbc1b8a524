"""From the sources of a book to its converted chapters: scan, execute, compose, convert, number."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from string import ascii_uppercase
from typing import TYPE_CHECKING, TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from shardwise_book import crossref
from shardwise_book.assets import local_problems
from shardwise_book.compose import Composed, compose
from shardwise_book.convert import (
    Book,
    Converted,
    bibliography,
    cited_keys,
    convert,
    own_classes,
)
from shardwise_book.errors import BookError, Problem, faults_in, raise_any
from shardwise_book.execute import Executed, causes_key, execute
from shardwise_book.reading import note
from shardwise_book.scan import Chapter, Line, scan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from rich.console import Console
    from rich.progress import TaskID

    from shardwise_book.config import Config

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Chapters:
    """All chapters at every step of their way, in the order of the book."""

    scanned: list[Chapter]
    executed: list[Executed]
    composed: list[Composed]
    converted: list[Converted]
    targets: crossref.Targets


def prepare(root: Path, config: Config, console: Console, form: str = "html") -> Chapters:
    """Scan, execute, compose, convert and number the chapters of a book.

    Args:
        root: the project's folder.
        config: its settings.
        console: where the progress of cells is shown.
        form: "html" for pages, "epub" for an EPUB, which runs no scripts.

    Raises:
        BookError: everything that is wrong with the chapters, as far as it can be seen at once.
    """
    names = config.chapters
    chapters, executed = run(root, config, console)
    composed = each(
        "placing its outputs",
        names,
        zip(chapters, executed, strict=True),
        lambda pair: compose(pair[0], pair[1].outputs, config.code_fold),
    )
    converted, references = _convert(config, chapters, composed, form)
    targets = crossref.Targets(crossref.collect(converted), references)
    raise_any(
        problem
        for c in converted
        for problem in (*crossref.check([c], targets.labels), *local_problems(config, c))
    )
    return Chapters(chapters, executed, composed, converted, targets)


def run(root: Path, config: Config, console: Console) -> tuple[list[Chapter], list[Executed]]:
    """Return the scanned chapters of a book and what their cells put out.

    Raises:
        BookError: a chapter that can't be read, or a cell that raises.
    """
    names = config.chapters
    chapters = each("reading it", names, names, lambda name: scan(root, name))
    note(root, names)
    return chapters, _execute(root, chapters, console)


def _execute(root: Path, chapters: list[Chapter], console: Console) -> list[Executed]:
    """Return what the cells of each chapter put out, and show how far they are."""
    causes = causes_key(root)
    executed: list[Executed] = []
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as bars:
        for chapter in chapters:
            total = len(chapter.steps())
            bar = bars.add_task(chapter.file, total=total, visible=total > 0)
            progress = partial(_advance, bars, bar)
            with faults_in(chapter.file, "running its cells"):
                executed.append(execute(root, chapter, causes, progress))
            progress(total)
    return executed


def _advance(bars: Progress, bar: TaskID, done: int) -> None:
    bars.update(bar, completed=done)


def _convert(
    config: Config, chapters: list[Chapter], composed: list[Composed], form: str
) -> tuple[list[Converted], str | None]:
    keys = [entry["id"] for entry in bibliography(config)]
    references = next((c.file for c in chapters if _has_references(c)), None)
    cited = cited_keys(keys, composed)
    book = Book(config, own_classes(config), keys, cited, references, form)
    count, letters = itertools.count(1), iter(ascii_uppercase)
    numbers = [
        (next(letters) if chapter.file in config.appendices else str(next(count)))
        if chapter.numbered
        else None
        for chapter in chapters
    ]
    work = zip(chapters, composed, numbers, strict=True)
    converted = each("converting it", config.chapters, work, lambda item: convert(book, *item))
    return converted, references


def _has_references(chapter: Chapter) -> bool:
    lines = (p.text for p in chapter.parts if isinstance(p, Line) and not p.verbatim)
    return any(line.startswith(":::") and "#refs" in line for line in lines)


def each(
    doing: str, files: list[str], items: Iterable[Item], function: Callable[[Item], Result]
) -> list[Result]:
    """Apply the function to all items at once, one a file, and raise all problems together."""
    problems: list[Problem] = []
    results: list[Result] = []
    with ThreadPoolExecutor() as pool:
        futures = [pool.submit(function, item) for item in items]
        for file, future in zip(files, futures, strict=True):
            try:
                with faults_in(file, doing):
                    results.append(future.result())
            except BookError as error:
                problems += error.problems
    raise_any(problems)
    return results
