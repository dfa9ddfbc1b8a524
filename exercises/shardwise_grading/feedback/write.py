"""Feedback pages of a class, in the folders where nbgrader looks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from shardwise_grading.feedback.page import render
from shardwise_grading.feedback.sheet import sheet_of, sum_of
from shardwise_grading.gradebook.safe_files import read_regular, write_beside

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from shardwise_grading.gradebook.folders import Submission
    from shardwise_grading.gradebook.marks import NotebookMark
    from shardwise_grading.records import SubmissionRecord
    from shardwise_grading.submission.layout import Layout

# nbgrader's release_feedback reads both beside the pages.
RELEASE_FILES = ("timestamp.txt", "submission_secret.txt")
LONGEST_RELEASE_FILE = 4096  # bytes


class Graded(Protocol):
    """What feedback needs to know of a course; `gradebook.Course` knows it."""

    def layouts(self, assignment: str) -> Mapping[str, Layout]:
        """The instructor's notebooks."""

    def submissions(
        self, assignment: str, students: Collection[str] | None = None
    ) -> list[Submission]:
        """Who handed in."""

    def record(self, student: str, assignment: str) -> SubmissionRecord | None:
        """What grading found."""

    def marks(self, student: str, assignment: str) -> Mapping[str, NotebookMark]:
        """What the gradebook says of each notebook."""

    def feedback_folder(self, student: str, assignment: str) -> Path:
        """Where the pages go."""

    def autograded_folder(self, student: str, assignment: str) -> Path:
        """Where the graded notebooks are."""


def write_feedback(
    course: Graded, assignment: str, students: Collection[str] | None = None
) -> list[Path]:
    """Write a page for each notebook and an index for each student.

    Args:
        course: an open course.
        assignment: whose feedback to write.
        students: for whom; everybody who handed in when it is not given. Who is not graded yet is
            left out, and so is a folder that is no student's.

    Returns:
        The pages, in the order of the students' names.

    Raises:
        FileNotFoundError: the course has no such assignment.
        ValueError: a student has not handed in, or nobody is graded yet.
    """
    layouts = course.layouts(assignment)
    pages: list[Path] = []
    found = course.submissions(assignment, students)
    _check_students(assignment, students or (), {submission.student for submission in found})
    for submission in found:
        student = submission.student
        record = course.record(student, assignment) if submission.usable else None
        if record is None:
            continue
        folder = course.feedback_folder(student, assignment)
        content = feedback_pages(record, course.marks(student, assignment), layouts)
        pages += [write_beside(folder / name, page) for name, page in content.items()]
        _copy_release_files(course.autograded_folder(student, assignment), folder)
    if not pages:
        raise ValueError(f"assignment={assignment!r} has nothing that is graded; run autograde")
    return pages


def feedback_pages(
    record: SubmissionRecord,
    marks: Mapping[str, NotebookMark],
    layouts: Mapping[str, Layout] | None = None,
) -> dict[str, bytes]:
    """Return the pages of one submission by file name; the same bytes for the same points.

    Args:
        record: what grading found.
        marks: what the gradebook says of each notebook; may be empty.
        layouts: the instructor's notebooks, for what can be told of one that could not be read.
    """
    given = {name: layout.steps for name, layout in (layouts or {}).items()}
    sheets = [
        sheet_of(notebook, marks.get(notebook.name), given.get(notebook.name, ()))
        for notebook in record.notebooks
    ]
    about = {"student": record.student, "assignment": record.assignment}
    pages = {
        f"{sheet.name}.html": render(
            "notebook.html.j2",
            {"sheet": sheet, "others": [s for s in sheets if s is not sheet], **about},
        )
        for sheet in sheets
    }
    index = {
        "sheets": sheets,
        "total": sum_of([sheet.total for sheet in sheets]),
        "human": bool(record.problem),
        # Where nothing came of the work, the problem is the grader's own.
        "reasons": (record.problem,) if record.problem and record.notebooks else (),
        "notes": record.notes,
    }
    return {**pages, "index.html": render("index.html.j2", index | about)}


def _check_students(assignment: str, asked: Collection[str], found: Collection[str]) -> None:
    unknown = sorted(set(asked) - set(found))
    if unknown:
        raise ValueError(f"student={unknown[0]!r} has not handed in {assignment}; name one who has")


def _copy_release_files(source: Path, target: Path) -> None:
    """Copy nbgrader's two notes on a submission, never what a link of a student's leads to."""
    for name in RELEASE_FILES:
        try:
            content = read_regular(source / name, LONGEST_RELEASE_FILE)
        except OSError:
            continue
        write_beside(target / name, content)
