"""Files that lie beside the notebooks, for the code in them to open or import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardwise_grading.gradebook.folders import TIMESTAMP
from shardwise_grading.gradebook.safe_files import read_regular

if TYPE_CHECKING:
    from pathlib import Path

    from shardwise_grading.gradebook.assignment import AssignmentSource
    from shardwise_grading.gradebook.folders import Submission

MOST_BYTES = 8 << 20  # of all of them; a student's scratch folder holds little more
MOST_FILES = 200
OF_THE_EXCHANGE = (TIMESTAMP, "submission_secret.txt")


def files_beside(submission: Submission, source: AssignmentSource) -> dict[str, bytes | None]:
    """Read what `fill_folder` puts beside the notebooks: the instructor's files, then the others.

    Args:
        submission: where the student's files are.
        source: where the instructor's are, which take the places of a student's.

    Returns:
        The content of each file by its path from the notebooks, small ones of the student first;
        None for one that there was no room for, or that can't be read.
    """
    places = [(path.as_posix(), source.folder / path) for path in source.others]
    own = [(path.as_posix(), submission.folder / path) for path in submission.others]
    places += sorted(own, key=lambda place: (_size(place[1]), place[0]))
    found: dict[str, bytes | None] = {}
    left = MOST_BYTES
    for name, path in places:
        if name in found or name in OF_THE_EXCHANGE:
            continue
        content = _read(path, left) if len(found) < MOST_FILES else None
        found[name] = content
        left -= len(content or b"")
    return found


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _read(path: Path, most: int) -> bytes | None:
    try:
        content = read_regular(path, most + 1)
    except OSError:
        return None
    return content if len(content) <= most else None
