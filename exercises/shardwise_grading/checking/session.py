"""A notebook that runs cell by cell, and goes on after a cell or a call that ended the process."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Self

from shardwise_grading.checking.outputs import Outputs
from shardwise_grading.checking.student import LostError, soon
from shardwise_grading.limit import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shardwise_grading.checking.limits import GradingLimits
    from shardwise_grading.checking.student import Student
    from shardwise_grading.checking.warm_parent import WarmParent
    from shardwise_grading.records import Output
    from shardwise_grading.student.wire import Message

PLACING = 30.0  # seconds to write a file that lies beside the notebook
GRACE = 1.0  # seconds for a reply after the student's own clock should have stopped it
STARTS = 4  # processes that may be lost before one more hidden cell has its turn


class Session:
    """The cells of one notebook in one process after the other.

    A cell that ends its process is left out when the next process runs the cells before it again:
    it costs what it defines, and nothing else.

    Args:
        parent: where processes come from.
        limits: what the notebook may take.
        beside: files that lie beside the notebook, by their paths from there.
    """

    def __init__(
        self, parent: WarmParent, limits: GradingLimits, beside: Mapping[str, bytes] | None = None
    ) -> None:
        """Start no process yet."""
        self._beside = beside or {}
        self._parent = parent
        self._limits = limits
        self._student: Student | None = None
        self._starts = 0
        self._starts_left = STARTS
        self._outputs = Outputs(limits.output)
        self._ran: list[str] = []
        self._over = math.inf  # until the first process is there: torch may have to be imported
        self.forged = ""

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.end()

    def run(self, source: str) -> tuple[tuple[Output, ...], float]:
        """Run a cell.

        Returns:
            What it showed, and how long it took in seconds.

        Raises:
            LostError: it ended its process, or the time for the notebook is over.
        """
        self._alive()
        started = time.monotonic()
        reply = self._run(source)
        try:
            outputs = self._outputs.read(reply.get("outputs"))
        except LostError as lost:
            raise self._lose(lost) from lost
        self._ran.append(source)
        return outputs, time.monotonic() - started

    def ask(
        self,
        request: Message,
        seconds: float,
        buffers: bytes = b"",
        answering: Callable[[Message, bytes], tuple[Message, bytes]] | None = None,
    ) -> tuple[Message, bytes]:
        """Ask the process that has run all cells so far, starting it where it is gone.

        Args:
            request: what to do.
            seconds: how long it may compute; it may wait `PATIENCE` times as long.
            buffers: bytes that belong to the request.
            answering: answers what the process asks for in between.

        Raises:
            LostError: there is no reply, and the process is gone.
        """
        student = self._alive()
        deadline = self._until(PATIENCE * seconds)
        try:
            return student.ask(request, deadline, buffers, answering, computing=seconds + GRACE)
        except LostError as lost:
            raise self._lose(lost) from lost
        except BaseException:  # out of step: it may still wait for an answer
            self.end()
            raise

    def end(self) -> None:
        """End the process."""
        if self._student:
            self._student.close()
            self._student = None

    @property
    def cell_seconds(self) -> float:
        """How long a cell may run, in seconds."""
        return self._limits.cell_seconds

    @property
    def is_alive(self) -> bool:
        """Whether there is a process."""
        return self._student is not None

    @property
    def starts(self) -> int:
        """How many processes were started: one that has gone tells by a higher number."""
        return self._starts

    def refill(self) -> None:
        """Let as many processes be lost as at the start: what comes is judged for itself."""
        self._starts_left = STARTS

    def revive(self) -> None:
        """Have a process that has run all cells so far.

        Raises:
            LostError: none can be had any more.
        """
        self._alive()

    def _alive(self) -> Student:
        if self._student:
            return self._student
        if not self._starts_left:
            raise LostError(f"was not tried again: {STARTS} processes were lost before")
        if time.monotonic() > self._over:
            raise LostError(self._all_in_all)
        self._starts += 1
        self._starts_left -= 1
        self._student = self._parent.student()
        self._over = min(self._over, soon(self._limits.notebook_seconds))
        for path, content in self._beside.items():
            self._ask_for({"do": "place", "path": path}, PLACING, content)
        for source in tuple(self._ran):
            self._run(source)
        return self._student

    def _run(self, source: str) -> Message:
        limits = self._limits
        request = {
            "do": "run",
            "source": source,
            "seconds": limits.cell_seconds,
            "most": limits.output,
        }
        return self._ask_for(request, limits.cell_seconds)

    def _ask_for(self, request: Message, seconds: float, buffers: bytes = b"") -> Message:
        """Ask the process that is there."""
        if not self._student:
            raise LostError("has no process")
        try:
            return self._student.ask(request, self._until(seconds), buffers)[0]
        except LostError as lost:
            raise self._lose(lost) from lost

    @property
    def _all_in_all(self) -> str:
        return f"took more than {self._limits.notebook_seconds:g} s in all"

    def _until(self, seconds: float) -> float:
        return min(soon(seconds + GRACE), self._over + GRACE)

    def accuse(self, what: str) -> str:
        """End a process that sent what none sends by itself, and return what is said of it."""
        self._lose(LostError(f"sent the grader {what}", forged=True))
        return self.forged

    def _lose(self, lost: LostError) -> LostError:
        """End the process, and return why it is lost."""
        self.end()
        if lost.forged:
            self.forged = lost.reason
        elif time.monotonic() > self._over:
            return LostError(self._all_in_all)
        return lost
