"""A root folder of a student's own: what imports need, read-only, and a scratch folder."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

from shardwise_grading.sandbox.libc import call
from shardwise_grading.sandbox.limits import MOST_FILES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1 << 5, 1 << 12, 1 << 14, 1 << 18
MNT_DETACH = 2
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
# The same number on every architecture, as all system calls of these years.
MOUNT_SETATTR = 442
KEPT_FLAGS = os.ST_RDONLY | os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC | os.ST_NOATIME

DEVICES = ("null", "full", "random", "urandom")
STAGES = ("/mnt", "/media", "/srv", "/sys", "/opt", "/home", "/tmp")  # noqa: S108
SCRATCH = ("/tmp", "/dev/shm")  # noqa: S108


def change_root(readable: Sequence[Path], disk: int, owner: tuple[int, int]) -> None:
    """Put this process, in a mount namespace of its own, into a new root folder.

    Args:
        readable: files and folders to see there, at the paths they have here.
        disk: bytes that each scratch folder, /tmp and /dev/shm, may hold.
        owner: user and group who may write to the scratch folders.

    Raises:
        OSError: the kernel refuses a mount.
    """
    # From here on nothing that is mounted is seen outside.
    call("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    stage = _stage(readable)
    _tmpfs(stage, f"mode=755,size={2**20},nr_inodes={MOST_FILES}", MS_NOSUID | MS_NODEV)
    (stage / "proc").mkdir()
    call("mount", b"proc", bytes(stage / "proc"), b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, None)
    for folder in SCRATCH:
        place = Path(f"{stage}{folder}")
        place.mkdir(parents=True)
        options = f"mode=700,size={disk},nr_inodes={MOST_FILES}"
        _tmpfs(place, f"{options},uid={owner[0]},gid={owner[1]}", MS_NOSUID | MS_NODEV)
    for name in DEVICES:
        _bind(Path("/dev", name), stage, MS_RDONLY | MS_NOSUID | MS_NOEXEC)
    for path in outermost(readable):
        _bind(path, stage, MS_RDONLY | MS_NOSUID | MS_NODEV)
    for path in filter(os.path.exists, readable):
        _copy_links(path, stage)
    _write_names(stage, owner)
    _set_flags(stage, MS_RDONLY | MS_NOSUID | MS_NODEV, recursive=False)
    _pivot(stage)


def outermost(paths: Iterable[Path]) -> list[Path]:
    """Resolve links, and leave out what doesn't exist and what lies inside another path.

    Example:
        >>> outermost([Path("/proc/self/stat"), Path("/proc"), Path("/no/such/folder")])
        [PosixPath('/proc')]
    """
    found: list[Path] = []
    for path in sorted({Path(os.path.realpath(path)) for path in paths}):
        if os.path.exists(path) and not any(path.is_relative_to(outer) for outer in found):  # noqa: PTH110 - Path.exists raises where a parent can't be read
            found.append(path)
    return found


def _stage(readable: Sequence[Path]) -> Path:
    for name in STAGES:
        stage = Path(name)
        hidden = any(path.resolve().is_relative_to(stage) for path in readable)
        if stage.is_dir() and not stage.is_symlink() and not hidden:
            return stage
    raise OSError(errno.ENOENT, f"no empty folder to mount on among {', '.join(STAGES)}")


def _tmpfs(place: Path, options: str, flags: int) -> None:
    call("mount", b"tmpfs", bytes(place), b"tmpfs", flags, options.encode())


def _bind(path: Path, stage: Path, flags: int) -> None:
    place = Path(f"{stage}{path}")
    place.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        place.mkdir(exist_ok=True)
    else:
        place.touch()
    call("mount", bytes(path), bytes(place), None, MS_BIND | MS_REC, None)
    _set_flags(place, flags)


def _copy_links(path: Path, stage: Path) -> None:
    """Repeat the symbolic links on the way to a path."""
    for part in (*reversed(path.parents), path):
        if not part.is_symlink():
            continue
        link, target = Path(f"{stage}{part}"), part.readlink()
        if not link.is_symlink() and not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(target)
        rest = path.relative_to(part)
        _copy_links(Path(os.path.normpath(part.parent / target / rest)), stage)
        return


def _set_flags(place: Path, flags: int, *, recursive: bool = True) -> None:
    # The first four flags have the same bits here and in mount(2).
    attributes = (ctypes.c_uint64 * 4)(flags, 0, 0, 0)
    how = AT_RECURSIVE if recursive else 0
    size = ctypes.sizeof(attributes)
    try:
        call("syscall", MOUNT_SETATTR, AT_FDCWD, bytes(place), how, attributes, size)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        _remount(place, flags)


def _remount(place: Path, flags: int) -> None:
    """Set the flags of one mount, for a Linux before 5.12; it keeps those that it has."""
    kept = os.statvfs(place).f_flag & KEPT_FLAGS
    call("mount", None, bytes(place), None, MS_REMOUNT | MS_BIND | flags | kept, None)


def _write_names(stage: Path, owner: tuple[int, int]) -> None:
    uid, gid = owner
    folder = stage / "etc"
    folder.mkdir(exist_ok=True)
    (folder / "passwd").write_text(f"student:x:{uid}:{gid}::/tmp:/bin/sh\n", encoding="utf-8")
    (folder / "group").write_text(f"student:x:{gid}:\n", encoding="utf-8")


def _pivot(stage: Path) -> None:
    os.chdir(stage)
    # Old and new root share one place, and detaching takes the old one, which lies on top.
    call("pivot_root", b".", b".")
    call("umount2", b".", MNT_DETACH)
    os.chdir("/")
