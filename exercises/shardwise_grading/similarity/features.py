"""What can be told from a student's work: its shape, and what only its author would write so.

The shape is that of Schleimer, Wilkerson and Aiken, "Winnowing: local algorithms for document
fingerprinting" (SIGMOD 2003): hashes of all runs of `RUN` tokens, of which the smallest in each
window of `WINDOW` is kept. Names are numbered in each statement and runs stay within one, so that
neither another name nor another order of statements changes them.
"""

from __future__ import annotations

import builtins
import hashlib
import keyword
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from shardwise_grading.similarity.statements import Statement, Token, statements, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Kind = Literal["shape", "name", "comment", "message", "spacing"]

RUN, WINDOW = 6, 4
FEWEST_TOKENS = 4  # a shorter statement, such as `return x`, says nothing
SHORTEST_NAME = 3
MOST_CHARACTERS = 20_000  # of one notebook
KEPT_NAMES = frozenset(keyword.kwlist) | frozenset(keyword.softkwlist) | frozenset(dir(builtins))
# Spacing that neither an editor nor a formatter leaves behind.
_ODD = re.compile(r"[ \t]$|\S[ \t]{2,}+(?!#)|\S\t|[(\[{] | [,:)\]}]|,(?=[^\s)\]}])")


@dataclass(frozen=True, slots=True, order=True)
class Feature:
    """One thing that two submissions can have in common."""

    kind: Kind
    value: str


Features: TypeAlias = "Mapping[Feature, tuple[int, ...]]"  # of a notebook, and the lines of each


@dataclass(frozen=True, slots=True)
class Work:
    """What one student wrote into one notebook.

    Args:
        code: all code, cell after cell.
        text: all text.
    """

    code: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Given:
    """What everybody got with the release; nothing of it tells two students apart.

    Args:
        features: all of it.
        names: every word of code and text.
        imported: names that its code imports, which a solution can't choose.
    """

    features: frozenset[Feature] = frozenset()
    names: frozenset[str] = frozenset()
    imported: frozenset[str] = frozenset()


def given(work: Work) -> Given:
    """Read what is released, so that `features` can leave it out."""
    found = list(tokens(work.code))
    imports = (s for s in statements(found) if s.tokens[0].text in ("import", "from"))
    imported = frozenset(token.text for s in imports for token in s.tokens)
    words = frozenset(re.findall(r"\w+", f"{work.code}\n{work.text}"))
    known = Given(imported=imported)
    return Given(frozenset(features(work, known)), words, imported)


def features(work: Work, known: Given) -> dict[Feature, tuple[int, ...]]:
    """Find what is special about a work.

    Args:
        work: what a student wrote.
        known: what was released.

    Returns:
        The lines of the code where each feature is, from 1; none for a feature of the text.

    Example:
        >>> found = features(Work("total = a / len(a)  # the avrage"), Given())
        >>> [feature.value for feature in found if feature.kind != "shape"]
        ['total', 'the avrage']
    """
    code = work.code[:MOST_CHARACTERS]
    found = list(tokens(code))
    lines: dict[Feature, set[int]] = {}
    for feature, where in (*_shape(found, known), *_words(found, known), *_spacing(code)):
        if feature not in known.features:
            lines.setdefault(feature, set()).update(where)
    for line in work.text[:MOST_CHARACTERS].splitlines():
        feature = Feature("comment", _only_words(line))
        if len(feature.value.split()) > 1 and feature not in known.features:
            lines.setdefault(feature, set())
    return {feature: tuple(sorted(where)) for feature, where in lines.items()}


def _shape(found: list[Token], known: Given) -> Iterator[tuple[Feature, Iterable[int]]]:
    for statement in statements(found):
        words = list(_normal(statement, known))
        if len(words) >= FEWEST_TOKENS:
            for mark in _winnow(words):
                yield Feature("shape", mark), statement.lines


def _normal(statement: Statement, known: Given) -> Iterator[str]:
    """The tokens of a statement; names that a student chooses are numbered in order."""
    numbers: dict[str, str] = {}
    before = ""
    for token in statement.tokens:
        kept = token.text in KEPT_NAMES or token.text in known.imported
        if token.kind == "string":
            yield "text"
        elif token.kind != "name" or before == "." or kept:
            yield token.text
        else:
            yield numbers.setdefault(token.text, f"name{len(numbers)}")
        before = token.text


def _winnow(words: list[str]) -> set[str]:
    runs = [" ".join(words[i : i + RUN]) for i in range(max(1, len(words) - RUN + 1))]
    marks = [
        hashlib.blake2b(run.encode(errors="replace"), digest_size=8).hexdigest() for run in runs
    ]
    windows = range(max(1, len(marks) - WINDOW + 1))
    return {min(marks[i : i + WINDOW]) for i in windows}


def _words(found: list[Token], known: Given) -> Iterator[tuple[Feature, Iterable[int]]]:
    """Names, comments and messages; what is only punctuation or one character is left out."""
    before = ""
    for token in found:
        line = (token.line,)
        if token.kind == "name" and len(token.text) >= SHORTEST_NAME and before != ".":
            if token.text not in KEPT_NAMES and token.text not in known.names:
                yield Feature("name", token.text), line
        elif token.kind in ("comment", "string"):
            value = _only_words(token.text)
            kind: Kind = "comment" if token.kind == "comment" else "message"
            if len(value) >= SHORTEST_NAME:
                yield Feature(kind, value), line
        before = token.text if token.kind != "space" else before


def _only_words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _spacing(code: str) -> Iterator[tuple[Feature, Iterable[int]]]:
    """Lines of code that are spaced as no formatter does it, to the last blank."""
    for number, line in enumerate(code.split("\n"), 1):
        if len(line.strip()) > RUN and not line.lstrip().startswith("#") and _ODD.search(line):
            yield Feature("spacing", line), (number,)
