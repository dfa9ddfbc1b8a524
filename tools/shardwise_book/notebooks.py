"""Makes a notebook of each chapter with cells, from the same source, for those who want to run it.

A notebook knows neither divs nor references: a callout becomes a quotation, a reference the words
that the page shows, and what a cell only prints as Markdown (code of the library, questions) is
text.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from shardwise_book.outputs import render_inline
from shardwise_book.scan import DIV, INLINE, Cell, Chapter, Line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardwise_book.crossref import Label

FOLDER = "notebooks"
NEEDS = (
    "*Made from a page of the book. It runs where Shardwise is installed; "
    "in its repository, `make setup` does that.*"
)
HEADING = re.compile(r"^(#+ .*?)[ \t]*\{[^}]*\}[ \t]*$")
EQUATION = re.compile(r"^\$\$[ \t]*\{#(eq-[\w-]+)\}[ \t]*$")
SPAN = re.compile(r"(?<=[\])])\{[.#][^}]*\}")
REFERENCE = re.compile(r"(?<![\w@])(?P<bare>-?)@(?P<id>(?:fig|tbl|eq|sec)-[\w-]+)")
BRACKETS = re.compile(r"\[(-?@(?:fig|tbl|eq|sec)-[^\]]*)\]")
CITATION = re.compile(r"(?P<many>\[@[^\]]*\])|(?<![\w@.\\])@(?P<one>[a-z]\w*)")
KEY = re.compile(r"@([A-Za-z]\w*)")
LINK = re.compile(r"(?<=\]\()(?P<file>[\w./-]+)\.qmd(?:#[\w-]*)?(?=\))")
TITLE = re.compile(r'title="([^"]*)"')
CODE = re.compile(r"(`[^`]*`)")


@dataclass(frozen=True)
class Words:
    """What a notebook needs of the book: labels by id, sources by key, names with a notebook."""

    labels: dict[str, Label]
    sources: dict[str, str]
    chapters: frozenset[str]


def is_for_running(chapter: Chapter) -> bool:
    """Say whether a chapter has a cell that a reader sees and could change."""
    return any(isinstance(part, Cell) and part.options.get("echo", True) for part in chapter.parts)


def path_of(file: str) -> str:
    """Return where the notebook of a chapter lies in the book.

    >>> path_of("chapter/memory.qmd")
    'notebooks/memory.ipynb'
    """
    return f"{FOLDER}/{PurePosixPath(file).stem}.ipynb"


def notebook(chapter: Chapter, outputs: list[list[dict[str, Any]]], words: Words) -> str:
    """Return a chapter as the text of a notebook, without outputs.

    Args:
        chapter: the scanned chapter.
        outputs: what each of its steps put out, for values in the text and for printed Markdown.
        words: how references, sources and links to chapters are said.
    """
    pieces = [("markdown", NEEDS), *_segments(chapter, outputs, words)]
    cells = [_cell(f"cell-{place}", *piece) for place, piece in enumerate(pieces)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    whole = {
        "cells": cells,
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _cell(name: str, kind: str, text: str) -> dict[str, Any]:
    cell = {"id": name, "cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True)}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def sources(entries: list[dict[str, Any]]) -> dict[str, str]:
    """Return how each source is cited, from CSL entries.

    >>> sources([{"id": "a", "author": [{"family": "Ho"}], "issued": {"date-parts": [[2020]]}}])
    {'a': 'Ho 2020'}
    """
    said = {}
    for entry in entries:
        names = [one.get("family") or one.get("literal", "") for one in entry.get("author", [])]
        who = " and ".join(names) if len(names) <= 2 else f"{names[0]} et al."  # noqa: PLR2004
        year = entry.get("issued", {}).get("date-parts", [[""]])[0][0]
        said[entry["id"]] = f"{who or entry.get('title', entry['id'])} {year}".strip()
    return said


def _segments(
    chapter: Chapter, outputs: list[list[dict[str, Any]]], words: Words
) -> Iterator[tuple[str, str]]:
    """Yield pieces of Markdown and of code, in reading order."""
    results = iter(outputs)
    needed = _needed(chapter)
    text = _Text(words)
    if chapter.title:
        text.add(f"# {chapter.title}")
    for part in chapter.parts:
        if not isinstance(part, Cell):
            values = [_value(chapter.file, part, next(results)) for _ in part.expressions()]
            text.add(_filled(part.text, values), verbatim=part.verbatim)
            continue
        shown = next(results)
        if part.line not in needed:
            for line in _printed(shown).splitlines():
                text.add(line)
        elif part.code:
            if before := text.take():
                yield "markdown", before
            yield "code", part.code
    if rest := text.take():
        yield "markdown", rest


def _needed(chapter: Chapter) -> set[int]:
    """Return the lines of cells that print Markdown and define what a cell after them uses."""
    needed: set[int] = set()
    used: set[str] = set()
    for cell in reversed([part for part in chapter.parts if isinstance(part, Cell)]):
        tree = ast.parse(cell.code)
        if cell.options.get("output") == "asis" and not used & set(_defined(tree)):
            continue
        needed.add(cell.line)
        names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
        loaded = {name.id for name in names if isinstance(name.ctx, ast.Load)}
        used |= loaded - set(_defined(tree))
    return needed


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)


def _value(file: str, line: Line, outputs: list[dict[str, Any]]) -> str:
    return render_inline(file, line.number, outputs)[0]


def _filled(text: str, values: list[str]) -> str:
    """Put the values of inline expressions into a line."""
    filled = iter(values)
    return INLINE.sub(lambda _: next(filled), text) if values else text


def _printed(outputs: list[dict[str, Any]]) -> str:
    return "".join(one["text"] for one in outputs if one.get("name") == "stdout")


class _Text:
    """Markdown of a chapter line by line, in the words of a notebook."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.lines: list[str] = []
        self.boxes: list[bool] = []  # of each open div: is it a callout?
        self.fence = False

    def add(self, line: str, *, verbatim: bool = False) -> None:
        """Take one line of the chapter."""
        if line.lstrip().startswith("```"):
            self.fence = not self.fence
            verbatim = True
        if verbatim or self.fence:
            self._put(line)
        elif found := DIV.match(line):
            self._div(found["attributes"])
        elif found := EQUATION.match(line):
            label = self.words.labels.get(found[1])
            self._put(rf"\tag{{{label.number}}}" if label else "")
            self._put("$$")
        else:
            self._put(
                "".join(
                    part if part.startswith("`") else self._say(part) for part in CODE.split(line)
                )
            )

    def take(self) -> str:
        """Return what has been gathered, and begin anew."""
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(self.lines))
        self.lines = []
        return re.sub(r"\A[>\s]*(?=>|\Z)|[>\s]*\Z", "", text).strip()

    def _put(self, line: str) -> None:
        self.lines.append(f"> {line}".rstrip() if any(self.boxes) else line)

    def _div(self, attributes: str) -> None:
        if not attributes:
            self.boxes.pop()
            self.lines.append("")
            return
        self.boxes.append("callout" in attributes)
        if title := TITLE.search(attributes):
            self._put(f"**{self._say(title[1])}**")
            self._put("")

    def _say(self, text: str) -> str:
        text = HEADING.sub(r"\1", text)
        text = SPAN.sub("", text)
        text = LINK.sub(self._link, text)
        text = REFERENCE.sub(self._reference, BRACKETS.sub(r"\1", text))
        return CITATION.sub(self._citation, text)

    def _link(self, match: re.Match[str]) -> str:
        name = PurePosixPath(match["file"]).stem
        return f"{name}.ipynb" if name in self.words.chapters else f"../chapter/{name}.html"

    def _reference(self, match: re.Match[str]) -> str:
        label = self.words.labels[match["id"]]
        return str(label.number) if match["bare"] else f"{label.name} {label.number}"

    def _citation(self, match: re.Match[str]) -> str:
        if match["one"]:
            return self.words.sources.get(match["one"], match[0])
        inside = match["many"][1:-1]
        return "(" + KEY.sub(lambda key: self.words.sources.get(key[1], key[0]), inside) + ")"
