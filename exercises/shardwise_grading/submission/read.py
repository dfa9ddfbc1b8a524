"""Read a student's notebook file, whatever is in it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from shardwise_grading.records import Script, Step

if TYPE_CHECKING:
    from shardwise_grading.submission.layout import Layout

MAX_BYTES = 20_000_000


def read_script(layout: Layout, content: bytes | None) -> Script:
    """Bring what a student handed in into the order and the cells of the instructor's notebook.

    Nothing in the content makes this raise, compile or run anything.

    Args:
        layout: the instructor's notebook.
        content: the bytes of the student's file; None when there is no such file.

    Returns:
        What is to be run, or why nothing of it can be graded.
    """
    if content is None:
        return Script(layout.name, problem="the notebook was not handed in, under that name")
    cells = json.loads(content)["cells"]
    by_id = {c["metadata"].get("nbgrader", {}).get("grade_id"): "".join(c["source"]) for c in cells}
    steps = [
        Step(s.kind, s.role, by_id.get(s.grade_id, ""), s.grade_id) if s.role == "solution" else s
        for s in layout.steps
    ]
    return Script(layout.name, tuple(steps))
