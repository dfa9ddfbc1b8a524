"""Files that are written beside their place and then renamed into it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write_beside(path: Path, content: str) -> None:
    """Write the file so that no reader ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(content, encoding="utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def replace_folder(new: Path, target: Path, old: Path) -> None:
    """Put `new` in the place of `target`, which moves to `old`; on failure it moves back."""
    if not target.exists():
        new.rename(target)
        return
    target.rename(old)
    try:
        new.rename(target)
    except BaseException:
        old.rename(target)
        raise
