"""Write a graded notebook in the form that nbgrader's own commands and pages read."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import nbformat
from nbgrader.preprocessors import IgnorePattern, LimitOutput
from nbgrader.utils import determine_grade, is_grade, is_solution

from shardwise_grading.records import CellRecord, Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbformat import NotebookNode
    from traitlets.config import Config

    from shardwise_grading.gradebook.template import Template
    from shardwise_grading.records import NotebookRecord, Output

NOT_GRADED = "This cell was not graded."
# Why a notebook that ran has a problem is for the instructor: a faulty check, a suspicion.
IN_THE_RESULTS = "the results of grading say why."
BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
# What formgrader's pages would not show but obey, with the rights of whoever opens them.
MARKUP = re.compile(r"<[a-z/!?]|&#?\w+;|script:|\\href", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GradedNotebook:
    """A notebook with what it earned.

    Args:
        name: without its ending.
        node: the notebook itself, in nbgrader's form.
        scores: automatic points by graded cell; None where only a human can say.
        look: graded cells at which a human has to look although they have points.
    """

    name: str
    node: NotebookNode
    scores: dict[str, float | None]
    look: frozenset[str]

    def content(self) -> bytes:
        """The notebook's file."""
        text = json.dumps(self.node, ensure_ascii=False, indent=1, sort_keys=True)
        return f"{text}\n".encode()


def graded_notebook(record: NotebookRecord, template: Template, config: Config) -> GradedNotebook:
    """Write what grading found into the instructor's notebook.

    Args:
        record: the student's notebook, graded.
        template: the instructor's.
        config: the course's, for limits on output.
    """
    cells = record.cells or tuple(_unread(template))
    ungraded = {c.step.grade_id for c in cells if c.step.role == "hidden" and not c.results}
    node = nbformat.from_dict(  # type: ignore[no-untyped-call]
        {
            "cells": [*_notice(record), *_cells(cells, template)],
            "metadata": template.metadata,
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )
    for step in (IgnorePattern, LimitOutput):
        node, _ = step(config=config)(node, {})
    scores = {
        cell.metadata.nbgrader.grade_id: determine_grade(cell)[0]
        for cell in node.cells
        if is_grade(cell)
    }
    look = {name for name, score in scores.items() if record.problem and score is not None}
    hidden = {c.step.grade_id for c in cells if c.step.role == "hidden"}
    return GradedNotebook(
        name=record.name,
        node=node,
        scores={name: None if name in ungraded else score for name, score in scores.items()},
        look=frozenset(look & hidden),
    )


def _unread(template: Template) -> Iterator[CellRecord]:
    """The cells of a notebook of which nothing could be read: tests that did not run."""
    for name, cell in template.cells.items():
        if is_solution(cell):
            yield CellRecord(Step("code", "solution", "", name))
        else:
            points = is_grade(cell) and cell["metadata"]["nbgrader"]["points"]
            yield CellRecord(Step("code", "hidden" if points else "visible", "", name))


def _notice(record: NotebookRecord) -> list[dict[str, Any]]:
    """A cell that tells a human to look, in words that nbgrader may show to the student."""
    if not record.problem:
        return []
    why = IN_THE_RESULTS if record.cells else html.escape(_text(record.problem))
    text = f"**A human has to look at this notebook:** {why}"
    return [{"cell_type": "markdown", "id": "problem", "metadata": {}, "source": text}]


def _cells(cells: tuple[CellRecord, ...], template: Template) -> Iterator[dict[str, Any]]:
    """Write each cell; the instructor's from the template, the others as they were handed in."""
    taken = {cell["id"] for cell in template.cells.values()} | {"problem"}
    free = (name for name in (f"step-{number}" for number in count(1)) if name not in taken)
    runs = count(1)
    for record in cells:
        known = template.cells.get(record.step.grade_id)
        cell: dict[str, Any] = {
            "cell_type": known["cell_type"] if known else record.step.kind,
            "id": known["id"] if known else next(free),
            "metadata": known["metadata"] if known else {},
            "source": known["source"] if known and not is_solution(known) else record.step.source,
        }
        cell["source"] = _text(cell["source"])
        if cell["cell_type"] != "code" and (known is None or cell["source"] != known["source"]):
            cell |= _harmless(cell)
        if cell["cell_type"] == "code":
            number = next(runs) if record.ran else None
            cell |= {"execution_count": number, "outputs": list(_outputs(record, number))}
            tested = known is not None and is_grade(known) and not is_solution(known)
            if tested and not (record.results or record.ran):
                # Without any output nbgrader would give all points.
                cell["outputs"] = [_error("NotGraded", NOT_GRADED, NOT_GRADED)]
        yield cell


def _harmless(cell: dict[str, Any]) -> dict[str, Any]:
    """Let a student's text with markup be shown as it was written."""
    source = cell["source"]
    if not MARKUP.search(source):
        return {}
    longest = max(map(len, re.findall("`+", source)), default=0)
    fence = "`" * max(3, longest + 1)
    return {"cell_type": "markdown", "source": f"{fence}\n{source}\n{fence}"}


def _outputs(record: CellRecord, number: int | None) -> Iterator[dict[str, Any]]:
    """Write what a cell showed; a hidden one shows its report, and its score last."""
    if record.step.role != "hidden":
        # nbgrader would take a number that a visible test shows for its points.
        result = None if record.step.role == "visible" else number
        yield from (_output(output, result) for output in record.outputs)
    elif record.results:
        yield {"output_type": "stream", "name": "stdout", "text": _text(f"{record.report}\n")}
        score = repr(record.report.score) if record.report else ""
        yield _shown("execute_result", {"text/plain": score}) | {"execution_count": number}
    elif record.ran:
        yield _error("NotGraded", NOT_GRADED, NOT_GRADED)


def _output(output: Output, number: int | None) -> dict[str, Any]:
    """Write one output in nbformat's form."""
    text = _text(output.text)
    if output.kind in ("stdout", "stderr"):
        return {"output_type": "stream", "name": output.kind, "text": text}
    if output.kind == "error":
        return _error(_text(output.name), _text(output.value), text)
    # Pages put the picture into an attribute as it stands.
    picture = {"image/png": output.png} if output.png and BASE64.fullmatch(output.png) else {}
    if output.kind == "display" or number is None:
        return _shown("display_data", {"text/plain": text} | picture)
    return _shown("execute_result", {"text/plain": text} | picture) | {"execution_count": number}


def _shown(kind: str, data: dict[str, str]) -> dict[str, Any]:
    return {"output_type": kind, "metadata": {}, "data": data}


def _error(name: str, value: str, traceback: str) -> dict[str, Any]:
    lines = traceback.split("\n")
    return {"output_type": "error", "ename": name, "evalue": value, "traceback": lines}


def _text(text: str) -> str:
    """Replace halves of surrogate pairs, which no file in UTF-8 can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
