"""The world that a solution runs in while it is checked.

A hidden check sees a student's code only through a `World`: it calls through it, gets plain data
back, and reads there which collectives the code used. `LocalWorld` shares the process with the
student; a world that lives across a process boundary offers the same methods.
"""

from __future__ import annotations

import random
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self

from shardwise_grading.data import ancestors, as_data, type_name
from shardwise_grading.interception import Function, intercepted
from shardwise_grading.limit import PATIENCE, LateError, time_limit
from shardwise_grading.lockdown import lockdown
from shardwise_grading.observation import Observation, Observer
from shardwise_grading.quiet import quiet
from shardwise_grading.results import show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType


# nbgrader gives a cell 30 s, and a loop without an end may fail each of its properties.
SECONDS = 3.0
# Names of errors whose message says what happened: no time was left, or no process.
ENDED = (LateError.__name__, "LostError")


@dataclass(frozen=True, slots=True)
class CollectiveCall:
    """One collective that a solution called.

    Args:
        name: the function, such as ``"ring_all_reduce"``.
        shapes: shape of each tensor that went in, one for each device.
        num_bytes: bytes of all of them together.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    num_bytes: int

    @classmethod
    def of(cls, path: str, tensors: Sequence[Any]) -> Self:
        """Note a call of the collective at a dotted path."""
        shapes = tuple(tuple(tensor.shape) for tensor in tensors)
        num_bytes = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        return cls(path.rpartition(".")[2], shapes, num_bytes)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one call of a student's function.

    Args:
        value: what it returned, as plain data.
        error: name of the exception's type, or empty when it returned.
        kinds: that name and those of the types it derives from.
        detail: the exception's message.
        collectives: the collectives it called, in order.
        observed: what it did to tensors beside that; nothing where it raised.
    """

    value: object = None
    error: str = ""
    kinds: tuple[str, ...] = ()
    detail: str = ""
    collectives: tuple[CollectiveCall, ...] = ()
    observed: Observation = field(default_factory=Observation)

    @property
    def failure(self) -> str:
        """What happened in place of a return, for a message; empty when it returned."""
        if self.error in ENDED:
            return self.detail
        return f"raised {self.error}: {self.detail}" if self.error else ""

    @property
    def deed(self) -> str:
        """What it did, for a message: what happened, or what it returned."""
        return self.failure if self.error else f"returned {show(self.value)}"

    def instead_of(self, error: str, call: str) -> str:
        """Say what a call did where it had to raise; empty when it raised that.

        Example:
            >>> Outcome(value=3).instead_of("ValueError", "f(0)")
            'f(0) returned 3; expected ValueError'
        """
        return "" if error in self.kinds else f"{call} {self.deed}; expected {error}"


class World(Protocol):
    """What a hidden check may ask for."""

    def random(self, label: str) -> random.Random:
        """Return a generator that depends on nothing but the course's seed and the label."""

    def call(self, function: Function, *args: object) -> Outcome:
        """Call the student's function on copies; whatever it does, an outcome comes back."""

    def answering(self, collective: str, function: Function) -> AbstractContextManager[None]:
        """Let a function of ours answer a collective inside the context."""


class AnyWorld:
    """What every world does alike: it draws from the seed, and lets checks answer collectives.

    Args:
        seed: decides the inputs that the checks draw.
        collectives: dotted paths of the collectives that the exercise hands to the solution.
    """

    def __init__(self, seed: str, collectives: Iterable[str]) -> None:
        """Have no answers of our own, and no calls yet."""
        self._seed = seed
        self._collectives = tuple(collectives)
        self._answers: dict[str, Function] = {}
        self._calls: list[CollectiveCall] = []

    def random(self, label: str) -> random.Random:
        """Return a generator that depends on nothing but the course's seed and the label."""
        return random.Random(f"{self._seed}/{label}")  # noqa: S311

    @contextmanager
    def answering(self, collective: str, function: Function) -> Iterator[None]:
        """Let a function of ours answer a collective inside the context.

        Raises:
            ValueError: the world was not made with that collective.
        """
        if collective not in self._collectives:
            known = ", ".join(self._collectives) or "none"
            raise ValueError(f"collective={collective!r} is not one of this world's: {known}")
        before = self._answers
        self._answers = {**before, collective: function}
        try:
            yield
        finally:
            self._answers = before


class LocalWorld(AnyWorld):
    """A world in the student's own process, for nbgrader's kernel and for tests.

    Use it as a context: inside, the locked functions raise, the collectives are recorded, and what
    the student's code prints goes nowhere.

    Args:
        seed: decides the inputs that the checks draw.
        locked: dotted paths of library functions that would solve the exercise.
        collectives: dotted paths of the collectives that the exercise hands to the solution.
        seconds: how long one call may compute, in seconds; it may wait `PATIENCE` times as long.

    Example:
        >>> with LocalWorld(seed="1") as world:
        ...     outcome = world.call(lambda psi, n: psi / n, 1, 0)
        >>> outcome.error, outcome.detail
        ('ZeroDivisionError', 'division by zero')
    """

    def __init__(
        self,
        seed: str,
        locked: Iterable[str] = (),
        collectives: Iterable[str] = (),
        seconds: float = SECONDS,
    ) -> None:
        """Make a world; nothing is locked or recorded before it is entered."""
        super().__init__(seed, collectives)
        self._locked = tuple(locked)
        self._seconds = seconds
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Lock, record and silence."""
        with ExitStack() as stack:
            stack.enter_context(lockdown(self._locked))
            for path in self._collectives:
                stack.enter_context(intercepted(path, self._recorder(path)))
            stack.enter_context(quiet())
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give everything back."""
        self._stack.close()

    def call(self, function: Function, *args: object) -> Outcome:
        """Call the student's function on copies; whatever it does, an outcome comes back.

        Only an interrupt passes through: nbgrader sends one when the cell's time is over.
        """
        self._calls.clear()
        try:
            with time_limit(self._seconds, PATIENCE):
                return self._call(function, *args)
        except LateError as error:
            name = LateError.__name__
            return Outcome(None, name, (name,), str(error), tuple(self._calls))

    def _call(self, function: Function, *args: object) -> Outcome:
        observer = Observer(args)
        try:
            with observer.watching():
                value = as_data(function(*observer.given))
            observed = observer.seen(value)
        except (KeyboardInterrupt, LateError):
            raise
        except BaseException as error:  # noqa: BLE001
            kinds = tuple(type_name(kind) for kind in ancestors(type(error)))
            return Outcome(None, kinds[0], kinds, _text(error), tuple(self._calls))
        return Outcome(value=value, collectives=tuple(self._calls), observed=observed)

    def _recorder(self, path: str) -> Callable[[Function], Function]:
        def make(original: Function) -> Function:
            def record(tensors: Any, *args: object, **kwargs: object) -> Any:  # noqa: ANN401
                self._calls.append(CollectiveCall.of(path, tensors))
                return self._answers.get(path, original)(tensors, *args, **kwargs)

            return record

        return make


def _text(error: BaseException) -> str:
    """The message of an exception, whose ``__str__`` may be the student's own."""
    try:
        text = " ".join(str.split(str(error)))[:300]
    except (KeyboardInterrupt, LateError):
        raise
    except BaseException:  # noqa: BLE001
        return ""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # half a character can't travel
