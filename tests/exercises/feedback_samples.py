"""A graded submission, honest or hostile, as grading would leave it."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

from shardwise_grading.gradebook.marks import CellMark, NotebookMark
from shardwise_grading.records import (
    Ask,
    CellRecord,
    NotebookRecord,
    Output,
    Step,
    SubmissionRecord,
)
from shardwise_grading.results import Result

SECRET = "the_hidden_source"
HOSTILE = (
    "</code></pre><script>alert(1)</script><img src=x onerror=alert(2)>\"' {{ 7 * 7 }} ]]> <!-- "
    "\x1b[31mred\x1b[0m \x1b]8;;http://outside.example\x07link\x00 "
    "\ud800 \u202egnp.exe\u2066 \ufffe"
)
CODE = '''def stage2_bytes(psi, n):
    """Return the bytes of training state on one of n devices at ZeRO stage 2."""
    if psi < 0 or n < 1:
        raise ValueError("a model has no negative size and needs a device")
    return 2 * psi + (14 * psi) // n'''
TRACEBACK = """\x1b[31m------------------------------------------------------------------\x1b[39m
\x1b[31mAssertionError\x1b[39m                            Traceback (most recent call last)
\x1b[36mCell\x1b[39m\x1b[36m \x1b[39m\x1b[32mIn[4]\x1b[39m\x1b[32m, line 3\x1b[39m
      1 \x1b[38;5;28;01massert\x1b[39;00m stage2_bytes(1_000_000, 1) == 16_000_000
----> 3 \x1b[38;5;28;01massert\x1b[39;00m stage2_bytes(1, 4) == 5.5

\x1b[31mAssertionError\x1b[39m: bytes may be fractions: a slice need not be whole"""


def png(width: int = 320, height: int = 120) -> str:
    buffer = io.BytesIO()
    Image.linear_gradient("L").resize((width, height)).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def memory_notebook(text: str = "", name: str = "2-stage-2-memory") -> NotebookRecord:
    """Exercise 2 with a rounding mistake; the text is put wherever a student can put any."""
    bytes_ask = Ask("stage_2_memory", "stage2_bytes", "stage2_bytes", 8)
    table_ask = Ask("stage_2_memory", "partition_table", "partition", 2)
    wrong = "stage2_bytes(1, 4) returned 3, expected 11/2 = 5.5" + text
    return NotebookRecord(
        name,
        (
            CellRecord(Step("markdown", "text", "# Exercise 2: memory at stage 2\n\nThe text.")),
            CellRecord(Step("code", "solution", CODE + text, "stage2-bytes"), ran=True),
            CellRecord(
                Step("code", "visible", "assert stage2_bytes(1, 4) == 5.5", "stage2-visible"),
                (Output("error", TRACEBACK + text, name="AssertionError" + text),),
                ran=True,
            ),
            CellRecord(
                Step("code", "own", "[stage2_bytes(7_500_000_000, n) for n in (1, 4, 64)]" + text),
                (
                    Output("stdout", "10 %\r100 %\n" + text),
                    Output("result", "[120000000000, 41250000000, 16640625000]" + text),
                    Output("display", "<Figure size 640x240 with 1 Axes>" + text, png()),
                ),
                ran=True,
            ),
            CellRecord(Step("markdown", "own", "I think stage 1 sends less at once." + text)),
            CellRecord(
                Step("code", "hidden", SECRET, "stage2-bytes-hidden", bytes_ask),
                (Output("stdout", SECRET),),
                (
                    Result("one device holds all 16 bytes of each parameter", True, 2),
                    Result("many devices come down to the 2 bytes of the weights", True, 2),
                    Result("results are not rounded to whole bytes", False, 3, wrong),
                    Result("a negative psi and an n below 1 raise ValueError", True, 1),
                ),
                ran=True,
            ),
            CellRecord(
                Step("code", "hidden", SECRET, "partition-table-hidden", table_ask),
                results=(Result("every row of the table is right", True, 2),),
                ran=True,
            ),
        ),
        notes=("the cell stage2-bytes came without its name; found by what it defines" + text,),
    )


MARKS = {
    "2-stage-2-memory": NotebookMark(
        late_penalty=1.5,
        cells={
            "stage2-bytes": CellMark(
                comment="Nearly. Which operator rounds?\n\nHave a look at hint 3."
            ),
            "stage2-bytes-hidden": CellMark(
                6.0, 8, auto_score=5.0, manual_score=5.0, extra_credit=1.0
            ),
            "partition-table-hidden": CellMark(2.0, 2),
        },
    )
}


def submission(text: str = "", student: str = "ada") -> SubmissionRecord:
    lost = NotebookRecord(
        "5-microbatches",
        problem="the file ends in the middle of a cell; nothing of it can be read",
    )
    return SubmissionRecord(
        student,
        "distributed-training",
        "digest",
        (memory_notebook(text), lost),
        "namespaces",
    )


@dataclass
class Handed:
    student: str
    usable: bool = True


@dataclass
class FakeCourse:
    """What feedback needs of a course, without a gradebook."""

    root: Path
    records: list[SubmissionRecord]
    known: dict = field(default_factory=lambda: MARKS)

    def layouts(self, _assignment):
        return {}

    def submissions(self, _assignment, students=None):
        return [Handed(r.student) for r in self.records if not students or r.student in students]

    def record(self, student, _assignment):
        return next((r for r in self.records if r.student == student and r.digest), None)

    def marks(self, _student, _assignment):
        return self.known

    def feedback_folder(self, student, assignment):
        return self.root / "feedback" / student / assignment

    def autograded_folder(self, student, assignment):
        return self.root / "autograded" / student / assignment
