"""Runs a chapter's cells in a fresh kernel, and keeps what they put out until a cause changes."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from shardwise_book.errors import BookError, Problem
from shardwise_book.files import read_json, write_beside

if TYPE_CHECKING:
    from nbclient.exceptions import CellExecutionError

    from shardwise_book.scan import Chapter, Step

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
OWN_CAUSES = ("execute.py", "scan.py", "quote.py")
ENVIRONMENT = {
    "SHARDWISE_BOOK": "1",
    # The same numbers, and about the same times, on machines with different numbers of cores.
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    # matplotlib writes this date into its SVG files instead of today's.
    "SOURCE_DATE_EPOCH": "0",
}


def causes_key(root: Path) -> str:
    """Return a digest of everything but the chapter itself that can change a cell's output."""
    own = (Path(__file__).parent / name for name in OWN_CAUSES)
    inside = (path for pattern in CAUSES for path in root.glob(pattern))
    return digest(
        root, [*own, *inside], f"{sys.version} {platform.machine()} {sorted(ENVIRONMENT.items())}"
    )


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
    outputs = _run(root, chapter.file, steps, progress)
    write_beside(cached, json.dumps({"key": key, "outputs": outputs}))
    return outputs, True


def _run(root: Path, file: str, steps: list[Step], progress: Progress) -> list[list[Output]]:
    # Imported here: half a second that a build with a warm cache need not spend.
    from jupyter_client.kernelspec import KernelSpecManager  # noqa: PLC0415
    from jupyter_client.manager import AsyncKernelManager  # noqa: PLC0415
    from nbclient import NotebookClient  # noqa: PLC0415
    from nbclient.exceptions import CellExecutionError as Raised  # noqa: PLC0415
    from nbclient.exceptions import DeadKernelError  # noqa: PLC0415
    from nbformat import from_dict  # noqa: PLC0415

    cells = [
        {"cell_type": "code", "metadata": {}, "source": step.code, "outputs": []} for step in steps
    ]
    notebook = from_dict(  # type: ignore[no-untyped-call]
        {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    )
    # No folder to search: "python3" is then the running interpreter, whatever a user has installed.
    specs = KernelSpecManager(kernel_dirs=[])
    manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=specs)
    client = NotebookClient(notebook, km=manager, timeout=None, allow_errors=False)
    with TemporaryDirectory(prefix="shardwise-") as sockets:
        if os.name == "posix":  # sockets in a private folder instead of open ports
            manager.transport, manager.ip = "ipc", str(Path(sockets, "kernel"))
        with client.setup_kernel(cleanup_kc=True, cwd=str(root), env=os.environ | ENVIRONMENT):
            for index, (cell, step) in enumerate(zip(notebook.cells, steps, strict=True)):
                try:
                    client.execute_cell(cell, index)
                except Raised as error:
                    raise BookError(_raised(file, step, index + 1, error)) from None
                except DeadKernelError:
                    remedy = "the cell ended the Python process: look for a crash or for exit()"
                    raise BookError(Problem(file, step.line, "the kernel died", remedy)) from None
                progress(index + 1)
    return [[dict(output) for output in cell.outputs] for cell in notebook.cells]


def _raised(file: str, step: Step, count: int, error: CellExecutionError) -> Problem:
    """Name the line of the file on which the step's own code was when it raised."""
    traceback = re.sub(r"\x1b\[[0-9;]*m", "", error.traceback)
    own = re.findall(rf"Cell In\[{count}\], line (\d+)", traceback)
    line = step.line + int(own[0]) - 1 if own else step.line
    remedy = "correct the cell, or show the exception on purpose with try/except and print"
    return Problem(file, line, f"the cell raised {error.ename}: {error.evalue}", remedy)
