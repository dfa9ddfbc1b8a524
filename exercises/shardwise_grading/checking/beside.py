"""Files that lie beside a notebook, as far as they are put before a student's code."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from shardwise_grading.checking.texts import line

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_FILES = 200
MOST_BYTES = 8 << 20


def fitting(files: Mapping[str, bytes]) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the files that a student's code gets, and a note when some are left out.

    The small ones come first, so that one large file takes no place from what is needed.

    Args:
        files: the content of each, by its path from the notebook's folder.

    Example:
        >>> fitting({"data/table.csv": b"1,2", "../gradebook.db": b""})
        ({'data/table.csv': b'1,2'}, ('the code did not see the file ../gradebook.db',))
    """
    kept: dict[str, bytes] = {}
    left, refused = MOST_BYTES, list[str]()
    for path, content in sorted(files.items(), key=lambda item: (len(item[1]), item[0])):
        parts = PurePosixPath(path)
        inside = not parts.is_absolute() and ".." not in parts.parts and "\0" not in path
        if inside and len(content) <= left and len(kept) < MOST_FILES:
            kept[path] = content
            left -= len(content)
        else:
            refused.append(line(path, 80))
    if not refused:
        return kept, ()
    more = f" and {len(refused) - 1} more" if len(refused) > 1 else ""
    return kept, (f"the code did not see the file {refused[0]}{more}",)
