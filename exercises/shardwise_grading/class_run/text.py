"""Text of strangers, made fit for a terminal and for a spreadsheet."""

from __future__ import annotations

from shardwise_grading.checking.texts import line

LONGEST = 300
FORMULA = ("=", "+", "-", "@")


def printable(text: str, longest: int = LONGEST) -> str:
    r"""Put text on one line without anything that a terminal would obey.

    Args:
        text: from a submission: a name, a message.
        longest: characters to keep.

    Returns:
        The text; control characters, and those that turn the direction of writing, as escapes.

    Example:
        >>> printable("ada\x1b[2J\nlovelace")
        'ada\\x1b[2J lovelace'
    """
    shown = line(text, len(text))
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def cell(value: object) -> str:
    """Write a value for a CSV file so that no spreadsheet takes it for a formula.

    Example:
        >>> cell("=HYPERLINK(1)"), cell(7.0), cell(2.5)
        ("'=HYPERLINK(1)", '7', '2.5')
    """
    if isinstance(value, int | float):
        return f"{value:.15g}"
    text = printable(str(value))
    return f"'{text}" if text.startswith(FORMULA) else text
