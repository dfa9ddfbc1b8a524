"""Student's text made harmless to read: what can hide, reorder or restyle it becomes visible."""

from __future__ import annotations

import re

MOST_CODE = 20_000
MOST_OUTPUT = 8_000

# Escape sequences of a terminal: colours, cursor movements, titles and links.
_TERMINAL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_PLANES = range(0x10000, 0x110000, 0x10000)  # each ends in two code points that are no character
# Control characters, what changes the direction of text, what takes no room, lone surrogates, and
# what is no character at all. The two joiners stay: some scripts can't be written without them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000e0000-\U000e0fff"
    + "".join(f"{chr(plane | 0xFFFE)}{chr(plane | 0xFFFF)}" for plane in _PLANES)
    + "]"
)
_PICTURES = 0x2400  # where Unicode has a picture for each of the first 32 control characters
_FIRST_PRINTABLE = 0x20


def plain(text: str) -> str:
    r"""Return text in which every character can be seen and none acts on its neighbours.

    Args:
        text: anything, also with lone surrogates.

    Returns:
        The text without a terminal's escape sequences; of other control characters, changes of
        direction and characters of no width only a name is left.

    Example:
        >>> plain("\x1b[31mred\x1b[0m, a\x00b")
        'red, a␀b'
        >>> plain("x = 1  # \u202e gnorw")
        'x = 1  # ⟨U+202E⟩ gnorw'
    """
    text = _TERMINAL.sub("", text).replace("\r\n", "\n")
    return _UNSEEN.sub(_name, text)


def shown(text: str) -> str:
    r"""Return what a terminal would show in the end of text that goes back to a line's start.

    Example:
        >>> shown("10 %\r50 %\r100 %\nready\n")
        '100 %\nready\n'
    """
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)


def cut(text: str, most: int) -> str:
    r"""Return long text without its middle, and say how much is missing.

    Args:
        text: any text.
        most: characters to keep.

    Example:
        >>> cut("abcdefghij", 4)
        'ab\n… 6 characters left out …\nij'
    """
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"


def _name(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(_PICTURES + code) if code < _FIRST_PRINTABLE else f"⟨U+{code:04X}⟩"
