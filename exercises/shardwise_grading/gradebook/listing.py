"""Find the submissions of an assignment, wherever the course's structure puts them."""

from __future__ import annotations

import glob
import re
from pathlib import Path
from typing import TYPE_CHECKING

from shardwise_grading.gradebook.folders import Caps, Submission, look_into

if TYPE_CHECKING:
    from collections.abc import Collection

    from nbgrader.coursedir import CourseDirectory

KILOBYTE = 1000


def find_submissions(
    directory: CourseDirectory, assignment: str, students: Collection[str] | None = None
) -> list[Submission]:
    """Look at what was handed in, in the order of the students' names.

    Args:
        directory: nbgrader's view of the folders.
        assignment: the assignment.
        students: whose; everybody's where it is not given.
    """
    student_id = directory.format_path(
        directory.submitted_directory, "(?P<student>.*)", re.escape(assignment), escape=True
    )
    caps = Caps(
        ignore=tuple(directory.ignore),
        file_bytes=directory.max_file_size * KILOBYTE,
        total_bytes=directory.max_dir_size * KILOBYTE,
    )
    left_out = set(directory.student_id_exclude.split(","))
    found = []
    for path in glob.glob(_pattern(directory, assignment)):  # noqa: PTH207  (may be absolute)
        match = re.fullmatch(student_id, path, re.DOTALL)
        if match and match["student"] not in left_out:
            found.append(look_into(match["student"], assignment, Path(path), caps))
    return sorted(
        (one for one in found if students is None or one.student in students),
        key=lambda one: one.student,
    )


def _pattern(directory: CourseDirectory, assignment: str) -> str:
    structure = directory.directory_structure.format(
        nbgrader_step=glob.escape(directory.submitted_directory),
        student_id="*",
        assignment_id=glob.escape(assignment),
    )
    return str(Path(glob.escape(directory.root)) / structure)
