"""The similarity report of an assignment: what was handed in, read and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from shardwise_grading.similarity.features import Work
from shardwise_grading.similarity.pairs import Pair, Similarities, compare
from shardwise_grading.submission import read_script

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shardwise_grading.gradebook.folders import Submission
    from shardwise_grading.records import Step
    from shardwise_grading.similarity.shared import Group
    from shardwise_grading.submission import Layout

MOST_VALUES = 20  # of one kind, in the machine-readable report


class HandedIn(Protocol):
    """What the report needs to know of a course; `gradebook.Course` knows it."""

    def layouts(self, assignment: str) -> Mapping[str, Layout]:
        """The instructor's notebooks."""

    def submissions(self, assignment: str) -> list[Submission]:
        """Who handed in."""

    def contents(self, submission: Submission) -> Mapping[str, bytes | None]:
        """The bytes of each notebook."""


def similar(course: HandedIn, assignment: str) -> Similarities:
    """Find the groups that hold the same text, and the pairs alike as the rest of a class isn't.

    Nothing of a submission is run or compiled; one that can't be read is left out, and named.

    Args:
        course: an open course.
        assignment: whose submissions to compare.

    Returns:
        Both, the most suspicious first: evidence for a human to judge.
    """
    layouts = course.layouts(assignment)
    works = {
        submission.student: _works(layouts, course.contents(submission))
        for submission in course.submissions(assignment)
    }
    return compare(assignment, works, {name: _released(one) for name, one in layouts.items()})


def to_json(report: Similarities) -> dict[str, Any]:
    """Turn a report into what the json module writes: without the submissions themselves."""
    return {
        "assignment": report.assignment,
        "students": report.students,
        "left_out": dict(report.left_out),
        "threshold_bits": round(report.threshold, 1),
        "groups": [_group(group) for group in report.groups],
        "pairs": [_pair(pair) for pair in report.pairs],
    }


def _group(group: Group) -> dict[str, Any]:
    shared = [
        {
            "notebook": one.notebook,
            "bits": round(one.bits, 1),
            "students": list(one.students),
            "lines": len(one.lines),
            "lines_letter_for_letter": dict(zip(one.students[1:], one.held, strict=True)),
            "values": list(one.values[:MOST_VALUES]),
        }
        for one in group.shared
    ]
    return {"students": list(group.students), "bits": group.bits, "shared": shared}


def _pair(pair: Pair) -> dict[str, Any]:
    evidence = [
        {
            "notebook": one.notebook,
            "kind": one.kind,
            "bits": round(one.bits, 1),
            "shared": one.shared,
            "of": one.of,
            "others": one.others,
            "values": list(one.values[:MOST_VALUES]),
        }
        for one in pair.evidence
    ]
    return {"students": [pair.first, pair.second], "bits": pair.bits, "evidence": evidence}


def _works(layouts: Mapping[str, Layout], contents: Mapping[str, bytes | None]) -> dict[str, Work]:
    scripts = {name: read_script(one, contents.get(name)) for name, one in layouts.items()}
    return {
        name: _work(step for step in script.steps if step.role in ("solution", "own"))
        for name, script in scripts.items()
        if not script.problem
    }


def _released(layout: Layout) -> Work:
    """What everybody was given: all but the hidden cells."""
    return _work(step for step in layout.steps if step.role != "hidden")


def _work(steps: Iterable[Step]) -> Work:
    kept = list(steps)
    code = "\n\n".join(step.source for step in kept if step.kind == "code")
    return Work(code, "\n\n".join(step.source for step in kept if step.kind != "code"))
