"""How much a student wrote into a folder on disk."""

from __future__ import annotations

import os
from pathlib import Path

from shardwise_grading.sandbox.limits import MOST_FILES, in_words

BLOCK = 512


def overflow(folder: Path, most: int) -> str:
    """Say what is too much in a folder; an empty string while nothing is.

    Args:
        folder: where a student may write.
        most: bytes that all files there may take.
    """
    folders, files, stored = [folder], 0, 0
    for inner in folders:  # it grows on the way
        try:
            with os.scandir(inner) as entries:
                for entry in entries:
                    files += 1
                    if files > MOST_FILES:
                        return f"made more than {MOST_FILES} files"
                    stored += entry.stat(follow_symlinks=False).st_blocks * BLOCK
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(Path(entry.path))
        except FileNotFoundError:  # deleted meanwhile
            continue
        except OSError:
            return "made folders that can't be looked into"
    return f"wrote more than {in_words(most)}" if stored > most else ""
