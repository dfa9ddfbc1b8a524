"""Joins a chapter's text and its cells' outputs into Markdown that pandoc reads."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from shardwise_book.errors import BookError, Problem, raise_any
from shardwise_book.outputs import Rendered, fenced, render_cell, render_inline
from shardwise_book.scan import INLINE, Cell, Chapter

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Composed:
    """Markdown in lines; `origins` says for each the chapter's line and whether it is code."""

    file: str
    lines: list[str] = field(default_factory=list)
    origins: list[tuple[int, bool]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return the Markdown as one text."""
        return "\n".join(self.lines) + "\n"

    def add(self, text: str, line: int, *, code: bool = False) -> None:
        """Append text that comes from a line of the chapter.

        Raises:
            BookError: the text holds half a character, which no page can.
        """
        if any("\ud800" <= character <= "\udfff" for character in text):
            remedy = "put out whole characters only"
            raise BookError(Problem(self.file, line, "the output has a lone surrogate", remedy))
        for part in text.split("\n"):
            self.lines.append(part)
            self.origins.append((line, code))

    def locate(self, needle: str) -> int:
        """Return the chapter's first line with the text, outside code if possible, else 1."""
        return self.find(needle) or 1

    def find(self, needle: str) -> int | None:
        """Return that line, or None where no line holds the text."""
        return min(self._hits(needle), default=(False, None))[1]

    def locate_last(self, needle: str) -> int:
        """Return the chapter's last such line."""
        prose = [line for code, line in self._hits(needle) if not code]
        return max(prose, default=self.locate(needle))

    def _hits(self, needle: str) -> list[tuple[bool, int]]:
        pattern = re.compile(re.escape(needle) + r"(?![\w-])")
        lines = zip(self.lines, self.origins, strict=True)
        return [(code, line) for text, (line, code) in lines if pattern.search(text)]


def compose(
    chapter: Chapter, outputs: list[list[dict[str, Any]]], code_fold: bool | str
) -> Composed:
    """Return the chapter with each cell and inline expression replaced by what it put out.

    Args:
        chapter: the scanned chapter.
        outputs: one list of nbformat outputs for each of `chapter.steps()`.
        code_fold: the book's default for `code-fold`.

    Raises:
        BookError: an output that a page can't show.
    """
    composed = Composed(chapter.file)
    problems: list[Problem] = []
    results = iter(outputs)
    count = 0
    for part in chapter.parts:
        if isinstance(part, Cell):
            count += 1
            name = part.options.get("label", f"{count}-cell")  # no label starts with a digit
            stem = quote(f"{PurePosixPath(chapter.file).stem}_files/{name}")
            rendered = render_cell(chapter.file, part, next(results), stem)
            composed.files |= rendered.files
            problems += rendered.problems
            for block, code in _cell_blocks(part, rendered, code_fold):
                composed.add(f"\n{block}\n", part.line, code=code)
            continue
        values: list[str] = []
        for _ in part.expressions():
            value, wrong = render_inline(chapter.file, part.number, next(results))
            values.append(value)
            problems += wrong
        text = part.text
        if values:
            filled = iter(values)
            text = INLINE.sub(lambda _, filled=filled: next(filled), text)  # type: ignore[misc]
        composed.add(text, part.number, code=part.verbatim)
    raise_any(problems)
    return composed


def _cell_blocks(
    cell: Cell, rendered: Rendered, code_fold: bool | str
) -> Iterator[tuple[str, bool]]:
    """Yield the cell's Markdown, and whether it is code."""
    if cell.options.get("include") is False:
        return
    yield "::: {.cell}", False
    if cell.options.get("echo", True) and cell.code:
        attributes = "{.python .cell-code"
        fold = cell.options.get("code-fold", code_fold)
        if fold:
            summary = str(cell.options.get("code-summary", "Code")).replace('"', '\\"')
            attributes += f' code-fold="{str(fold).lower()}" code-summary="{summary}"'
        yield fenced(cell.code, attributes + "}"), True
    content = "\n\n".join(rendered.blocks)
    if content and "fig-cap" in cell.options:
        content = (
            f"::: {{#{cell.options['label']}}}\n\n{content}\n\n{cell.options['fig-cap']}\n\n:::"
        )
    if content:
        yield content, False
    yield ":::", False
