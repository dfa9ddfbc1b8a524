"""Name what results depend on, so that nothing is graded twice and nothing stale is kept."""

from __future__ import annotations

import hashlib
import json
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shardwise_grading.records import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shardwise_grading.submission.layout import Layout

PACKAGE = Path(__file__).parents[1]
PARTS = ("checking", "sandbox", "student", "submission", ".")


def assignment_digest(
    layouts: Mapping[str, Layout], hidden: Mapping[str, str], seed: str, settings: str
) -> str:
    """Name what the results of every submission of an assignment depend on.

    Args:
        layouts: the instructor's notebooks.
        hidden: the source of the hidden checks, by exercise.
        seed: decides what they draw.
        settings: whatever else counts, such as limits.
    """
    notebooks = {name: to_json(layout) for name, layout in layouts.items()}
    return _name([grader_version(), notebooks, dict(hidden), seed, settings])


def submission_digest(
    assignment: str,
    contents: Mapping[str, bytes | None],
    beside: Mapping[str, bytes | None],
) -> str:
    """Name what the results of one submission depend on.

    Args:
        assignment: the digest of the assignment.
        contents: the notebooks.
        beside: the files that their code may open.

    Example:
        >>> one = submission_digest("a", {"1-one": b"{}"}, {})
        >>> one == submission_digest("a", {"1-one": b"{}"}, {}), len(one)
        (True, 64)
        >>> one == submission_digest("a", {"1-one": None}, {})
        False
    """
    return _name([assignment, _hashes(contents), _hashes(beside)])


def _hashes(contents: Mapping[str, bytes | None]) -> dict[str, str | None]:
    return {
        name: None if content is None else hashlib.sha256(content).hexdigest()
        for name, content in contents.items()
    }


@cache
def grader_version() -> str:
    """Name the grader and what it runs on: other code may give other results."""
    sources = sorted(path for part in PARTS for path in (PACKAGE / part).glob("*.py"))
    texts = {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in sources}
    return _name([texts, sys.version, version("torch"), version("shardwise")])


def _name(content: Any) -> str:  # noqa: ANN401
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
