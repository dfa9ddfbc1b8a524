"""Builds the book: scan, execute, compose, convert, write beside, check, and only then swap."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from shardwise_book import check, crossref, search
from shardwise_book.assets import image_files
from shardwise_book.chapters import Chapters, each, prepare
from shardwise_book.config import FILE, Config, load
from shardwise_book.convert import (
    bibliography,
)
from shardwise_book.errors import Problem, faults_in, raise_any
from shardwise_book.execute import CACHE, causes_key, digest, digests
from shardwise_book.files import read_json, write_beside
from shardwise_book.notebooks import Words, is_for_running, notebook, sources
from shardwise_book.output import MARK, put, refuse_strange, space_beside
from shardwise_book.pages import write_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardwise_book.compose import Composed


HERE = Path(__file__).parent


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
    book = prepare(root, config, console)
    with space_beside(root, target) as space:
        new = space / "new"
        new.mkdir()
        write_pages(config, book.converted, book.targets, _notebooks(config, book), new)
        (new / MARK).write_text("Built by python -m shardwise_book build.\n", encoding="utf-8")
        search.index(new)
        raise_any(_at_sources(check.check_site(new), book.composed))
        put(new, target, space / "old")
    files = digests(root, image_files(config, book.converted))
    for done in book.executed:
        files |= done.reads
    made = digest(target, target.rglob("*"))
    state = {"folder": str(target), "inputs": inputs, "files": files, "output": made}
    write_beside(stamp, json.dumps(state))
    ran = [c.file for c, e in zip(book.scanned, book.executed, strict=True) if e.ran]
    return Report(target, len(book.converted), ran, changed=True, seconds=time.monotonic() - start)


def _notebooks(config: Config, book: Chapters) -> dict[str, str]:
    """Return the notebook of each chapter that has something to run."""
    pairs = zip(book.scanned, book.executed, strict=True)
    running = [(chapter, done.outputs) for chapter, done in pairs if is_for_running(chapter)]
    names = [chapter.file for chapter, _ in running]
    stems = frozenset(Path(name).stem for name in names)
    words = Words(book.targets.labels, sources(bibliography(config)), stems)
    made = each("making its notebook", names, running, lambda pair: notebook(*pair, words))
    return dict(zip(names, made, strict=True))


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
    others = (*config.after_body, *config.resources)
    files = [config.root / name for name in (*named, *others)]
    return digest(
        config.root, [*files, *HERE.rglob("*")], causes_key(config.root), version("shardwise")
    )
