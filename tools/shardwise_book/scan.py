"""Reads a `.qmd` file into lines of Markdown and cells of Python, or says what it may not hold."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shardwise_book.errors import BookError, Problem, raise_any
from shardwise_book.files import read_text
from shardwise_book.settings import Schema, flag, name, one_of, read, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FRONT_MATTER: Schema = {"title": text, "description": text}
CELL_OPTIONS: Schema = {
    "label": name,
    "echo": flag,
    "code-fold": one_of(True, False, "show"),
    "code-summary": text,
    "output": one_of(True, False, "asis"),
    "fig-cap": text,
    "fig-alt": text,
    "warning": flag,
    "include": flag,
}
INLINE = re.compile(r"(?<!`)`\{python\} +([^`]+)`(?!`)")
# What may stand before a block on its line: of lists, quotations, definitions and footnotes.
MARKERS = r"(?:[ \t]|>|(?:[-*+:~]|\(?(?:[\w#]{1,9}|@[\w-]*)[.)]|\[\^[^\]]+\]:)[ \t]+)*"
FENCE = re.compile(
    rf"^(?P<indent>{MARKERS})(?P<ticks>`{{3,}}|~{{3,}})[ \t]*(?P<info>[^`]*?)[ \t]*$"
)
DIV = re.compile(r"^[ \t]*:{3,}[ \t]*(?P<attributes>.*?)[ \t]*:*$")
HEADING = re.compile(r"^# +(?P<title>.*?)(?P<attributes>\{[^}]*\})?$")


@dataclass(frozen=True)
class Line:
    """One line of Markdown; `verbatim` inside fenced code, where nothing is replaced."""

    number: int
    text: str
    verbatim: bool = False

    def expressions(self) -> list[str]:
        """Return the inline expressions of the line, in order."""
        return [] if self.verbatim else [m.strip() for m in INLINE.findall(self.text)]


@dataclass(frozen=True)
class Cell:
    """An executable cell; `line` is its fence, `code_line` the first line of `code`."""

    line: int
    code_line: int
    code: str
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """What the kernel runs: a cell's code or an inline expression, and the line it came from."""

    line: int
    code: str


@dataclass(frozen=True)
class Chapter:
    """A scanned file; `title` is None where `parts` hold it as a heading."""

    file: str
    title: str | None
    description: str | None
    numbered: bool
    parts: list[Line | Cell]

    def steps(self) -> list[Step]:
        """Return everything to execute, in reading order."""
        steps: list[Step] = []
        for part in self.parts:
            if isinstance(part, Cell):
                steps.append(Step(part.code_line, part.code))
            else:
                steps += [Step(part.number, expression) for expression in part.expressions()]
        return steps


def scan(root: Path, file: str) -> Chapter:
    """Scan the chapter `file` of the project in `root`.

    Raises:
        BookError: everything in the file that is outside the subset and visible line by line.
    """
    scanner = _Scanner(file, read_text(root, file).removesuffix("\n").split("\n"))
    meta = scanner.front_matter()
    parts = list(scanner.parts())
    title = meta.get("title")
    heading = next(
        (
            m
            for p in parts
            if isinstance(p, Line) and not p.verbatim and (m := HEADING.match(p.text))
        ),
        None,
    )
    if title is None and heading is None:
        scanner.problem(1, "the chapter has no title", "begin it with '# Title {#sec-name}'")
    if title is not None and heading is not None:
        scanner.problem(1, "two titles: front matter and '# …'", "keep one of them")
    raise_any(scanner.problems)
    unnumbered = "unnumbered" in (heading["attributes"] or "") if heading else file == "index.qmd"
    return Chapter(file, title, meta.get("description"), not unnumbered, parts)


class _Scanner:
    """Walks the lines of one file once."""

    def __init__(self, file: str, lines: list[str]) -> None:
        self.file = file
        self.lines = lines
        self.position = 0
        self.problems: list[Problem] = []
        self.labels: set[str] = set()

    def problem(self, line: int, message: str, remedy: str) -> None:
        self.problems.append(Problem(self.file, line, message, remedy))

    def settings(self, source: str, schema: Schema, first_line: int) -> dict[str, Any]:
        try:
            return read(source, schema, self.file, first_line).values
        except BookError as error:
            self.problems += error.problems
            return {}

    def front_matter(self) -> dict[str, Any]:
        if not self.lines or self.lines[0].rstrip() != "---":
            return {}
        for number, line in enumerate(self.lines[1:], start=2):
            if line.rstrip() in ("---", "..."):
                self.position = number
                return self.settings("\n".join(self.lines[1 : number - 1]), FRONT_MATTER, 2)
        self.problem(1, "the front matter does not end", "close it with a line '---'")
        return {}

    def parts(self) -> Iterator[Line | Cell]:
        open_divs: list[int] = []
        while self.position < len(self.lines):
            line = self.lines[self.position]
            number = self.position + 1
            if fence := FENCE.match(line):
                yield from self.fenced(fence)
                continue
            self.position += 1
            if div := DIV.match(line):
                self.div(number, div["attributes"], open_divs)
            self.prose(number, line)
            yield Line(number, line)
        for number in open_divs:
            self.problem(number, "this div is not closed", "close it with a line ':::'")

    def div(self, number: int, attributes: str, open_divs: list[int]) -> None:
        if attributes:
            open_divs.append(number)
        elif open_divs:
            open_divs.pop()
        else:
            self.problem(number, "':::' closes nothing", "remove it, or open a div above")

    def prose(self, number: int, line: str) -> None:
        if "{{<" in line:
            self.problem(
                number, "shortcodes are not part of the subset", "write the content itself"
            )
        rest = INLINE.sub("", line)
        if found := re.search(r"(?<!`)`\{(\w+)\}[^`]*`?", rest):
            remedy = "write `{python} expression` on one line"
            self.problem(number, f"cannot run the inline code {found[0]}", remedy)

    def fenced(self, fence: re.Match[str]) -> Iterator[Line | Cell]:
        start, info = self.position, fence["info"]
        before = "[ \t>]*" if ">" in fence["indent"] else "[ \t]*"
        end = self.closing(start + 1, before, fence["ticks"])
        if end is None:
            remedy = f"close it with a line '{fence['ticks']}'"
            self.problem(start + 1, "this code block is not closed", remedy)
            self.position = len(self.lines)
            return
        self.position = end + 1
        if info == "{python}" and not fence["indent"]:
            yield self.cell(start, end)
            return
        self.info(start + 1, info)
        for number in range(start, end + 1):
            yield Line(number + 1, self.lines[number], verbatim=True)

    def closing(self, start: int, before: str, ticks: str) -> int | None:
        pattern = re.compile(rf"^{before}{re.escape(ticks[0])}{{{len(ticks)},}}[ \t]*$")
        found = (i for i in range(start, len(self.lines)) if pattern.match(self.lines[i]))
        return next(found, None)

    def info(self, number: int, info: str) -> None:
        if info == "{python}":
            self.problem(number, "this cell is indented", "start it in the first column")
        elif re.match(r"\{+\w", info):
            remedy = "cells are ```{python} with options as '#| key: value' lines"
            self.problem(number, f"cannot run a cell '{info}'", remedy)
        elif (
            info.startswith("{") and info != "{=html}" and not re.fullmatch(r"\{\.[\w+-]+\}", info)
        ):
            remedy = "use ```language, or ```{=html} for raw HTML"
            self.problem(number, f"unknown code block '{info}'", remedy)

    def cell(self, start: int, end: int) -> Cell:
        first = start + 1
        while first < end and self.lines[first].startswith("#|"):
            first += 1
        source = "\n".join(line[2:].removeprefix(" ") for line in self.lines[start + 1 : first])
        options = self.settings(source, CELL_OPTIONS, start + 2)
        label = str(options.get("label", ""))
        if label in self.labels:
            self.problem(start + 1, f"the label '{label}' is used twice", "give each its own")
        self.labels |= {label} - {""}
        figure = label.startswith("fig-")
        if figure and "fig-cap" not in options:
            self.problem(start + 1, f"'{label}' has no caption", "add '#| fig-cap: …'")
        if "fig-cap" in options and not figure:
            self.problem(start + 1, "a caption needs a label", "add '#| label: fig-name'")
        if re.match(r"(tbl|eq|sec)-", label):
            remedy = f"put the cell in '::: {{#{label}}}' with the caption as last paragraph"
            self.problem(start + 1, f"a cell cannot be '{label}'", remedy)
        while first < end and not self.lines[first].strip():
            first += 1
        code = "\n".join(self.lines[first:end]).rstrip()
        return Cell(start + 1, first + 1, code, options)
