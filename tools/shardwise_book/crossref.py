"""Fills in the numbers of figures, tables, equations and sections, across all pages."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from shardwise_book.errors import Problem, raise_any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardwise_book.convert import Converted

NAMES = {
    "fig": "Figure",
    "tbl": "Table",
    "eq": "Equation",
    "sec": "Section",
    "chapter": "Chapter",
}
REFERENCE = re.compile(r'<sw-ref to="(?P<id>[^"]*)"(?P<bare> bare)?></sw-ref>')
CITATION = re.compile(r'href="#(?P<id>ref-[^"]+)"')


@dataclass(frozen=True)
class Label:
    """Something with a number; `file` is the chapter that it stands in."""

    id: str
    kind: str
    number: str | None
    file: str

    @property
    def name(self) -> str:
        """What it is called before its number; a chapter with a letter is an appendix."""
        appendix = self.kind == "chapter" and self.number is not None and self.number.isalpha()
        return "Appendix" if appendix else NAMES[self.kind]


def page_of(file: str) -> str:
    """Return the page of a chapter.

    >>> page_of("chapter/memory.qmd")
    'chapter/memory.html'
    """
    return file.removesuffix(".qmd") + ".html"


def relative(target: str, page: str) -> str:
    """Return the address of `target` as seen from `page`, both relative to the book.

    >>> relative("index.html", "chapter/ring.html")
    '../index.html'
    """
    return quote(posixpath.relpath(target, posixpath.dirname(page) or "."))


def collect(chapters: list[Converted]) -> dict[str, Label]:
    """Return all labels of the book by their id.

    Raises:
        BookError: a label that is used twice.
    """
    labels: dict[str, Label] = {}
    problems: list[Problem] = []
    for chapter in chapters:
        composed = chapter.composed
        for entry in chapter.data["labels"]:
            label = Label(entry["id"], entry["kind"], entry.get("number"), composed.file)
            if label.id in labels:
                line = composed.locate_last(label.id)
                message = f"the label '{label.id}' is already in {labels[label.id].file}"
                problems.append(
                    Problem(composed.file, line, message, "give each a name of its own")
                )
            labels.setdefault(label.id, label)
    raise_any(problems)
    return labels


def check(chapters: list[Converted], labels: dict[str, Label]) -> Iterator[Problem]:
    """Yield a problem for each reference to something that has no label or no number."""
    for chapter in chapters:
        composed = chapter.composed
        for name in dict.fromkeys(chapter.data["refs"]):
            line = composed.locate(f"@{name}")
            if name not in labels:
                near = sorted(
                    label for label in labels if label.split("-")[0] == name.split("-")[0]
                )
                remedy = (
                    f"labels of this kind: {', '.join(near)}"
                    if near
                    else "there is none of this kind"
                )
                yield Problem(
                    composed.file, line, f"no figure, table, equation or section '{name}'", remedy
                )
            elif labels[name].number is None:
                remedy = f"write a link: [its title]({labels[name].file}#{name})"
                yield Problem(composed.file, line, f"'{name}' has no number to refer to", remedy)


@dataclass(frozen=True)
class Targets:
    """Where references lead; `references` is the chapter that lists all sources, if any does."""

    labels: dict[str, Label]
    references: str | None

    def resolve(self, html: str, file: str) -> str:
        """Return HTML of the chapter `file` with its references as links with numbers."""

        def link(match: re.Match[str]) -> str:
            label = self.labels[match["id"]]
            page = "" if label.file == file else relative(page_of(label.file), page_of(file))
            name = "" if match["bare"] else label.name + "\u00a0"
            return f'<a href="{page}#{label.id}" class="quarto-xref">{name}{label.number}</a>'

        html = REFERENCE.sub(link, html)
        if self.references and self.references != file:
            page = relative(page_of(self.references), page_of(file))
            html = CITATION.sub(lambda match: f'href="{page}#{match["id"]}"', html)
        return html
