"""Calls pandoc: from a chapter's Markdown to its HTML and to what stands in it."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pypandoc

from shardwise_book.errors import Problem, raise_any
from shardwise_book.execute import CACHE, digest
from shardwise_book.files import read_json, read_text, write_beside
from shardwise_book.scan import HEADING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardwise_book.compose import Composed
    from shardwise_book.config import Config
    from shardwise_book.scan import Chapter

HERE = Path(__file__).parent
MARKER = "<!--shardwise-data-->"
QUOTED = re.compile(r"(`{2,})(?!`)\s*(\{python\}.*?)\1(?!`)")
CSS_CLASS = re.compile(r"\.([A-Za-z_][\w-]*)")


@dataclass(frozen=True)
class Book:
    """What pandoc must know of the whole book to convert one chapter of it."""

    config: Config
    classes: list[str]
    keys: list[str]
    cited: list[str]
    references: str | None
    format: str = "html"


@dataclass(frozen=True)
class Converted:
    """A chapter's HTML with `<sw-ref>` where a number is still to be filled in, and its data."""

    chapter: Chapter
    composed: Composed
    number: str | None
    html: str
    data: dict[str, Any]

    @property
    def file(self) -> str:
        """Return the chapter's file."""
        return self.chapter.file

    @property
    def description(self) -> str | None:
        """Return what the chapter's front matter says about it."""
        return self.chapter.description

    @property
    def title_text(self) -> str:
        """Return the title without markup."""
        return self.chapter.title or str(self.data["title"]["text"])

    @property
    def title_html(self) -> str:
        """Return the title as HTML."""
        return escape(self.chapter.title) if self.chapter.title else str(self.data["title"]["html"])

    @property
    def title_id(self) -> str | None:
        """Return the anchor of the title, if it is a heading of the text."""
        return None if self.chapter.title else str(self.data["title"]["id"])


def run_pandoc(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run the pandoc that the environment brings."""
    return subprocess.run(
        [pypandoc.get_pandoc_path(), *arguments],
        input=text,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def own_classes(config: Config) -> list[str]:
    """Return the class names that the book's own stylesheets know."""
    sources = [read_text(config.root, name) for name in config.css]
    return sorted({name for source in sources for name in CSS_CLASS.findall(source)})


def bibliography(config: Config) -> list[dict[str, Any]]:
    """Return all entries of the bibliography, as CSL has them, by their keys."""
    entries: dict[str, dict[str, Any]] = {}
    for name in config.bibliography:
        done = run_pandoc("--to=csljson", str(config.root / name))
        if done.returncode:
            said = next(iter(done.stderr.strip().splitlines()), f"exit code {done.returncode}")
            message = f"pandoc cannot read it: {said}"
            raise_any([Problem(name, None, message, "correct the BibTeX entry")])
        entries |= {entry["id"]: entry for entry in json.loads(done.stdout)}
    return [entries[key] for key in sorted(entries)]


def cited_keys(keys: list[str], chapters: list[Composed]) -> list[str]:
    """Return the keys that the book cites anywhere."""
    words = {word for c in chapters for word in re.findall(r"@\{?([\w:.#$%&\-+?<>~/]*\w)", c.text)}
    return [key for key in keys if key in words]


def convert(book: Book, chapter: Chapter, composed: Composed, number: str | None) -> Converted:
    """Convert one chapter.

    Raises:
        BookError: everything that pandoc or the filter finds wrong in it.
    """
    config = book.config
    told: dict[str, Any] = {
        "format": book.format,
        "classes": dict.fromkeys(book.classes, True),
        "keys": dict.fromkeys(book.keys, True),
        "references": _references(book, composed),
        "quoted": dict.fromkeys(_quoted(composed), True),
    }
    if number:
        told["chapter"] = number
    metadata: dict[str, Any] = {"link-citations": True}
    if book.references:
        metadata["nocite"] = " ".join(f"@{{{key}}}" for key in book.cited)
    key = _key(config, told, metadata, composed.text)
    kept = _kept(config, composed.file, book.format)
    known = read_json(kept)
    if known.get("key") == key and isinstance(known.get("html"), str) and "data" in known:
        return Converted(chapter, composed, number, known["html"], known["data"])
    done, messages = _filtered(config, told, metadata, composed.text)
    if done.returncode:
        remedy = "correct the place that pandoc names"
        raise_any([Problem(composed.file, None, f"pandoc: {done.stderr.strip()}", remedy)])
    html, _, data = done.stdout.rpartition(MARKER)
    converted = Converted(chapter, composed, number, html.strip() + "\n", json.loads(data))
    raise_any(
        [*_filter_problems(converted)]
        or [*_warnings(composed, messages)]
        or [*_no_title(converted)]
    )
    write_beside(kept, json.dumps({"key": key, "html": converted.html, "data": converted.data}))
    return converted


def _kept(config: Config, file: str, form: str) -> Path:
    """Return where the HTML of a chapter is kept for the next build."""
    name = re.sub(r"[^\w-]", "-", file.removesuffix(".qmd"))
    return config.root / CACHE / f"{name}.{form}.json"


def _key(config: Config, *told: object) -> str:
    """Return a digest of all that pandoc is told, and of all that it reads."""
    files = [HERE / "filter.lua", HERE / "pandoc.html"]
    files += [config.root / name for name in config.bibliography]
    return digest(config.root, files, json.dumps(told), version("pypandoc-binary"))


def _filtered(
    config: Config, told: dict[str, Any], metadata: dict[str, Any], text: str
) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    """Have pandoc and the filter convert a text; return what came out and what was logged."""
    with tempfile.TemporaryDirectory() as folder:
        log, meta, own = (Path(folder, f"{name}.json") for name in ("log", "meta", "own"))
        # In files: a bibliography can be longer than a command line may be.
        own.write_text(json.dumps(told), encoding="utf-8")
        meta.write_text(json.dumps(metadata), encoding="utf-8")
        done = run_pandoc(
            "--from=markdown",
            "--to=html5",
            "--mathml",
            "--section-divs",
            "--wrap=preserve",
            f"--template={HERE / 'pandoc.html'}",
            f"--lua-filter={HERE / 'filter.lua'}",
            f"--metadata-file={meta}",
            f"--metadata=shardwise={own}",
            f"--log={log}",
            *(f"--bibliography={config.root / name}" for name in config.bibliography),
            text=text,
        )
        messages = json.loads(log.read_text(encoding="utf-8")) if log.exists() else []
    return done, messages


def _quoted(composed: Composed) -> Iterator[str]:
    """Yield the inline expressions that are shown on purpose, between two or more backticks."""
    for line, (_, code) in zip(composed.lines, composed.origins, strict=True):
        if not code:
            yield from (" ".join(text.split()) for _, text in QUOTED.findall(line))


def _references(book: Book, composed: Composed) -> str:
    """Say where the sources that this chapter cites are listed."""
    if book.references:
        return "here" if book.references == composed.file else "elsewhere"
    return "end" if cited_keys(book.keys, [composed]) else "here"


def _no_title(converted: Converted) -> Iterator[Problem]:
    """Complain of what looks like a title and is none: in a comment, hidden, glued to a line."""
    composed = converted.composed
    if converted.chapter.title is None and "title" not in converted.data:
        lines = zip(composed.lines, composed.origins, strict=True)
        hits = (line for text, (line, code) in lines if not code and HEADING.match(text))
        remedy = "begin the chapter with '# Title {#sec-name}', after an empty line and not hidden"
        yield Problem(composed.file, next(hits, 1), "the chapter has no title", remedy)


def _filter_problems(converted: Converted) -> Iterator[Problem]:
    composed = converted.composed
    for found in converted.data["problems"]:
        line = composed.locate(found["needle"])
        yield Problem(composed.file, line, found["message"], found["remedy"])


def _warnings(composed: Composed, messages: list[dict[str, Any]]) -> Iterator[Problem]:
    """Take each of pandoc's warnings as a mistake in the text."""
    for message in messages:
        if message["verbosity"] not in ("WARNING", "ERROR"):
            continue
        contents = str(message.get("contents", ""))
        if message["type"] == "DuplicateIdentifier":
            line, what = (
                composed.locate_last(f"#{contents}"),
                f"the label '{contents}' is used twice",
            )
            yield Problem(composed.file, line, what, "give each a name of its own")
            continue
        if "line" in message:
            line = composed.origins[min(message["line"], len(composed.origins)) - 1][0]
        else:
            line = composed.locate(contents.partition("\n")[0])
        what = " ".join(str(message.get("message", contents)).split())
        remedy = "correct the Markdown there"
        yield Problem(composed.file, line, f"pandoc: {message['type']}: {what}", remedy)
