"""What a student's process inherits: a few descriptors and a few variables."""

from __future__ import annotations

import os
import tempfile
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

STANDARD = (0, 1, 2)
KEPT_PREFIXES = ("OMP_", "MKL_", "LC_", "MPL", "PYTHON")
KEPT = ("LANG", "TZ")


def keep_only(descriptors: Iterable[int]) -> None:
    """Close every descriptor but these; 0, 1 and 2 lead nowhere unless they are among them."""
    kept = {*descriptors, *STANDARD}
    for low, high in pairwise([*sorted(kept), os.sysconf("SC_OPEN_MAX")]):
        os.closerange(low + 1, high)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in STANDARD:
        if number not in set(descriptors):
            os.dup2(nowhere, number)
    os.close(nowhere)


def clean_environment(home: Path) -> None:
    """Go to the scratch folder, and leave only variables that a student's code needs."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in KEPT or name.startswith(KEPT_PREFIXES)
    }
    os.environ.clear()
    own = {"PATH": "/usr/local/bin:/usr/bin:/bin", "USER": "student"}
    places = {"HOME": str(home), "TMPDIR": str(home), "MPLCONFIGDIR": str(home / ".matplotlib")}
    os.environ.update(kept | own | places)
    tempfile.tempdir = None
    os.chdir(home)
