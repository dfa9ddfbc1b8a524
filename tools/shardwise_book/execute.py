"""Keeps what a chapter's cells put out, and has them run when a cause of it has changed."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shardwise_book.files import read_json, write_beside
from shardwise_book.reads import is_ours

if TYPE_CHECKING:
    from shardwise_book.scan import Chapter

Output = dict[str, Any]
Progress = Callable[[int], None]

CACHE = Path(".shardwise/cache")
# What a cell may import, or have another program read; what it opens itself is noted as it runs.
CAUSES = (
    "chapter/**/*.py",
    "requirements.lock",
    "pyproject.toml",
)
CAUSE_FOLDERS = ("lib", "widgets")
OWN_CAUSES = (
    "kernel.py",
    "scan.py",
    "reads.py",
    # What cells import of the builder.
    "quote.py",
    "quiz.py",
    "glossary.py",
    "reading.py",
)


@dataclass(frozen=True)
class Executed:
    """What a chapter's steps put out.

    Args:
        outputs: the nbformat outputs of each step.
        reads: the digest of each project file that the steps opened, by its path from the root.
        ran: whether a kernel had to run them.
    """

    outputs: list[list[Output]]
    reads: dict[str, str]
    ran: bool


def causes_key(root: Path) -> str:
    """Return a digest of everything but the chapter itself that can change a cell's output."""
    own = (Path(__file__).parent / name for name in OWN_CAUSES)
    inside = (path for pattern in CAUSES for path in root.glob(pattern))
    whole = (path for folder in CAUSE_FOLDERS for path in _files(root / folder))
    return digest(root, [*own, *inside, *whole], f"{sys.version} {platform.machine()}")


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, but those that tools keep there."""
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if is_ours(name)]
        yield from (Path(base, name) for name in names)


def digest(root: Path, files: Iterable[Path], *more: str) -> str:
    """Return a digest of files, by their names from the root and their content, and of text."""
    total = hashlib.sha256(json.dumps(more).encode())
    for path in sorted({p for p in files if p.is_file() and "__pycache__" not in p.parts}):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{os.path.relpath(path, root)}\0{content}\0".encode())
    return total.hexdigest()


def digests(root: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the digest of each file; one that is missing has a digest too."""
    return {name: digest(root, [root / name]) for name in names}


def execute(root: Path, chapter: Chapter, causes: str, progress: Progress) -> Executed:
    """Run the chapter's steps, or return what they put out when nothing has changed since.

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
        return Executed([], {}, ran=False)
    key = digest(root, [], causes, *(step.code for step in steps))
    cached = root / CACHE / (re.sub(r"[^\w-]", "-", chapter.file.removesuffix(".qmd")) + ".json")
    kept = read_json(cached)
    reads, outputs = kept.get("reads"), kept.get("outputs")
    if (
        kept.get("key") == key
        and isinstance(reads, dict)
        and isinstance(outputs, list)
        and len(outputs) == len(steps)
        and reads == digests(root, reads)
    ):
        return Executed(outputs, reads, ran=False)
    # Imported here: half a second that a build with a warm cache need not spend.
    from shardwise_book.kernel import run  # noqa: PLC0415

    outputs, names = run(root, chapter.file, steps, progress)
    reads = digests(root, names)
    write_beside(cached, json.dumps({"key": key, "reads": reads, "outputs": outputs}))
    return Executed(outputs, reads, ran=True)
