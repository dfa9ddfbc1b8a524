"""How the text is written: a sentence to a line, letters with a meaning, numbers with a cell.

What a reader trusts is checked here: a number that no cell computed and no source backs, and a
letter that nobody introduced, are mistakes like a broken link.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from shardwise_book.chapters import run
from shardwise_book.config import load
from shardwise_book.errors import Problem
from shardwise_book.scan import DIV, INLINE, Cell, Chapter, Line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

SYMBOLS = Path("chapter/symbols.yml")
# Ends no sentence: abbreviations, initials, ordinals of a list.
ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|cf|vs|al|Fig|Eq|No|St|approx|[A-Z])|^\s*\d+)\.$")
SENTENCE = re.compile(r"[.!?][)\"”*]*(?= +[\"“(*\[]*[A-Z])")
CODE = re.compile(r"(`+).*?\1")
MATH = re.compile(r"\$\$?[^$]+\$\$?")
FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL)
LINK = re.compile(r"\]\([^)]*\)|\{[#.][^}]*\}|https?://\S+|\[-?@[^\]]*\]|@[\w-]+")
NUMBER = re.compile(r"(?<![\w.\-/])\d[\d,]*(?:\.\d+)?(?![\w-])")
CELL_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
INDEX = re.compile(r"_(?:\{[^}]*\}|\\?[A-Za-z0-9]+)")
NAME = re.compile(r"\\[A-Za-z]+|[A-Za-z]")
SPOKEN = 20  # numbers up to here are words of the language: two passes, 8 devices
GREEK = {"\\Psi", "\\alpha", "\\beta", "\\varepsilon", "\\ell", "\\tau", "\\lambda", "\\gamma"}


@dataclass(frozen=True)
class Symbol:
    """A letter of the book, and words of which one stands in the paragraph that introduces it."""

    symbol: str
    meaning: str
    words: tuple[str, ...]


def symbols(file: Path = SYMBOLS) -> dict[str, Symbol]:
    """Read the letters that the book uses.

    Raises:
        ValueError: an entry lacks its symbol, meaning or words.
    """
    found: dict[str, Symbol] = {}
    for entry in yaml.safe_load(file.read_text(encoding="utf-8")):
        try:
            symbol = Symbol(entry["symbol"], entry["meaning"], tuple(entry["words"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"{file}: {entry} must have symbol, meaning and words") from error
        found[symbol.symbol] = symbol
    return found


def problems(root: Path, console: Console) -> list[Problem]:
    """Return what is wrong with the text of the book in `root`, whose cells run if they must.

    Raises:
        BookError: a chapter can't be read, or a cell raises.
    """
    root = root.resolve()
    chapters, executed = run(root, load(root), console)
    known = symbols(root / SYMBOLS)
    pairs = zip(chapters, executed, strict=True)
    return [found for chapter, done in pairs for found in check(chapter, done.outputs, known)]


def check(
    chapter: Chapter, outputs: list[list[dict[str, Any]]], known: dict[str, Symbol]
) -> Iterator[Problem]:
    """Yield what is wrong with the text of a chapter.

    Args:
        chapter: the scanned chapter.
        outputs: what each of its steps put out.
        known: the letters of the book.
    """
    prose = [part for part in chapter.parts if isinstance(part, Line) and not part.verbatim]
    yield from _sentences(chapter.file, prose)
    yield from _symbols(chapter.file, prose, known)
    yield from _numbers(chapter.file, prose, _computed(chapter, outputs))


def _is_text(line: Line) -> bool:
    """Leave out tables, headings, fences of divs and quotations of code."""
    return not line.text.lstrip().startswith(("|", "#", ":", ">", "<", "$$")) and bool(
        line.text.strip()
    )


def _is_formula(line: Line) -> bool:
    """Leave out tables, whose heads are introduced around them."""
    return not line.text.lstrip().startswith("|")


def _sentences(file: str, prose: list[Line]) -> Iterator[Problem]:
    for line in filter(_is_text, prose):
        text = MATH.sub("x", CODE.sub("x", line.text))
        for found in SENTENCE.finditer(text):
            if not ABBREVIATION.search(text[: found.start() + 1]):
                rest = text[found.end() :].strip()[:40]
                remedy = "begin each sentence on a line of its own"
                yield Problem(file, line.number, f"a second sentence on the line: {rest!r}", remedy)
                break


def _symbols(file: str, prose: list[Line], known: dict[str, Symbol]) -> Iterator[Problem]:
    met: set[str] = set()
    for paragraph in _paragraphs(prose):
        text = " ".join(line.text for line in paragraph).casefold()
        inside = False
        for line in filter(_is_formula, paragraph):
            names = _letters(f"${line.text}$" if inside and "$$" not in line.text else line.text)
            inside ^= line.text.count("$$") % 2 == 1
            for name in names:
                if name in met:
                    continue
                met.add(name)
                if name not in known:
                    remedy = f"define it in {SYMBOLS.as_posix()} and in the text, or use another"
                    yield Problem(file, line.number, f"the symbol {name} is not the book's", remedy)
                elif not any(word.casefold() in text for word in known[name].words):
                    words = ", ".join(known[name].words)
                    message = f"{name} ({known[name].meaning}) is used before it is introduced"
                    remedy = f"say what it is in this paragraph, with one of: {words}"
                    yield Problem(file, line.number, message, remedy)


def _paragraphs(prose: list[Line]) -> Iterator[list[Line]]:
    """Yield the lines of each paragraph; an equation belongs to the text before and after it."""
    paragraph: list[Line] = []
    ended = False
    for line in prose:
        if (not line.text.strip() or DIV.match(line.text)) and not _inside_equation(paragraph):
            ended = True
            continue
        around = "$$" in line.text or (paragraph and "$$" in paragraph[-1].text)
        if ended and paragraph and not around:
            yield paragraph
            paragraph = []
        ended = False
        paragraph.append(line)
    if paragraph:
        yield paragraph


def _inside_equation(paragraph: list[Line]) -> bool:
    return sum(line.text.count("$$") for line in paragraph) % 2 == 1


def _letters(text: str) -> Iterator[str]:
    """Yield the letters of the formulas on a line, without indices that are words."""
    for formula in MATH.findall(CODE.sub("", text)):
        bare = re.sub(r"\\(?:text|mathrm|operatorname|tag|label|begin|end)\{[^}]*\}", " ", formula)
        bare = INDEX.sub(" ", bare)  # an index says which one, and its letter is said beside it
        for name in NAME.findall(bare):
            if len(name) == 1 or name in GREEK:
                yield name


def _computed(chapter: Chapter, outputs: list[list[dict[str, Any]]]) -> set[str]:
    """Return the numbers that a chapter's cells hold or put out."""
    texts = [part.code for part in chapter.parts if isinstance(part, Cell)]
    lines = "\n".join(part.text for part in chapter.parts if isinstance(part, Line))
    texts += FORMULA.findall(lines)
    for step in outputs:
        for output in step:
            texts += [output.get("text", ""), str(output.get("data", {}).get("text/plain", ""))]
    found = {_value(n) for text in texts for n in CELL_NUMBER.findall(text.replace("_", ""))}
    # 7_500_000_000 in a cell is 7.5 billion in the text, and 0.25 is 25 %.
    return {
        f"{value * scale:.12g}" for value in found for scale in (1, 1e-9, 1e-6, 1e-3, 1e-12, 100)
    }


def _value(number: str) -> float:
    return float(number.replace(",", "") or 0)


def _numbers(file: str, prose: list[Line], computed: set[str]) -> Iterator[Problem]:
    for line in filter(_is_text, prose):
        if "[@" in line.text or re.search(r"(?<![\w`])@[a-z]+\d{4}", line.text):
            continue  # a source is named
        text = INLINE.sub("", line.text)
        text = LINK.sub("", MATH.sub("", CODE.sub("", text)))
        for number in NUMBER.findall(text.rstrip(".")):
            bare, value = number.rstrip(","), _value(number)
            if (value <= SPOKEN and value == int(value)) or f"{value:.12g}" in computed:
                continue
            message = f"no cell of the page holds or prints the number {bare}"
            remedy = "compute it: `{python} expression`, print it in a cell, or cite its source"
            yield Problem(file, line.number, message, remedy)
