"""The ways to enclose a student's code, best first, and which of them work here."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from typing import Literal, get_args

Protection = Literal["namespaces", "landlock", "bubblewrap", "user", "none"]

PROTECTIONS: tuple[Protection, ...] = get_args(Protection)

_WORDS: dict[str, str] = {
    "namespaces": (
        "Student code sees neither the course folder nor other submissions, has no network and "
        "no view of other processes, and is limited in memory, processes, files and disk."
    ),
    "landlock": (
        "Student code can't open the course folder or other submissions, has no network, can't "
        "signal other processes and can't start any; it can find out whether a path exists."
    ),
    "bubblewrap": (
        "Student code runs in a fresh process that sees neither the course folder nor other "
        "submissions, has no network and can't start other processes; each notebook takes some "
        "seconds longer to start."
    ),
    "user": (
        "Student code runs as another user, has no network and can't start other processes; it "
        "can't change the course folder, but it can read every file that all users can read."
    ),
    "none": (
        "Student code runs with your rights: it can read, change and send away every file of "
        "yours; only its memory, processes and CPU seconds are limited."
    ),
}


class ProtectionError(RuntimeError):
    """Student code can't be enclosed as asked."""


def describe(protection: str) -> str:
    """Say in a sentence what a protection keeps a student's code from, and what not.

    Raises:
        ValueError: there is no such protection.

    Example:
        >>> describe("none")
        'Student code runs with your rights: ...
    """
    return _WORDS[known(protection)]


def known(protection: str) -> Protection:
    """Return the protection, if it is one.

    Raises:
        ValueError: there is no such protection.
    """
    for name in PROTECTIONS:
        if name == protection:
            return name
    raise ValueError(f"protection={protection!r} is not one of {', '.join(PROTECTIONS)}")


@cache
def available(protection: str) -> str:
    """Try a protection in a process of its own, once.

    Returns:
        An empty string when it can be used here and now, else why not.

    Raises:
        ValueError: there is no such protection.
    """
    command = [sys.executable, "-m", "shardwise_grading.sandbox.probe", known(protection)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return "it does not answer within a minute"
    lines = done.stderr.strip().splitlines()
    return "" if done.returncode == 0 else lines[-1] if lines else f"exit code {done.returncode}"


def best() -> Protection:
    """Return the first protection that can be used here and now.

    Raises:
        ProtectionError: only ``"none"`` is left.
    """
    reasons = []
    for name in PROTECTIONS[:-1]:
        reason = available(name)
        if not reason:
            return name
        reasons.append(f"{name}: {reason}")
    why = "; ".join(reasons)
    raise ProtectionError(
        f"nothing here can enclose student code ({why}); grade on Linux, install bubblewrap, or "
        "accept the risk with --no-sandbox"
    )
