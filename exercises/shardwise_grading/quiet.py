"""Keep a student's output out of a hidden cell: nbgrader gives 0 points for any line on stderr."""

from __future__ import annotations

import contextlib
import os
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def quiet() -> Iterator[None]:
    """Send everything that is written to stdout and stderr to nowhere, inside the context."""
    with ExitStack() as stack:
        sink = stack.enter_context(Path(os.devnull).open("w", encoding="utf-8"))
        for stream in (sys.stdout, sys.stderr):
            # A logging handler made earlier holds the stream itself, not the name sys.stderr.
            with contextlib.suppress(AttributeError):
                stack.enter_context(mock.patch.object(stream, "write", sink.write))
        stack.enter_context(contextlib.redirect_stdout(sink))
        stack.enter_context(contextlib.redirect_stderr(sink))
        # A notebook kernel also listens to what C code writes to the descriptors.
        for descriptor in (1, 2):
            stack.enter_context(_descriptor(descriptor, sink.fileno()))
        yield


@contextmanager
def _descriptor(descriptor: int, target: int) -> Iterator[None]:
    saved = os.dup(descriptor)
    try:
        os.dup2(target, descriptor)
        yield
    finally:
        os.dup2(saved, descriptor)
        os.close(saved)
