"""Stretches of work that Ctrl-C waits for, and processes that never hear it."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait until the end of a ``with`` block, which the main thread must run."""
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if heard:
        signal.raise_signal(signal.SIGINT)


@contextmanager
def deaf_children() -> Iterator[None]:
    """Let processes that are started in a ``with`` block ignore Ctrl-C, as this one does for then.

    What a terminal sends to a whole group of processes is the affair of the one that will stop
    the others. They inherit no less than that the signal is ignored: joblib lifts a mask.
    """
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
