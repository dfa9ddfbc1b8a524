"""End a call of a student's function that does not end by itself."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

AGAIN = 0.25
PATIENCE = 4.0


class LateError(BaseException):
    """The time for a call is over; no Exception, so that few handlers of a student catch it."""


@contextmanager
def time_limit(seconds: float, patience: float = 1.0) -> Iterator[None]:
    """Raise `LateError` in the code inside the context when its time is over.

    It is raised again every quarter of a second, for code that catches everything. The alarms of
    the process are used, so there is no limit outside the main thread or where there are none.

    Args:
        seconds: how long it may take.
        patience: where it is above 1, `seconds` are those that this process computes, so that a
            busy machine takes none away; by the wall clock, so many times as long may pass.

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

    alarms = [(signal.ITIMER_REAL, signal.SIGALRM, patience * seconds)]
    if patience > 1:
        alarms.append((signal.ITIMER_PROF, signal.SIGPROF, seconds))
    earlier = [
        (timer, number, signal.signal(number, stop), signal.setitimer(timer, time, AGAIN))
        for timer, number, time in alarms
    ]
    try:
        yield
    finally:
        try:
            _silence(alarms)
        finally:  # an alarm right before that line would skip it; the next is a while away
            _silence(alarms)
            for timer, number, handler, times in earlier:
                signal.signal(number, handler)
                signal.setitimer(timer, *times)


def _silence(alarms: list[tuple[int, signal.Signals, float]]) -> None:
    for timer, _, _ in alarms:
        signal.setitimer(timer, 0)
