"""Runs the cells of one chapter, in order, in a kernel of their own."""

from __future__ import annotations

import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbformat import NotebookNode, from_dict

from shardwise_book.errors import BookError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from shardwise_book.scan import Step

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


def run(
    root: Path, file: str, steps: list[Step], progress: Callable[[int], None]
) -> tuple[list[list[dict[str, Any]]], list[str]]:
    """Run the steps in a fresh kernel.

    Args:
        root: the folder in which the kernel works.
        file: the chapter, for messages.
        steps: code in the order of running.
        progress: called with the number of steps done after each of them.

    Returns:
        The nbformat outputs of each step, and the project's files that the steps opened to read.

    Raises:
        BookError: a step raised, or ended the kernel.
    """
    notebook = _notebook(steps)
    with TemporaryDirectory(prefix="shardwise-") as folder:
        log = Path(folder, "reads")
        note = f"__import__('shardwise_book.reads').reads.record({str(log)!r})"
        client = NotebookClient(
            notebook,
            km=_manager(folder),
            timeout=None,
            allow_errors=False,
            extra_arguments=[f"--IPKernelApp.exec_lines={note}"],
        )
        with client.setup_kernel(cleanup_kc=True, cwd=str(root), env=os.environ | ENVIRONMENT):
            try:
                for index, step in enumerate(steps):
                    _run_one(client, file, step, index)
                    progress(index + 1)
            except BaseException:
                client.shutdown_kernel = "immediate"  # a running cell is not worth waiting for
                raise
        reads = sorted(set(log.read_text(encoding="utf-8").splitlines()))
    return [[dict(output) for output in cell.outputs] for cell in notebook.cells], reads


def _notebook(steps: list[Step]) -> NotebookNode:
    cells = [
        {"cell_type": "code", "metadata": {}, "source": step.code, "outputs": []} for step in steps
    ]
    whole = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    notebook: NotebookNode = from_dict(whole)  # type: ignore[no-untyped-call]
    return notebook


def _manager(sockets: str) -> AsyncKernelManager:
    # No folder to search: "python3" is then the running interpreter, whatever a user has installed.
    specs = KernelSpecManager(kernel_dirs=[])
    manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=specs)
    if os.name == "posix":  # sockets in a private folder instead of open ports
        manager.transport, manager.ip = "ipc", str(Path(sockets, "kernel"))
    return manager


def _run_one(client: NotebookClient, file: str, step: Step, index: int) -> None:
    try:
        client.execute_cell(client.nb.cells[index], index)
    except CellExecutionError as error:
        raise BookError(_raised(file, step, index + 1, error)) from None
    except DeadKernelError:
        remedy = "the cell ended the Python process: look for a crash or for exit()"
        raise BookError(Problem(file, step.line, "the kernel died", remedy)) from None


def _raised(file: str, step: Step, count: int, error: CellExecutionError) -> Problem:
    """Name the line of the file on which the step's own code was when it raised."""
    traceback = re.sub(r"\x1b\[[0-9;]*m", "", error.traceback)
    own = re.findall(rf"Cell In\[{count}\], line (\d+)", traceback)
    line = step.line + int(own[0]) - 1 if own else step.line
    remedy = "correct the cell, or show the exception on purpose with try/except and print"
    return Problem(file, line, f"the cell raised {error.ename}: {error.evalue}", remedy)
