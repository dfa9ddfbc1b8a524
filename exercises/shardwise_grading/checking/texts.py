"""Texts that come from a student's process, made fit for a report."""

from __future__ import annotations

LONGEST_LINE = 300


def line(text: str, most: int = LONGEST_LINE) -> str:
    r"""Return a text on one line, short, with nothing in it that a terminal would obey.

    Example:
        >>> line("a\nb\x1b[31m\ud800")
        'a b\\x1b[31m\\ud800'
    """
    words = " ".join(text[: 4 * most].split())[:most]
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in words)


def block(text: str, most: int) -> str:
    r"""Return a text of several lines that every file can hold.

    Example:
        >>> block("a\nb\x00\ud800", most=99)
        'a\nb\\x00\\ud800'
    """
    cut = text[:most].replace("\x00", "\\x00")
    return cut.encode("utf-8", "backslashreplace").decode("utf-8")
