"""Run the cells of a notebook as a kernel would, without a kernel: IPython, and what it shows.

The shell is made once, in the warm parent; each student's process is a copy of it.
"""

from __future__ import annotations

import base64
import io
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

from shardwise_grading.limit import LateError, time_limit
from shardwise_grading.records import Output

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_OUTPUTS = 200
PICTURES = 3 << 20  # characters in base64, of all pictures of a cell


class Shown:
    r"""What one cell shows, up to a number of characters.

    Args:
        most: characters that are kept; the rest is dropped, and said to be.

    Example:
        >>> shown = Shown(most=5)
        >>> for text in ("he", "llo, ", "world"):
        ...     shown.add("stdout", text)
        >>> shown.outputs[0].text
        'hello\n[cut here: more than 5 characters]\n'
    """

    def __init__(self, most: int) -> None:
        """Start with nothing shown."""
        self._most = most
        self._left = most
        self._parts: list[tuple[Output, list[str]]] = []
        self._pictures_left = PICTURES
        self._full = False

    def add(self, kind: Any, text: str, **more: str) -> None:  # noqa: ANN401
        """Add an output; text that follows on the same stream continues the last one."""
        if self._full:
            return
        kept = text[: self._left]
        self._left -= len(kept)
        self._pictures_left -= len(more.get("png", ""))
        if self._pictures_left < 0:
            more["png"] = ""
        if len(kept) < len(text) or self._pictures_left < 0 or len(self._parts) >= MOST_OUTPUTS:
            self._full = True
            kept += f"\n[cut here: more than {self._most} characters]\n"
        streams = ("stdout", "stderr")
        if self._parts and self._parts[-1][0].kind == kind and kind in streams:
            self._parts[-1][1].append(kept)
        else:
            self._parts.append((Output(kind, "", **more), [kept]))

    @property
    def outputs(self) -> tuple[Output, ...]:
        """All that was added, in order."""
        return tuple(
            Output(output.kind, "".join(texts), output.png, output.name, output.value)
            for output, texts in self._parts
        )


class _Stream(io.TextIOBase):
    """Stands for stdout or stderr in all cells: a logger keeps the one that it was given."""

    def __init__(self, kind: str, shell: Shell) -> None:
        self._kind, self._shell = kind, shell

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._shell.shown.add(self._kind, str(text))
        return len(text)


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
        """Keep what was shown; a report has no screen to clear."""


class Shell(InteractiveShell):
    """An IPython without terminal, history or profile, whose outputs are kept."""

    displayhook_class = Type(_Results)
    display_pub_class = Type(_Displays)
    shown: Shown
    streams: tuple[io.TextIOBase, io.TextIOBase]

    def _showtraceback(self, etype: type, evalue: BaseException, stb: Any) -> None:  # noqa: ANN401
        text = stb if isinstance(stb, str) else self.InteractiveTB.stb2text(stb)
        self.shown.add("error", text, name=etype.__name__, value=_text(evalue))

    def enable_gui(self, gui: object = None) -> None:
        """Have no event loop: there is no screen."""


def make_shell() -> Shell:
    """Make the shell that cells run in."""
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.xmode = "Context"
    shell: Shell = Shell.instance(config=config)
    shell.streams = _Stream("stdout", shell), _Stream("stderr", shell)
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
    shown = Shown(most)
    shell.shown = shown
    with _streams(shell):
        try:
            with time_limit(seconds):
                result = shell.run_cell(source, store_history=True)  # type: ignore[no-untyped-call]
            failed = result.error_in_exec
            if isinstance(failed, SystemExit):
                shown.add("error", "SystemExit", name="SystemExit", value=_text(failed))
        except BaseException as error:
            late = isinstance(error, LateError)
            shown.add("error", _text(error), name=type(error).__name__, value=_text(error))
            if not late and isinstance(error, KeyboardInterrupt):
                raise
    return shown.outputs


@contextmanager
def _streams(shell: Shell) -> Iterator[None]:
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = shell.streams
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


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
