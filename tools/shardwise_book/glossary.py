"""The page of the glossary, from `chapter/glossary.yml`: the entries that a hovered term shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import yaml

FILE = Path("chapter/glossary.yml")


@dataclass(frozen=True)
class Term:
    """A term, the anchor of its entry, its meaning in Markdown, and the section about it."""

    term: str
    id: str
    definition: str
    see: str | None = None


def terms(file: Path = FILE) -> list[Term]:
    """Read the glossary.

    Raises:
        ValueError: an entry is not whole, an id is no "term-…" or is there twice, or the order is
            not that of the alphabet.
    """
    entries = yaml.safe_load(file.read_text(encoding="utf-8"))
    found = []
    for entry in entries:
        try:
            found.append(Term(**entry))
        except TypeError as error:
            raise ValueError(f"{file}: {entry} must have term, id and definition") from error
    ids = [term.id for term in found]
    for name in ids:
        if ids.count(name) > 1 or not re.fullmatch(r"term-[a-z0-9-]+", name):
            raise ValueError(f"{file}: id {name!r} must be one of a kind, as 'term-all-reduce'")
    names = [term.term for term in found]
    for before, after in pairwise(names):
        if before.casefold() > after.casefold():
            raise ValueError(f"{file}: {after!r} belongs before {before!r}")
    return found


def glossary(file: Path = FILE) -> None:
    """Print all terms as a list of definitions, for a cell with `output: asis`."""
    for term in terms(file):
        see = f" (@{term.see})" if term.see else ""
        print(f"[**{term.term}**]{{#{term.id}}}\n:   {term.definition.strip()}{see}\n")  # noqa: T201
