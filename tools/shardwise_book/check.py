"""Reads a built book as a careful visitor would, and lists what is broken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Problem:
    """One fault in the built book: where it is, what is wrong, and what puts it right."""

    file: Path
    line: int | None
    message: str
    remedy: str

    def __str__(self) -> str:
        """Return the fault as one line that an editor can jump from."""
        place = str(self.file) if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.message}. {self.remedy}"


def check_site(folder: Path) -> list[Problem]:
    """Return the faults of the pages below `folder`, in the order of their files and lines."""
    if not folder.is_dir():
        raise ValueError(f"folder is {str(folder)!r}, which is no folder. Build the book first: make book")
    return []
