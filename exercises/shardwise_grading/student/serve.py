"""What a student's process does: run cells and call functions, as the checking process asks.

Everything here shares the process with the student's code and can be changed by it. Nothing that
it says is believed further than plain data can be: see `shardwise_grading.student.values`.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shardwise_grading.data import as_data
from shardwise_grading.records import to_json
from shardwise_grading.student.cells import run_cell
from shardwise_grading.student.raw_output import RawOutput
from shardwise_grading.student.values import Encoder, decode
from shardwise_grading.student.wire import Channel, ClosedError, Message
from shardwise_grading.world import LocalWorld, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shardwise_grading.student.cells import Shell

ERRORS = {"ValueError": ValueError, "TypeError": TypeError, "RuntimeError": RuntimeError}


class Server:
    """Answers one request after the other until the other end closes.

    Args:
        channel: the connection to the checking process.
        shell: where the student's cells run.
    """

    def __init__(self, channel: Channel, shell: Shell) -> None:
        """Have a shell and no world."""
        self._channel = channel
        self._shell = shell
        self._world: LocalWorld | None = None
        self._stack = ExitStack()
        self._process = os.getpid()

    def serve(self) -> None:
        """Answer until the other end is gone."""
        deeds: dict[str, Callable[[Message, bytes], None]] = {
            "place": self._place,
            "run": self._run,
            "find": self._find,
            "enter": self._enter,
            "call": self._call,
            "leave": self._leave,
        }
        try:
            while True:
                request, buffers = self._channel.receive()
                deeds[request["do"]](request, buffers)
        except ClosedError:
            return

    def _place(self, request: Message, content: bytes) -> None:
        """Put a file into the folder that cells run in, where there is room for it."""
        with suppress(OSError):
            path = Path(request["path"])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self._reply(request, {})

    def _run(self, request: Message, _: bytes) -> None:
        outputs = run_cell(self._shell, request["source"], request["seconds"], request["most"])
        self._reply(request, {"outputs": to_json(outputs)})

    def _find(self, request: Message, _: bytes) -> None:
        """Say whether a name is a function, and if not which data it holds."""
        names = self._shell.user_ns
        found = names.get(request["name"])
        encoder = Encoder()
        value = None if callable(found) else encoder.encode(as_data(found))
        reply = {"defined": request["name"] in names, "callable": callable(found), "value": value}
        self._reply(request, reply, encoder.buffers)

    def _enter(self, request: Message, _: bytes) -> None:
        """Lock what would answer for the student, and have the collectives asked for."""
        self._world = LocalWorld(
            "", request["locked"], request["collectives"], seconds=request["seconds"]
        )
        self._stack.enter_context(self._world)
        for path in request["collectives"]:
            self._stack.enter_context(self._world.answering(path, self._asking(path)))
        self._reply(request, {})

    def _leave(self, request: Message, _: bytes) -> None:
        self._stack.close()
        self._world = None
        self._reply(request, {})

    def _call(self, request: Message, buffers: bytes) -> None:
        if self._world is None:
            raise RuntimeError("a call outside a world")
        function = self._shell.user_ns[request["name"]]
        try:
            outcome = self._world.call(function, *decode(request["args"], buffers, layouts=True))
        except KeyboardInterrupt as error:  # the student's own: nobody else sends one
            outcome = Outcome(None, type(error).__name__, (type(error).__name__, "BaseException"))
        encoder = Encoder()
        reply = _outcome(outcome, encoder)
        self._reply(request, reply, encoder.buffers)

    def _asking(self, path: str) -> Callable[..., object]:
        """Make a collective that the checking process answers."""

        def ask(tensors: Any, *_: object, **__: object) -> Any:  # noqa: ANN401
            encoder = Encoder()
            content = {"collective": path, "tensors": encoder.encode(as_data(list(tensors)))}
            with self._undisturbed():
                self._channel.send(content, encoder.buffers)
                answer, buffers = self._channel.receive()
            if "error" in answer:
                raise ERRORS.get(answer["error"], RuntimeError)(answer["detail"])
            return decode(answer["value"], buffers)

        return ask

    def _reply(self, request: Message, content: Message, buffers: bytes = b"") -> None:
        with self._undisturbed():
            self._channel.send({"id": request["id"]} | content, buffers)

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        """Let no alarm cut a message in two, and no fork of the student's speak for it."""
        if os.getpid() != self._process:
            os._exit(0)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGPROF})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start(channel: Channel, shell: Shell) -> None:
    """Make a fork of the warm parent alike for every student, and serve."""
    import torch  # noqa: PLC0415

    random.seed(0)
    torch.manual_seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    # Beside settings and caches of libraries, as a notebook lies in a folder of its own.
    folder = Path.home() / "notebook"
    folder.mkdir()
    os.chdir(folder)
    sys.path.insert(0, "")  # as in a kernel, whose modules may lie beside the notebook
    shell.raw = RawOutput()
    Server(channel, shell).serve()


def _outcome(outcome: Outcome, encoder: Encoder) -> Message:
    observed = outcome.observed
    return {
        "value": encoder.encode(outcome.value),
        "error": outcome.error,
        "kinds": list(outcome.kinds),
        "detail": outcome.detail,
        "changed": list(observed.changed),
        "shared": [list(pair) for pair in observed.shared],
        "product_rows": observed.product_rows,
    }
