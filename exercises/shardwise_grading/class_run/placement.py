"""Where a course must not lie: in a folder that students' code can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardwise_grading import sandbox

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def require_unreadable(folders: Iterable[Path]) -> None:
    """Refuse a course that lies among what students' imports need.

    Args:
        folders: the course and the folders of its hidden checks.

    Raises:
        ValueError: one lies in such a folder.
    """
    readable = [path.resolve() for path in sandbox.readable_paths()]
    for folder in folders:
        for path in readable:
            if folder.resolve().is_relative_to(path):
                raise ValueError(
                    f"{folder} lies in {path}, which students' code can read; "
                    "move the course to another place, such as your home folder"
                )
