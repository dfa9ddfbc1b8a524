"""Keep a student's output out of a hidden cell: nbgrader gives 0 points for any line on stderr."""

from __future__ import annotations

import contextlib
import os
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

if TYPE_CHECKING:
    from collections.abc import Iterator


def own_streams() -> None:
    """In a notebook kernel, go back to its own streams; a student may have put None in place."""
    kernel = _kernel()
    if kernel is not None:
        sys.stdout, sys.stderr = kernel._stdout, kernel._stderr  # noqa: SLF001
        for stream in (sys.stdout, sys.stderr):
            stream.set_parent(kernel.get_parent())


def drop_stderr() -> None:
    """In a notebook kernel, show nothing from stderr for the rest of its life.

    A thread of a student may write there after the checks, when the hidden cell has not ended.
    """
    kernel = _kernel()
    if kernel is not None:
        # A property, because IPython sets `write` on the stream before and after every cell. Not
        # the descriptor: the kernel reads it, and waits for its own last word there when it ends.
        write = property(lambda _: len, lambda *_: None, lambda _: None)
        stream = kernel._stderr  # noqa: SLF001
        stream.__class__ = type("Dropped", (type(stream),), {"write": write})


def _kernel() -> Any:  # noqa: ANN401
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None)


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
