"""Put a whole folder in place of another, so that a killed run leaves one or the other."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class Swap:
    """A folder that is written beside its place and then takes it.

    Args:
        target: the place.
    """

    def __init__(self, target: Path) -> None:
        """Name the places; nothing is touched yet."""
        self.target = target
        self.new = target.with_name(f".{target.name}.new")
        self.old = target.with_name(f".{target.name}.old")

    def begin(self) -> Path:
        """Make the new folder, empty, and clear away what a killed run left."""
        self.recover()
        self.new.mkdir(parents=True)
        return self.new

    def put(self) -> None:
        """Let the new folder take its place; the old one stays until `finish`."""
        if self.target.exists():
            self.target.rename(self.old)
        self.new.rename(self.target)

    def undo(self) -> None:
        """Put the old folder back, if `put` was called, and drop the new one."""
        if self.old.exists() or not self.new.exists():
            shutil.rmtree(self.target, ignore_errors=True)
        self.recover()

    def finish(self) -> None:
        """Drop the old folder."""
        if self.old.exists():
            shutil.rmtree(self.old)

    def recover(self) -> None:
        """Come back to one whole folder after a killed run."""
        if self.new.exists():
            shutil.rmtree(self.new)
        if self.old.exists():
            if self.target.exists():
                shutil.rmtree(self.old)
            else:
                self.old.rename(self.target)
