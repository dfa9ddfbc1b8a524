"""What the cells of a notebook show, kept up to a size."""

from __future__ import annotations

import io
import os
from typing import Any

from shardwise_grading.records import Output

MOST_OUTPUTS = 200
PICTURES = 3 << 20  # characters in base64, of all pictures of a cell
STREAMS = ("stdout", "stderr")


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
        self._full = self._clearing = False
        self._empty()

    def add(self, kind: Any, text: str, **more: str) -> None:  # noqa: ANN401
        """Add an output; text that follows on the same stream continues the last one."""
        if self._clearing:
            self._empty()
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
        if self._parts and self._parts[-1][0].kind == kind and kind in STREAMS:
            self._parts[-1][1].append(kept)
        else:
            self._parts.append((Output(kind, "", **more), [kept]))

    def clear(self, *, wait: bool) -> None:
        """Drop what was shown, now or when something new comes."""
        if wait:
            self._clearing = True
        else:
            self._empty()

    @property
    def outputs(self) -> tuple[Output, ...]:
        """All that was added, in order."""
        return tuple(
            Output(output.kind, "".join(texts), output.png, output.name, output.value)
            for output, texts in self._parts
        )

    def _empty(self) -> None:
        self._left = self._most
        self._parts: list[tuple[Output, list[str]]] = []
        self._pictures_left = PICTURES
        self._full = self._clearing = False


class Stream(io.TextIOBase):
    """Stands for stdout or stderr in all cells: a logger keeps the one that it was given.

    Args:
        kind: which of the two.
    """

    encoding = "UTF-8"
    errors = "strict"

    def __init__(self, kind: str) -> None:
        """Show nothing before `lead_to` says where."""
        self._kind = kind
        self.lead_to(Shown(0))

    def lead_to(self, shown: Shown) -> None:
        """Show what this process writes there; a fork of it is another process."""
        self._shown, self._process = shown, os.getpid()

    def fileno(self) -> int:
        """Return the descriptor that C code writes to."""
        return 1 + STREAMS.index(self._kind)

    def writable(self) -> bool:
        """Say yes."""
        return True

    def write(self, text: str) -> int:
        """Keep a text; from a fork of the process, send it where `RawOutput` finds it."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if os.getpid() == self._process:
            self._shown.add(self._kind, str(text))
        else:
            os.write(self.fileno(), text.encode("utf-8", "backslashreplace"))
        return len(text)
