"""The cells that a feedback page shows: the student's own and the checks that everybody can see."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardwise_grading.feedback.picture import picture_address
from shardwise_grading.feedback.plain import MOST_CODE, MOST_OUTPUT, cut, plain, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shardwise_grading.records import CellRecord, NotebookRecord, Output

MOST_OUTPUTS = 12  # of one cell
MOST_PICTURES = 8  # of one notebook
LONGEST_REASON = 300
LOST = "LostError"  # the grader's own word for a process that is gone; its message says it all
# IPython opens a traceback with a line of dashes, wider than a phone.
_RULER = re.compile(r"\A-{20,}\n")
WHAT = {
    "stdout": "printed",
    "stderr": "printed as a warning",
    "display": "displayed",
    "result": "value of the last line",
    "error": "error",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """One output as the page shows it: a picture, or text under a word for what it is."""

    what: str
    text: str
    picture: str = ""
    error: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell as the page shows it.

    Args:
        id: its anchor on the page.
        grade_id: the instructor's name for it; empty for a student's own.
        title: what it is.
        source: its text, cut when very long.
        code: whether that is code.
        folded: the words that unfold the text; empty when it is open from the start.
        said: one line on what came of it.
        stopped: the error that ended an answer before it was whole; empty when none did.
        outputs: what it showed.
        more: how many further outputs are left out.
    """

    id: str
    grade_id: str
    title: str
    source: str
    code: bool = True
    folded: str = ""
    said: str = ""
    stopped: str = ""
    outputs: tuple[Shown, ...] = ()
    more: int = 0


def spaced(name: str) -> str:
    """Return a name of a cell or a check as people write it.

    Example:
        >>> spaced("stage2-bytes")
        'stage2 bytes'
    """
    return re.sub(r"[-_]+", " ", name)


def title_of(cells: Iterable[CellRecord]) -> str:
    """Return the heading that the instructor gave a notebook; empty where there is none."""
    for cell in cells:
        heading = re.search(r"^# +(\S.*)$", cell.step.source, re.MULTILINE)
        if cell.step.role == "text" and cell.step.kind == "markdown" and heading:
            return heading[1].strip()
    return ""


def cells_of(record: NotebookRecord) -> Iterator[Cell]:
    """List what a page shows, in order; nothing of a hidden cell is among it."""
    pictures = MOST_PICTURES
    for number, cell in enumerate(record.cells, 1):
        if cell.step.role in ("text", "hidden"):
            continue
        outputs = _outputs(cell.outputs[:MOST_OUTPUTS], pictures)
        pictures -= sum(bool(output.picture) for output in outputs)
        yield Cell(
            id=f"cell-{number}",
            grade_id=cell.step.grade_id,
            title=_title(cell),
            source=cut(cell.step.source, MOST_CODE),
            code=cell.step.kind == "code",
            folded="Show the checks" if cell.step.role == "visible" else "",
            said=_said(cell),
            stopped=_stopped(cell) if cell.step.role == "solution" else "",
            outputs=outputs,
            more=len(cell.outputs[MOST_OUTPUTS:]),
        )


def _title(cell: CellRecord) -> str:
    if cell.step.role == "solution":
        return f"Your solution: {spaced(cell.step.grade_id)}"
    if cell.step.role == "visible":
        return "Checks that you could see"
    return "A cell that you added" if cell.step.kind == "code" else "Text that you added"


def _said(cell: CellRecord) -> str:
    if cell.step.kind != "code":
        return ""
    if not cell.step.source.strip():
        return "This cell is empty."
    if not cell.ran:
        return "This cell did not run."
    failed = any(output.kind == "error" for output in cell.outputs)
    if cell.step.role == "visible":
        return "Not yet: one of them failed." if failed else "All of them passed."
    return ""


def _stopped(cell: CellRecord) -> str:
    error = next((output for output in cell.outputs if output.kind == "error"), None)
    if error is None:
        return ""
    kind = "" if error.name == LOST else error.name
    first = error.value.partition("\n")[0]
    return cut(": ".join(filter(None, (kind, first))), LONGEST_REASON) or "an error"


def _outputs(outputs: tuple[Output, ...], pictures: int) -> tuple[Shown, ...]:
    shown_outputs = []
    for output in outputs:
        address = picture_address(output.png) if output.png and pictures > 0 else ""
        pictures -= bool(address)
        shown_outputs.append(_shown(output, address))
    return tuple(shown_outputs)


def _shown(output: Output, address: str) -> Shown:
    if address:
        return Shown(WHAT["display"], cut(plain(output.text), 80).replace("\n", " "), address)
    failed = output.kind == "error"
    text = output.text or (f"{output.name}: {output.value}" if failed else "")
    if failed:
        text = _RULER.sub("", plain(text))
    if output.png and not text:
        text = "(a picture that can't be shown)"
    return Shown(WHAT[output.kind], cut(shown(text), MOST_OUTPUT).strip("\n"), "", failed)
