"""Reads `_quarto.yml`: the part of Quarto's book settings that this builder follows."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardwise_book.errors import BookError, Problem, raise_any
from shardwise_book.files import read_text
from shardwise_book.settings import Schema, Settings, one_of, paths, read, text, texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE = "_quarto.yml"

SCHEMA: Schema = {
    "project": {
        "type": one_of("book"),
        "output-dir": text,
        "execute-dir": one_of("project"),
        "resources": paths,
    },
    "lang": one_of("en"),
    "book": {
        "title": text,
        "subtitle": text,
        "author": text,
        "description": text,
        "repo-url": text,
        "chapters": paths,
        "appendices": paths,
    },
    "bibliography": texts,
    "link-citations": one_of(True),
    "format": {
        "html": {
            "theme": {"light": texts, "dark": texts},
            "css": paths,
            "include-in-header": texts,
            "include-after-body": texts,
            "html-math-method": one_of("mathml"),
            "toc": one_of(True),
            "toc-depth": one_of(2, 3, 4, 5, 6),
            "number-sections": one_of(True),
            "code-fold": one_of(True, False, "show"),
            "code-copy": one_of(True),
        }
    },
}
# Where Quarto's default is another one, the book must say what it means to get.
REQUIRED = {
    "project.type": "book",
    "project.execute-dir": "project",
    "book.title": "the book's title",
    "book.chapters": "a list of .qmd files, index.qmd first",
    "format.html.html-math-method": "mathml",
    "format.html.number-sections": "true",
}
# Settings that name files.
FILES = (
    "project.resources",
    "book.chapters",
    "book.appendices",
    "bibliography",
    "format.html.css",
    "format.html.include-in-header",
    "format.html.include-after-body",
    "format.html.theme.light",
    "format.html.theme.dark",
)


# Means something else in an address, or in the Markdown of a link.
UNSAFE = re.compile(r"[^\w\-./ ]")


@dataclass(frozen=True)
class Config:
    """What `_quarto.yml` says; paths are relative to `root`, with forward slashes.

    `chapters` are all pages in their order, and those in `appendices` are the last of them.
    """

    root: Path
    title: str
    subtitle: str | None
    author: str | None
    description: str | None
    repo: str | None
    output: str
    resources: list[str]
    chapters: list[str]
    appendices: list[str]
    bibliography: list[str]
    css: list[str]
    head: list[str]
    after_body: list[str]
    toc_depth: int
    code_fold: bool | str


def load(root: Path) -> Config:
    """Read the settings of the book in the folder `root`.

    Raises:
        BookError: no `_quarto.yml`, an unknown or missing setting, a file that does not exist.
    """
    path = root / FILE
    if not path.is_file():
        raise BookError(
            Problem(FILE, None, f"not found in {root}", "run the command in the book's folder")
        )
    settings = read(read_text(root, FILE), SCHEMA, FILE)
    raise_any(
        [
            *_missing_settings(settings),
            *_chapter_problems(settings),
            *_missing_files(root, settings),
        ]
    )
    get = settings.values.get
    return Config(
        root=root,
        title=settings.values["book.title"],
        subtitle=get("book.subtitle"),
        author=get("book.author"),
        description=get("book.description"),
        repo=get("book.repo-url"),
        output=get("project.output-dir", "_book"),
        resources=get("project.resources", []),
        chapters=[*settings.values["book.chapters"], *get("book.appendices", [])],
        appendices=get("book.appendices", []),
        bibliography=get("bibliography", []),
        css=get("format.html.css", []),
        head=get("format.html.include-in-header", []),
        after_body=get("format.html.include-after-body", []),
        toc_depth=get("format.html.toc-depth", 3),
        code_fold=get("format.html.code-fold", False),
    )


def _missing_settings(settings: Settings) -> Iterator[Problem]:
    for path, expected in REQUIRED.items():
        if path not in settings.values:
            yield Problem(FILE, None, f"'{path}' is missing", f"expected {expected}")


def _chapter_problems(settings: Settings) -> Iterator[Problem]:
    chapters = settings.values.get("book.chapters", [])
    line = settings.lines.get("book.chapters")
    if chapters and chapters[0] != "index.qmd":
        yield Problem(FILE, line, "a book starts with index.qmd", "list index.qmd first")
    if not chapters and "book.chapters" in settings.values:
        yield Problem(FILE, line, "the book has no chapter", "list index.qmd first")
    seen: set[str] = set()
    for path in ("book.chapters", "book.appendices"):
        for name in settings.values.get(path, []):
            line = settings.lines[path]
            if name in seen:
                yield Problem(FILE, line, f"'{name}' is listed twice", "list each chapter once")
            elif not name.endswith(".qmd"):
                yield Problem(FILE, line, f"'{name}' is not a .qmd file", "list .qmd files only")
            elif UNSAFE.search(name):
                remedy = (
                    "use letters, digits, spaces and - _ . only: the name is a part of addresses"
                )
                yield Problem(FILE, line, f"'{name}' is no name for a page", remedy)
            seen.add(name)


def _missing_files(root: Path, settings: Settings) -> Iterator[Problem]:
    for path in FILES:
        for name in settings.values.get(path, []):
            is_built_in = "theme" in path and not name.endswith(".scss")
            if not is_built_in and not _inside(root, name):
                yield Problem(
                    FILE,
                    settings.lines[path],
                    f"file '{name}' does not exist",
                    "create it ('make setup' makes the built ones), or correct the path, "
                    "which starts at the project's folder",
                )


def _inside(root: Path, name: str) -> bool:
    path = (root / name).resolve()
    leads_out = posixpath.normpath(name).startswith(("/", "../"))
    return not leads_out and path.is_relative_to(root.resolve()) and path.is_file()
