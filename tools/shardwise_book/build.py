"""Builds the book: scan, execute, compose, convert, write beside, check, and only then swap."""

from __future__ import annotations

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from shardwise_book import check, crossref, search
from shardwise_book.assets import image_files, local_problems
from shardwise_book.compose import Composed, compose
from shardwise_book.config import FILE, Config, load
from shardwise_book.convert import (
    Book,
    Converted,
    bibliography,
    cited_keys,
    convert,
    own_classes,
)
from shardwise_book.errors import BookError, Problem, faults_in, raise_any
from shardwise_book.execute import CACHE, Executed, causes_key, digest, digests, execute
from shardwise_book.files import read_json, write_beside
from shardwise_book.notebooks import Words, is_for_running, notebook, sources
from shardwise_book.output import MARK, put, refuse_strange, space_beside
from shardwise_book.pages import write_pages
from shardwise_book.scan import Chapter, Line, scan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.progress import TaskID

HERE = Path(__file__).parent
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Report:
    """What a build did: `executed` names the chapters whose cells ran."""

    output: Path
    pages: int
    executed: list[str]
    changed: bool
    seconds: float


def build(root: Path, output: Path | None = None, console: Console | None = None) -> Report:
    """Build the book of the project in `root`.

    Args:
        root: the folder that holds `_quarto.yml`.
        output: where the book goes; by default the folder that `_quarto.yml` names.
        console: where progress is shown; by default nowhere.

    Raises:
        BookError: whatever is wrong; a book that was built before then stays as it was.
    """
    root = root.resolve()
    with faults_in(FILE, "building the book"):
        return _build(root, output, console or Console(quiet=True))


def _build(root: Path, output: Path | None, console: Console) -> Report:
    start = time.monotonic()
    config = load(root)
    (root / CACHE).mkdir(parents=True, exist_ok=True)
    target = (output or root / config.output).resolve()
    refuse_strange(root, target)
    stamp = root / CACHE / "built.json"
    inputs = _inputs(config)
    if _unchanged(config, inputs, stamp, target):
        return Report(
            target, len(config.chapters), [], changed=False, seconds=time.monotonic() - start
        )
    names = config.chapters
    chapters = _each("reading it", names, names, lambda name: scan(root, name))
    executed = _execute(root, chapters, console)
    composed = _each(
        "placing its outputs",
        names,
        zip(chapters, executed, strict=True),
        lambda pair: compose(pair[0], pair[1].outputs, config.code_fold),
    )
    converted, references = _convert(config, chapters, composed)
    targets = crossref.Targets(crossref.collect(converted), references)
    raise_any(
        problem
        for c in converted
        for problem in (*crossref.check([c], targets.labels), *local_problems(config, c))
    )
    with space_beside(root, target) as space:
        new = space / "new"
        new.mkdir()
        write_pages(
            config, converted, targets, _notebooks(config, chapters, executed, targets), new
        )
        (new / MARK).write_text("Built by python -m shardwise_book build.\n", encoding="utf-8")
        search.index(new)
        raise_any(_at_sources(check.check_site(new), composed))
        put(new, target, space / "old")
    files = digests(root, image_files(config, converted))
    for done in executed:
        files |= done.reads
    made = digest(target, target.rglob("*"))
    state = {"folder": str(target), "inputs": inputs, "files": files, "output": made}
    write_beside(stamp, json.dumps(state))
    ran = [c.file for c, e in zip(chapters, executed, strict=True) if e.ran]
    return Report(target, len(converted), ran, changed=True, seconds=time.monotonic() - start)


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
    config: Config, chapters: list[Chapter], composed: list[Composed]
) -> tuple[list[Converted], str | None]:
    keys = [entry["id"] for entry in bibliography(config)]
    references = next((c.file for c in chapters if _has_references(c)), None)
    cited = cited_keys(keys, composed)
    book = Book(config, own_classes(config), keys, cited, references)
    numbers: list[str | None] = []
    for chapter in chapters:
        count = sum(number is not None for number in numbers)
        numbers.append(str(count + 1) if chapter.numbered else None)
    work = zip(chapters, composed, numbers, strict=True)
    converted = _each("converting it", config.chapters, work, lambda item: convert(book, *item))
    return converted, references


def _notebooks(
    config: Config, chapters: list[Chapter], executed: list[Executed], targets: crossref.Targets
) -> dict[str, str]:
    """Return the notebook of each chapter that has something to run."""
    with_cells = [chapter for chapter in chapters if is_for_running(chapter)]
    names = frozenset(Path(chapter.file).stem for chapter in with_cells)
    words = Words(targets.labels, sources(bibliography(config)), names)
    outputs = {chapter.file: done.outputs for chapter, done in zip(chapters, executed, strict=True)}
    made = _each(
        "making its notebook",
        [chapter.file for chapter in with_cells],
        with_cells,
        lambda chapter: notebook(chapter, outputs[chapter.file], words),
    )
    return {chapter.file: text for chapter, text in zip(with_cells, made, strict=True)}


def _at_sources(problems: list[Problem], chapters: list[Composed]) -> Iterator[Problem]:
    """Name the files that an author can change instead of the pages, which are gone by then."""
    by_page = {crossref.page_of(chapter.file): chapter for chapter in chapters}
    for found in problems:
        chapter = by_page.get(found.file)
        if chapter is None:
            yield replace(found, file=found.file.removeprefix("assets/book/"))
            continue
        named = re.findall(r"'([^']+)'|(\S*[/#@]\S+)", found.message)
        lines = (chapter.find(quoted or address) for quoted, address in named)
        line = next((line for line in lines if line), None)
        message = f"its page {found.file}: {found.message}"
        yield Problem(chapter.file, line, message, found.remedy)


def _has_references(chapter: Chapter) -> bool:
    lines = (p.text for p in chapter.parts if isinstance(p, Line) and not p.verbatim)
    return any(line.startswith(":::") and "#refs" in line for line in lines)


def _each(
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


def _unchanged(config: Config, inputs: str, stamp: Path, target: Path) -> bool:
    """Compare with the last build: the same inputs, and an output that nobody touched since."""
    kept = read_json(stamp)
    files = kept.get("files")
    return (
        kept.get("folder") == str(target)
        and kept.get("inputs") == inputs
        and isinstance(files, dict)
        and files == digests(config.root, files)
        and kept.get("output") == digest(target, target.rglob("*"))
    )


def _inputs(config: Config) -> str:
    """Return a digest of every file that can change a page, but images and what cells open."""
    named = (FILE, *config.chapters, *config.bibliography, *config.css, *config.head)
    files = [config.root / name for name in (*named, *config.after_body)]
    return digest(
        config.root, [*files, *HERE.rglob("*")], causes_key(config.root), version("shardwise")
    )
