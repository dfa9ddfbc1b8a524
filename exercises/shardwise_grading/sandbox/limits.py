"""How much of the machine a student's code may use."""

from __future__ import annotations

from dataclasses import dataclass, fields

MIB = 2**20

# In each scratch folder; every file takes memory of the kernel.
MOST_FILES = 2048


@dataclass(frozen=True, slots=True)
class Limits:
    """What all processes of one student may hold together, and how long each may compute.

    Args:
        memory: bytes, on top of what is shared with the warm parent.
        processes: processes and threads.
        cpu_seconds: seconds of computing, for each process.
        files: open files, for each process.
        disk: bytes in the scratch folder, and in one file.

    Raises:
        TypeError, ValueError: a limit is no whole number, or below 1.

    Example:
        >>> Limits(memory=512 * MIB).processes
        64
    """

    memory: int = 1024 * MIB
    processes: int = 64
    cpu_seconds: int = 120
    files: int = 128
    disk: int = 32 * MIB

    def __post_init__(self) -> None:
        """Refuse limits that the kernel would read as something else, such as -1 for none."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{field.name}={value!r} is no whole number; give one, such as 64")
            if value < 1:
                raise ValueError(f"{field.name}={value} is below 1; give a positive number")


def in_words(size: int) -> str:
    """Write a number of bytes for people.

    Example:
        >>> in_words(1536 * MIB), in_words(1000)
        ('1.5 GiB', '1000 bytes')
    """
    for exponent, name in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 2**exponent:
            return f"{size / 2**exponent:.3g} {name}"
    return f"{size} bytes"
