"""The similarity report as pages: a list, and a page for each group and for each pair."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shardwise_grading.feedback.page import render
from shardwise_grading.gradebook.safe_files import write_beside
from shardwise_grading.similarity.features import MOST_CHARACTERS, Work
from shardwise_grading.similarity.report import to_json
from shardwise_grading.similarity.words import (
    MEANING,
    MOST_NAMES,
    called,
    compared,
    describe_pair,
    describe_shared,
    strongest,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shardwise_grading.similarity.evidence import Evidence
    from shardwise_grading.similarity.pairs import Pair, Similarities
    from shardwise_grading.similarity.shared import Group

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
    """Write the list of groups and pairs, a page for each, and the same for machines.

    Pages of an earlier report are removed.

    Args:
        report: what `similar` found.
        folder: where they go; it should hold nothing else.

    Returns:
        ``index.html``, ``group-001.html`` and ``pair-001.html`` and so on, and ``similar.json``.
    """
    groups = {f"group-{n:03}.html": one for n, one in enumerate(report.groups, 1)}
    pairs = {f"pair-{n:03}.html": one for n, one in enumerate(report.pairs, 1)}
    for old in (*folder.glob("group-*.html"), *folder.glob("pair-*.html")):
        if old.name not in groups | pairs:
            old.unlink()
    pages = [write_beside(folder / "index.html", _index(report, groups, pairs))]
    for number, (name, group) in enumerate(groups.items(), 1):
        values = {"report": report, "group": group, "number": number}
        values["notebooks"] = list(_shown(report, group))
        pages.append(write_beside(folder / name, render("group.html.j2", values, TEMPLATES)))
    for name, pair in pairs.items():
        values = {"report": report, "pair": pair, "notebooks": list(_notebooks(report, pair))}
        pages.append(write_beside(folder / name, render("pair.html.j2", values, TEMPLATES)))
    machine = json.dumps(to_json(report), indent=1).encode()
    return [*pages, write_beside(folder / "similar.json", machine + b"\n")]


def _index(report: Similarities, groups: Mapping[str, Group], pairs: Mapping[str, Pair]) -> bytes:
    rows = [
        (name, f"Group {number}: {_some(one)}", one.bits, strongest(report, one))
        for number, (name, one) in enumerate(groups.items(), 1)
    ]
    rows += [
        (
            name,
            f"{called(report, one.first)} and {called(report, one.second)}",
            one.bits,
            strongest(report, one),
        )
        for name, one in pairs.items()
    ]
    values = {"report": report, "rows": rows, "meaning": MEANING, "compared": compared(report)}
    return render("pairs.html.j2", values, TEMPLATES)


def _some(group: Group) -> str:
    more = len(group.students) - MOST_NAMES
    return ", ".join(group.students[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _shown(report: Similarities, group: Group) -> Iterable[tuple[object, ...]]:
    """What a group has in common, notebook by notebook, with the code of the first."""
    for one in group.shared:
        student = one.students[0]
        _, lines, _ = _side(student, report.works[student][one.notebook], set(one.lines))
        counted = list(zip(one.students[1:], one.held, strict=True))
        yield one, describe_shared(one, report.students), counted, lines


def _notebooks(report: Similarities, pair: Pair) -> Iterable[Both]:
    """The notebooks of a pair, the most suspicious first."""
    found: dict[str, list[Evidence]] = {}
    for evidence in pair.evidence:
        found.setdefault(evidence.notebook, []).append(evidence)
    words = dict(zip(pair.evidence, describe_pair(report, pair), strict=True))
    for name, shared in sorted(found.items(), key=lambda item: -_sum(item[1])):
        marked = [one for one in shared if one.bits >= WORTH_A_MARK]
        sides = tuple(
            _side(student, report.works[student][name], {n for e in marked for n in e.lines[side]})
            for side, student in enumerate((pair.first, pair.second))
        )
        said = tuple(f"{words[e]}: {e.bits:.0f} bits" for e in shared)
        yield Both(name, said, sides)


def _side(student: str, work: Work, shared: set[int]) -> tuple[str, tuple[Line, ...], str]:
    lines = work.code[:MOST_CHARACTERS].split("\n")
    marked = tuple(Line(text, number in shared) for number, text in enumerate(lines, 1))
    return student, marked, work.text[:MOST_CHARACTERS]


def _sum(evidence: Iterable[Evidence]) -> float:
    return sum(one.bits for one in evidence)
