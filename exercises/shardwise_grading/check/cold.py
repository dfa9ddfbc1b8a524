"""Run one check in a process that was started for it: where there is no warm one."""

from __future__ import annotations

import os

from shardwise_grading.check.student import run
from shardwise_grading.student.cells import make_shell


def main() -> None:
    """Read a request from stdin, and answer on stdout, which no cell gets hold of."""
    lines, to = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    run(make_shell(), lines, to)
    os._exit(0)  # threads that a cell left behind have nothing to say


if __name__ == "__main__":
    main()
