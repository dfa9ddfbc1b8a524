"""The similarity report as pages: a list of pairs, and for each pair both works side by side."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shardwise_grading.feedback.page import render
from shardwise_grading.gradebook.safe_files import write_beside
from shardwise_grading.similarity.features import MOST_CHARACTERS, Work
from shardwise_grading.similarity.report import to_json
from shardwise_grading.similarity.words import MEANING, describe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shardwise_grading.similarity.evidence import Evidence
    from shardwise_grading.similarity.pairs import Pair, Similarities

TEMPLATES = Path(__file__).parent / "templates"
WORTH_A_MARK = 1.0  # bits from which evidence marks its lines


@dataclass(frozen=True, slots=True)
class Line:
    """A line of code, and whether it is part of the evidence."""

    text: str
    shared: bool


@dataclass(frozen=True, slots=True)
class Both:
    """One notebook of a pair."""

    name: str
    evidence: tuple[str, ...]
    sides: tuple[tuple[str, tuple[Line, ...], str], ...]


def write_pages(report: Similarities, folder: Path) -> list[Path]:
    """Write the list of pairs, a page for each, and the same for machines.

    Pages of an earlier report are removed.

    Args:
        report: what `similar` found.
        folder: where they go; it should hold nothing else.

    Returns:
        ``index.html``, ``pair-001.html`` and so on, and ``similar.json``.
    """
    names = [f"pair-{number:03}.html" for number in range(1, len(report.pairs) + 1)]
    for old in folder.glob("pair-*.html"):
        if old.name not in names:
            old.unlink()
    rows = [
        (name, pair, _said(pair, report)) for name, pair in zip(names, report.pairs, strict=True)
    ]
    values = {"report": report, "rows": rows, "meaning": MEANING}
    pages = [write_beside(folder / "index.html", render("pairs.html.j2", values, TEMPLATES))]
    for name, pair in zip(names, report.pairs, strict=True):
        values = {"report": report, "pair": pair, "notebooks": list(_notebooks(report, pair))}
        pages.append(write_beside(folder / name, render("pair.html.j2", values, TEMPLATES)))
    machine = json.dumps(to_json(report), indent=1).encode()
    return [*pages, write_beside(folder / "similar.json", machine + b"\n")]


def _said(pair: Pair, report: Similarities) -> list[str]:
    return [f"{one.notebook}: {describe(one, report.students)}" for one in pair.evidence[:3]]


def _notebooks(report: Similarities, pair: Pair) -> Iterable[Both]:
    """The notebooks of a pair, the most suspicious first."""
    found: dict[str, list[Evidence]] = {}
    for evidence in pair.evidence:
        found.setdefault(evidence.notebook, []).append(evidence)
    for name, shared in sorted(found.items(), key=lambda item: -_sum(item[1])):
        marked = [one for one in shared if one.bits >= WORTH_A_MARK]
        sides = tuple(
            _side(student, report.works[student][name], {n for e in marked for n in e.lines[side]})
            for side, student in enumerate((pair.first, pair.second))
        )
        said = tuple(f"{describe(e, report.students)}: {e.bits:.0f} bits" for e in shared)
        yield Both(name, said, sides)


def _side(student: str, work: Work, shared: set[int]) -> tuple[str, tuple[Line, ...], str]:
    lines = work.code[:MOST_CHARACTERS].split("\n")
    marked = tuple(Line(text, number in shared) for number, text in enumerate(lines, 1))
    return student, marked, work.text[:MOST_CHARACTERS]


def _sum(evidence: Iterable[Evidence]) -> float:
    return sum(one.bits for one in evidence)
