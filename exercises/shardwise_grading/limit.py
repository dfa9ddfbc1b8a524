"""End a call of a student's function that does not end by itself."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

AGAIN = 0.25


class LateError(BaseException):
    """The time for a call is over; no Exception, so that few handlers of a student catch it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `LateError` in the code inside the context when its time is over.

    It is raised again every quarter of a second, for code that catches everything. The alarm of
    the process is used, so there is no limit outside the main thread or where there is no alarm.

    Example:
        >>> with time_limit(0.01):
        ...     while True:
        ...         pass
        Traceback (most recent call last):
        shardwise_grading.limit.LateError: did not return within 0.01 s
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> NoReturn:
        raise LateError(f"did not return within {seconds:g} s")

    handler = signal.signal(signal.SIGALRM, stop)
    earlier = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield
    finally:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
        finally:  # an alarm right before that line would skip it; the next is a while away
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)
            signal.setitimer(signal.ITIMER_REAL, *earlier)
