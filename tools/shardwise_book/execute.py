"""Keeps what a chapter's cells put out, and has them run when a cause of it has changed."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shardwise_book.files import read_json, write_beside

if TYPE_CHECKING:
    from shardwise_book.scan import Chapter

Output = dict[str, Any]
Progress = Callable[[int], None]

CACHE = Path(".shardwise/cache")
# What a cell may import or read; the text of a chapter is no cause of its outputs.
CAUSES = (
    "lib/**/*.py",
    "widgets/shardwise_widgets/**/*",
    "widgets/src/**/*",
    "chapter/**/*.py",
    "chapter/**/*.yml",
    "chapter/**/*.json",
    "chapter/**/*.csv",
    "requirements.lock",
)
OWN_CAUSES = ("kernel.py", "scan.py", "quote.py")


def causes_key(root: Path) -> str:
    """Return a digest of everything but the chapter itself that can change a cell's output."""
    own = (Path(__file__).parent / name for name in OWN_CAUSES)
    inside = (path for pattern in CAUSES for path in root.glob(pattern))
    return digest(root, [*own, *inside], f"{sys.version} {platform.machine()}")


def digest(root: Path, files: Iterable[Path], *more: str) -> str:
    """Return a digest of files, by their names from the root and their content, and of text."""
    total = hashlib.sha256(json.dumps(more).encode())
    for path in sorted({p for p in files if p.is_file() and "__pycache__" not in p.parts}):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{os.path.relpath(path, root)}\0{content}\0".encode())
    return total.hexdigest()


def execute(
    root: Path, chapter: Chapter, causes: str, progress: Progress
) -> tuple[list[list[Output]], bool]:
    """Return the outputs of each step of the chapter, and whether a kernel had to run them.

    Args:
        root: the project's folder, in which the cells run.
        chapter: the scanned chapter.
        causes: the digest from `causes_key`.
        progress: called with the number of steps done after each one that ran.

    Raises:
        BookError: a step raised; nothing of the chapter is kept.
    """
    steps = chapter.steps()
    if not steps:
        return [], False
    key = digest(root, [], causes, *(step.code for step in steps))
    cached = root / CACHE / (re.sub(r"[^\w-]", "-", chapter.file.removesuffix(".qmd")) + ".json")
    kept = read_json(cached)
    if kept.get("key") == key:
        return kept["outputs"], False
    # Imported here: half a second that a build with a warm cache need not spend.
    from shardwise_book.kernel import run  # noqa: PLC0415

    outputs = run(root, chapter.file, steps, progress)
    write_beside(cached, json.dumps({"key": key, "outputs": outputs}))
    return outputs, True
