"""What cells showed, as far as it is believed: text and pictures, each up to a size."""

from __future__ import annotations

import re
from typing import Any

from shardwise_grading.checking.student import LostError
from shardwise_grading.checking.texts import block, line
from shardwise_grading.records import Output

KINDS = ("stdout", "stderr", "display", "result", "error")
MOST_OUTPUTS = 400  # of a cell
PICTURES = 4 << 20  # characters in base64, of a cell
CELLS = 20  # a notebook may show as much as so many cells that use their limit up
BASE64 = re.compile(r"[A-Za-z0-9+/\n]*={0,2}\n?")


class Outputs:
    """Reads what the cells of one notebook showed, until it was enough.

    Args:
        most: characters that one cell may show.
    """

    def __init__(self, most: int) -> None:
        """Have seen nothing yet."""
        self._most = 2 * most  # the other end adds a line where it cuts
        self._text = CELLS * self._most
        self._pictures = CELLS * PICTURES // 4

    def read(self, content: Any) -> tuple[Output, ...]:  # noqa: ANN401
        """Read the outputs of one cell from a reply.

        Raises:
            LostError: they are none.
        """
        text = min(self._most, self._text)
        pictures = min(PICTURES, self._pictures)
        outputs = []
        try:
            for item in content[:MOST_OUTPUTS]:
                output = _output(item, text, pictures)
                text -= len(output.text) + len(output.name) + len(output.value)
                pictures -= len(output.png)
                self._text -= len(output.text)
                self._pictures -= len(output.png)
                outputs.append(output)
        except (TypeError, KeyError) as error:
            raise LostError("sent the grader outputs that are none", forged=True) from error
        return tuple(outputs)


def _output(content: Any, most: int, pictures: int) -> Output:  # noqa: ANN401
    kind, *texts = (content[name] for name in ("kind", "text", "png", "name", "value"))
    if kind not in KINDS or any(type(text) is not str for text in texts):
        raise TypeError("no output")
    text, png, name, value = texts
    kept = png if len(png) <= pictures and BASE64.fullmatch(png) else ""
    return Output(kind, block(text, max(most, 0)), kept, line(name, 100), line(value))
