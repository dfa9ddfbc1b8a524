"""What runs in a worker besides the grading itself."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from shardwise_grading.checking.work import Work
    from shardwise_grading.records import SubmissionRecord

EVERY_SECONDS = 0.5

T = TypeVar("T")
R = TypeVar("R")

# Workers of dask may run several threads; grading changes what a whole process shares.
_one_at_a_time = threading.Lock()


@dataclass(frozen=True, slots=True)
class Answer(Generic[R]):
    """What came of one unit of work.

    Args:
        key: which unit.
        value: the result; None where there is none.
        error: why there is none; empty where there is.
    """

    key: str
    value: R | None
    error: str = ""


def end_with(main: int) -> None:
    """End this process, and at once, when the process that started it is gone.

    It goes on ignoring Ctrl-C, and what it starts does not.

    Args:
        main: the id of that process.
    """
    signal.signal(signal.SIGINT, lambda *_: None)

    def watch() -> None:
        while os.getppid() == main:
            time.sleep(EVERY_SECONDS)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def whereabouts() -> str:
    """Name this process among those of all machines."""
    return f"{socket.gethostname()} {os.getpid()}"


def attempt(function: Callable[[T], R], key: str, argument: T, main: str) -> Answer[R]:
    """Call a function, and turn an error into an answer.

    Args:
        function: what to call.
        key: the name of this unit of work.
        argument: what to call it with.
        main: the `whereabouts` of the process that no unit may run in, whatever joblib prefers.
    """
    with _one_at_a_time:
        try:
            if whereabouts() == main:
                raise RuntimeError("there is no other process to grade it in")  # noqa: TRY301
            return Answer(key, function(argument))
        except Exception as error:  # noqa: BLE001  (one unit's fault is no other's)
            return Answer(key, None, f"{type(error).__name__}: {error}")


def grade(work: Work) -> SubmissionRecord:
    """Grade one submission; torch is imported where this runs, and nowhere else."""
    from shardwise_grading.checking.grade import grade_submission  # noqa: PLC0415

    return grade_submission(work)


def find_protection(_: object) -> str:
    """Return the name of what keeps students' code in on this machine.

    Raises:
        ProtectionError: nothing does; the message names the remedy.
    """
    from shardwise_grading import sandbox  # noqa: PLC0415

    return sandbox.best()
