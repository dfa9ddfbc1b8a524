"""The world of a solution that lives in another process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shardwise_grading.checking.student import LostError
from shardwise_grading.checking.texts import line
from shardwise_grading.data import as_data
from shardwise_grading.interception import Function, find
from shardwise_grading.limit import LateError
from shardwise_grading.observation import Observation
from shardwise_grading.results import show
from shardwise_grading.student.values import Encoder, decode
from shardwise_grading.student.wire import LONGEST_BUFFERS, WireError
from shardwise_grading.world import SECONDS, AnyWorld, CollectiveCall, Outcome

if TYPE_CHECKING:
    from types import ModuleType

    from shardwise_grading.checking.session import Session
    from shardwise_grading.student.wire import Message

MOST_COLLECTIVES = 1000  # in one call
MOST_DEVICES = 128
MOST_TEXTS = 100
LATE = LateError.__name__
LOST = LostError.__name__


@dataclass(frozen=True, slots=True)
class Stub:
    """Stands for a function of the student's, which only `RemoteWorld.call` can call.

    Args:
        name: the student's name for it.
        missing: why there is none, or empty.
    """

    name: str
    missing: str = ""

    def __call__(self, *_: object) -> None:
        """Refuse: a check that calls a solution itself would run it nowhere."""
        raise TypeError(f"{self.name} is the student's; call it through the world")

    def __repr__(self) -> str:
        """Say what it is, for a message."""
        return f"nothing: {self.missing}" if self.missing else f"the function {self.name}"


class RemoteWorld(AnyWorld):
    """Calls a student's function in its own process, and answers the collectives it calls.

    What a function returned is plain data that arrived as bytes, and which collectives were called
    with what is known here and not told; only `Outcome.observed` is what the other process says.

    Args:
        session: the notebook that runs there.
        module: the hidden checks: what they lock, which collectives they hand out, their time.
        seed: decides the inputs that the checks draw.
    """

    def __init__(self, session: Session, module: ModuleType, seed: str) -> None:
        """Make a world; the process is told of it with the first call."""
        super().__init__(seed, getattr(module, "COLLECTIVES", ()))
        self._session = session
        self._locked = tuple(module.LOCKED)
        self._seconds = float(getattr(module, "SECONDS", SECONDS))
        self._originals = {path: find(path) for path in self._collectives}
        self._entered = 0
        self.late = 0  # calls that did not return in time

    def solution(self, name: str, instead: str = "") -> object:
        """Return a stub for a student's function, or the data that the name holds.

        Args:
            name: the student's name for it.
            instead: a name that the student may have written in its place, or nothing.
        """
        request = {"do": "find", "name": name}
        try:
            reply, buffers = self._session.ask(request, self._seconds)
            if not reply.get("defined"):
                hint = f"; your cell defines {instead}" if instead else ""
                return Stub(name, f"{name} is not defined{hint}")
            return Stub(name) if reply.get("callable") else decode(reply.get("value"), buffers)
        except LostError as lost:
            return Stub(name, f"the notebook {lost.reason}")
        except WireError:
            return Stub(name, f"the notebook {self._session.accuse('a value that is none')}")

    def call(self, function: Function, *args: object) -> Outcome:
        """Call the student's function on copies; whatever it does, an outcome comes back."""
        self._calls = []
        if not isinstance(function, Stub):
            text = f"{show(as_data(function))} is no function"
            return Outcome(None, "TypeError", ("TypeError",), text)
        if function.missing:
            return Outcome(None, "NameError", ("NameError",), function.missing)
        encoder = Encoder(layouts=True)
        request = {"do": "call", "name": function.name, "args": encoder.encode(list(args))}
        try:
            self._enter()
            reply, buffers = self._session.ask(
                request, self._seconds, encoder.buffers, self._answer
            )
            outcome = self._outcome(reply, buffers)
        except LostError as lost:
            text = f"did not return within {self._seconds:g} s" if lost.late else lost.reason
            error = LATE if lost.late else LOST
            outcome = Outcome(None, error, (error,), text, tuple(self._calls))
        self.late += outcome.error == LATE
        return outcome

    def leave(self) -> None:
        """Unlock what was locked, so that later cells run as they would without checks."""
        if self._entered == self._session.starts and self._session.is_alive:
            self._session.ask({"do": "leave"}, self._seconds)
        self._entered = 0

    def _enter(self) -> None:
        """Lock and record in the process, which may be another one than at the last call."""
        self._session.revive()
        if self._entered == self._session.starts:
            return
        request = {
            "do": "enter",
            "locked": self._locked,
            "collectives": self._collectives,
            "seconds": self._seconds,
        }
        self._session.ask(request, self._seconds)
        self._entered = self._session.starts

    def _answer(self, asked: Message, buffers: bytes) -> tuple[Message, bytes]:
        """Answer a collective, and keep what was asked."""
        path = asked["collective"]
        if path not in self._collectives:
            raise WireError("a collective that it was not given")
        if len(self._calls) >= MOST_COLLECTIVES:
            raise LostError(f"called more than {MOST_COLLECTIVES} collectives")
        tensors = decode(asked.get("tensors"), buffers)
        try:
            value = self._reduced(path, tensors)
        except Exception as error:  # noqa: BLE001  (what a collective refuses, the student gets)
            return {"error": type(error).__name__, "detail": str(error)[:300]}, b""
        return value

    def _reduced(self, path: str, tensors: list[Any]) -> tuple[Message, bytes]:
        if len(tensors) > MOST_DEVICES:
            raise ValueError(f"{len(tensors)} tensors are too many; give at most {MOST_DEVICES}")
        call = CollectiveCall.of(path, tensors)
        if call.num_bytes > LONGEST_BUFFERS // 8:  # a sum of bytes is one of 64-bit integers
            raise ValueError(f"{call.num_bytes} bytes are too many for an exercise")
        self._calls.append(call)
        value = self._answers.get(path, self._originals[path])(tensors)
        encoder = Encoder()
        return {"value": encoder.encode(value)}, encoder.buffers

    def _outcome(self, reply: Message, buffers: bytes) -> Outcome:
        """Believe of a reply what has the right form."""
        try:
            observed = Observation(
                tuple(_texts(reply["changed"])),
                tuple((one, other) for one, other in map(_texts, reply["shared"])),
                _count(reply["product_rows"]),
            )
            kinds = tuple(_texts(reply["kinds"]))
            error, detail = _texts([reply["error"], reply["detail"]])
            value = decode(reply["value"], buffers)
        except (KeyError, TypeError, ValueError, WireError) as error_:
            reason = self._session.accuse("an outcome that is none")
            raise LostError(reason, forged=True) from error_
        return Outcome(value, error, kinds, detail, tuple(self._calls), observed)


def _texts(content: Any) -> list[str]:  # noqa: ANN401
    if type(content) is not list or any(type(text) is not str for text in content):
        raise TypeError("no list of texts")
    return list(map(line, content[:MOST_TEXTS]))


def _count(content: Any) -> int:  # noqa: ANN401
    if type(content) is not int or content < 0:
        raise TypeError("no count")
    return content
