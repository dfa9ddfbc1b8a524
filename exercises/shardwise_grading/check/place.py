"""Where the warm process of a user listens, and how to tell whether it still is the right one."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
LONGEST = 100  # characters that the path of a socket may have; the system allows a few more


def key() -> str:
    """Name the environment: another Python, other packages or another grader give another name."""
    found = hashlib.sha256()
    for part in (sys.executable, sys.prefix, sys.version, os.environ.get("PYTHONPATH", "")):
        found.update(f"{part}\0".encode())
    packages = [Path(entry) for entry in sys.path if entry.endswith("site-packages")]
    for path in (*packages, *sorted(PACKAGE.rglob("*.py"))):
        try:
            found.update(f"{path} {path.stat().st_mtime_ns}\0".encode())
        except OSError:
            continue
    return found.hexdigest()[:16]


def address(name: str) -> Path | None:
    """Return the socket for what `key` named, in a folder that is the user's alone.

    None means that there is no such folder, and so no warm process.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    for parent in (runtime, tempfile.gettempdir(), "/tmp"):  # noqa: S108
        if not parent:
            continue
        folder = Path(parent) / f"shardwise-{os.getuid()}"
        path = folder / f"{name}.sock"
        if len(str(path)) <= LONGEST and _is_private(folder):
            return path
    return None


def _is_private(folder: Path) -> bool:
    """Make the folder, and look whether nobody else made it or can open it."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return False
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return is_own and not found.st_mode & 0o077
