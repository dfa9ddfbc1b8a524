"""What runs the cells: a process that ends with them, so that every check starts afresh."""

from __future__ import annotations

import json
import os
import random
import sys
from typing import IO, TYPE_CHECKING, Any

from shardwise_grading.records import to_json
from shardwise_grading.student.cells import run_cell

if TYPE_CHECKING:
    from shardwise_grading.student.cells import Shell

MOST = 20_000  # characters that are kept of what a cell shows


def run(shell: Shell, lines: IO[bytes], to: IO[bytes]) -> None:
    """Read what is to run, and write what came of each cell.

    A cell that fails does not stop the others: the grader goes on as well.

    Args:
        shell: where the cells run; nothing ran in it before.
        lines: where the request comes from, a line of JSON.
        to: where a line goes when all is ready, and one for each cell.
    """
    request = json.loads(lines.readline())
    _settle(request["folder"])
    _send(to, {})
    for source in request["sources"]:
        outputs = run_cell(shell, source, request["seconds"], MOST)
        _send(to, {"outputs": to_json(outputs)})


def _settle(folder: str) -> None:
    """Be where a kernel would be: in the notebook's folder, with random numbers of one's own."""
    os.chdir(folder)
    sys.path[:] = ["", *(entry for entry in sys.path if entry)]
    os.environ |= {"SHARDWISE_CHECKING": "1", "MPLBACKEND": "agg"}
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()


def _send(to: IO[bytes], message: dict[str, Any]) -> None:
    to.write(json.dumps(message).encode() + b"\n")
    to.flush()
