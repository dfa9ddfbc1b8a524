"""Notes, in the kernel of a chapter, which of the project's files its cells open to read."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

# Folders of tools; modules are imported from their sources, whatever is cached beside them.
NOT_OURS = ("__pycache__", "node_modules")


def record(log: str) -> None:
    """Append to the file `log` the path of each project file that is opened to read, once.

    The project is the folder in which this process works when it is called. Files of hidden
    folders are left out: environments, caches. A file that is not there counts too, as its coming
    may change what the cell does.
    """
    root = os.getcwd()  # noqa: PTH109 - a Path for each file that torch opens would cost seconds
    notes = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    seen: set[str] = set()

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event != "open":
            return
        path, _, flags = arguments
        if not isinstance(path, str | bytes | os.PathLike) or not isinstance(flags, int):
            return
        if flags & os.O_WRONLY:
            return
        with contextlib.suppress(ValueError, OSError):
            name = os.path.relpath(os.fsdecode(path), root)
            if name not in seen and is_ours(name):
                seen.add(name)
                os.write(notes, os.fsencode(f"{name}\n"))

    sys.addaudithook(note)


def is_ours(name: str) -> bool:
    """Return whether a path, relative to the project, leads to a file that a person made."""
    return not any(part.startswith(".") or part in NOT_OURS for part in Path(name).parts)
