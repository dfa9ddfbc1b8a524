"""How long a chapter takes to read, from the words in its source."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

WORDS_PER_MINUTE = 180  # slow reading: there is mathematics, and there are widgets to try
WORD = re.compile(r"[^\W\d_]{2,}")


def minutes(chapter: Path) -> int:
    """Return the minutes that reading a `.qmd` file takes, at least one.

    Args:
        chapter: the file; its code counts too, since readers read it.
    """
    words = len(WORD.findall(chapter.read_text(encoding="utf-8")))
    return max(1, round(words / WORDS_PER_MINUTE))
