"""Run the cells of a notebook as a kernel would, without a kernel: IPython, and what it shows.

The shell is made once, in the warm parent; each student's process is a copy of it.
"""

from __future__ import annotations

import base64
import builtins
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn
from unittest import mock

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.error import StdinNotImplementedError
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

from shardwise_grading.limit import LateError, time_limit
from shardwise_grading.student.shown import Shown, Stream

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shardwise_grading.records import Output
    from shardwise_grading.student.raw_output import RawOutput

PACKAGE = "/shardwise_grading/"
LATE = TimeoutError.__name__  # what students know; our own name means nothing to them


class _Results(DisplayHook):
    """Keeps the value of a cell's last line instead of printing it."""

    def write_output_prompt(self) -> None:
        """Write no ``Out[1]:``."""

    def write_format_data(self, format_dict: Mapping[str, Any], md_dict: object = None) -> None:  # noqa: ARG002
        """Keep what is to be shown."""
        _show(self.shell, "result", format_dict)

    def finish_displayhook(self) -> None:
        """Leave the stream as it is."""


class _Displays(DisplayPublisher):
    """Keeps what ``display`` shows."""

    def publish(self, data: Mapping[str, Any], *_: object, **__: object) -> None:
        """Keep what is to be shown."""
        _show(self.shell, "display", data)

    def clear_output(self, wait: bool = False) -> None:
        """Drop what the cell showed so far, as a notebook does."""
        self.shell.shown.clear(wait=wait)


class Shell(InteractiveShell):
    """An IPython without terminal, history or profile, whose outputs are kept."""

    displayhook_class = Type(_Results)
    display_pub_class = Type(_Displays)
    shown: Shown
    streams: tuple[Stream, Stream]
    raw: RawOutput | None = None

    def _showtraceback(self, etype: type, evalue: BaseException, stb: Any) -> None:  # noqa: ANN401
        parts = [stb] if isinstance(stb, str) else [part for part in stb if not _is_ours(part)]
        text, name = self.InteractiveTB.stb2text(parts), etype.__name__
        if isinstance(evalue, LateError):
            name = LATE
            text = text.replace(LateError.__name__, name)
        self.shown.add("error", text, name=name, value=_text(evalue))

    def showtraceback(self, *args: Any, **named: Any) -> None:  # noqa: ANN401
        """Show an error; where it is that the time is over, no further alarm cuts that short."""
        if isinstance(sys.exc_info()[1], LateError):
            signal.setitimer(signal.ITIMER_REAL, 0)
        super().showtraceback(*args, **named)

    def enable_gui(self, gui: object = None) -> None:
        """Have no event loop: there is no screen."""

    def ask_exit(self) -> NoReturn:
        """End the cell that calls ``exit()``; it would take a kernel, and all later cells, along.

        Raises:
            SystemExit: always.
        """
        raise SystemExit

    def system(self, cmd: str) -> None:
        """Run a ``!`` line: without a terminal, of which a sandbox has none.

        Raises:
            OSError: it is to run in the background; a kernel refuses that as well.
        """
        command = self.var_expand(cmd, depth=1)  # type: ignore[no-untyped-call]
        if command.rstrip().endswith("&"):
            raise OSError("Background processes not supported.")
        pipes: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
        with subprocess.Popen(
            ["sh", "-c", command], stderr=subprocess.STDOUT, text=True, errors="replace", **pipes
        ) as process:
            try:
                while text := process.stdout.read(4096):  # type: ignore[union-attr]
                    sys.stdout.write(text)
            except BaseException:
                process.kill()
                raise
        self.user_ns["_exit_code"] = process.returncode


def make_shell() -> Shell:
    """Make the shell that cells run in."""
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.xmode = "Context"
    shell: Shell = Shell.instance(config=config)
    shell.streams = Stream("stdout"), Stream("stderr")
    return shell


def run_cell(shell: Shell, source: str, seconds: float, most: int) -> tuple[Output, ...]:
    """Run a cell and return what it showed.

    Whatever the cell does to the streams lasts until its end. A cell whose time is over is
    interrupted where it is; one that can't be interrupted has to be ended from outside.

    Args:
        shell: what `make_shell` returned.
        source: the cell.
        seconds: how long it may take.
        most: characters of output that are kept.
    """
    shown = shell.shown = Shown(most)
    with _streams(shell):
        try:
            with time_limit(seconds):
                shell.run_cell(source, store_history=True)  # type: ignore[no-untyped-call]
        except BaseException as error:
            name = LATE if isinstance(error, LateError) else type(error).__name__
            shown.add("error", _text(error), name=name, value=_text(error))
            if isinstance(error, KeyboardInterrupt):
                raise
    if shell.raw:
        shell.raw.move_to(shown, most)
    return shown.outputs


@contextmanager
def _streams(shell: Shell) -> Iterator[None]:
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = shell.streams
    for stream in shell.streams:
        stream.lead_to(shell.shown)
    try:
        with mock.patch.object(builtins, "input", _no_input):
            yield
    finally:
        sys.stdout, sys.stderr = before


def _no_input(*_: object) -> NoReturn:
    """Answer as a kernel without a person does."""
    raise StdinNotImplementedError("nobody is there to answer: a graded notebook can't use input()")


def _is_ours(frame: str) -> bool:
    """Whether a part of a traceback shows code of the grader, which helps nobody."""
    return frame.startswith("File ") and PACKAGE in frame.partition("\n")[0]


def _show(shell: Any, kind: str, data: Mapping[str, Any]) -> None:  # noqa: ANN401
    text = data.get("text/plain", "")
    png = data.get("image/png", "")
    if isinstance(png, bytes):
        png = base64.b64encode(png).decode("ascii")
    text, png = (value if isinstance(value, str) else "" for value in (text, png))
    shell.shown.add(kind, text, png=png)


def _text(error: BaseException) -> str:
    """The message of an error, whose ``__str__`` may be the student's own."""
    try:
        return " ".join(str.split(str(error)))[:300]
    except BaseException:  # noqa: BLE001
        return ""
