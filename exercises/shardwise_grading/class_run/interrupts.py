"""Stretches of work that Ctrl-C waits for."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait until the end of a ``with`` block, which the main thread must run.

    A process that is started in it never hears Ctrl-C at all: what a terminal sends to a whole
    group of processes is then the affair of the one that will stop the others.
    """
    heard: list[int] = []
    # The handler: another thread may get the signal. The mask: processes inherit it.
    handler = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
    if heard:
        signal.raise_signal(signal.SIGINT)
