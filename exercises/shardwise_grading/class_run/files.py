"""The results of a class as files, for programs and for a learning management system."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from shardwise_grading.class_run.text import cell
from shardwise_grading.gradebook.safe_files import write_beside

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from shardwise_grading.class_run.rows import Row


def write_results(folder: Path, assignment: str, rows: Sequence[Row]) -> None:
    """Write ``results.json`` and ``results.csv``, each beside its place and then renamed.

    Args:
        folder: where they go; made when missing.
        assignment: what was graded.
        rows: one for each student, in the order of their names.
    """
    content = {"assignment": assignment, "students": [as_json(row) for row in rows]}
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    for name, written in (("results.json", text), ("results.csv", as_csv(rows))):
        write_beside(folder / name, written.encode("utf-8", "backslashreplace"))


def as_json(row: Row) -> dict[str, Any]:
    """Turn a row into what the json module writes."""
    return {
        "student": row.student,
        "status": row.status,
        "points": dict(row.points),
        "max_points": dict(row.max_points),
        "late_penalty": row.late_penalty,
        "total": row.total,
        "problem": row.problem,
        "notes": list(row.notes),
    }


def as_csv(rows: Sequence[Row]) -> str:
    r"""Write one line for each student, and no cell that a spreadsheet would take for a formula.

    Example:
        >>> from shardwise_grading.class_run.rows import Row
        >>> print(as_csv([Row("=ada", {"1-a": 7.5}, {"1-a": 10.0})]))
        student,1-a,1-a max,total,total max,late penalty,status,problem
        '=ada,7.5,10,7.5,10,0,graded,
        <BLANKLINE>
    """
    notebooks = sorted({name for row in rows for name in row.max_points})
    heads = [head for name in notebooks for head in (name, f"{name} max")]
    lines: list[list[object]] = [
        ["student", *heads, "total", "total max", "late penalty", "status", "problem"]
    ]
    for row in rows:
        points = [part.get(name, "") for name in notebooks for part in (row.points, row.max_points)]
        most = sum(row.max_points.values())
        lines.append(
            [row.student, *points, row.total, most, row.late_penalty, row.status, row.problem]
        )
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(
        [cell(value) for value in line] for line in lines
    )
    return file.getvalue()
