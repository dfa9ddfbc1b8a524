"""What a student's process has to read so that imports and commands work."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

PACKAGES = ("shardwise", "shardwise_widgets", "shardwise_grading")
SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/nix/store",
)
LIBRARY_NAMES = ("site-packages", "dist-packages")


def readable_paths() -> list[Path]:
    """Return the files and folders that imports, shared libraries and fonts need.

    A package of ours that is installed from a checkout is in it by its own folder: beside it lie
    hidden checks and other people's work.

    Example:
        >>> Path(sys.prefix) in readable_paths()
        True
    """
    prefixes = [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix]
    libraries = [Path(p) for p in sys.path if Path(p).name in LIBRARY_NAMES]
    packages = [folder for name in PACKAGES for folder in _folders(name)]
    paths = dict.fromkeys([*map(Path, [*SYSTEM, *prefixes]), *libraries, *packages])
    return [path for path in paths if os.path.exists(path)]  # noqa: PTH110 - no error in a closed folder


def _folders(package: str) -> list[Path]:
    spec = importlib.util.find_spec(package)
    places = spec.submodule_search_locations if spec else None
    return [Path(place) for place in places or ()]
