"""Landlock: the kernel's rules for the files that a process may open."""

from __future__ import annotations

import ctypes
import os
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

from shardwise_grading.sandbox.libc import call

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# The same numbers on every architecture, as all system calls of these years.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
GET_VERSION = 1
PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE, DEVICE_IOCTL = 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_FOLDER
FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICE_IOCTL

# How many rights a version knows, beginning with the lowest bit.
FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
NEWEST_FILE_RIGHTS = 16
NETWORK_SINCE, SCOPES_SINCE = 4, 6
BIND_AND_CONNECT = 0b11
ABSTRACT_SOCKETS_AND_SIGNALS = 0b11


def version() -> int:
    """Return the version of landlock in this kernel, 0 when it has none."""
    try:
        return call("syscall", CREATE_RULESET, None, 0, GET_VERSION)
    except OSError:
        return 0


def restrict(readable: Iterable[Path], writable: Iterable[Path]) -> None:
    """Forbid this process and its children everything on files but what is named here.

    Where the kernel can, TCP, abstract sockets of others and signals to others are forbidden too.

    Args:
        readable: files and folders to read and execute.
        writable: files and folders to change as well.

    Raises:
        OSError: the kernel has no landlock.
    """
    number = version()
    rights = (1 << FILE_RIGHTS.get(number, NEWEST_FILE_RIGHTS)) - 1
    words = [
        rights,
        BIND_AND_CONNECT if number >= NETWORK_SINCE else 0,
        ABSTRACT_SOCKETS_AND_SIGNALS if number >= SCOPES_SINCE else 0,
    ]
    rules = call("syscall", CREATE_RULESET, (ctypes.c_uint64 * 3)(*words), _size(number), 0)
    try:
        for path in readable:
            _allow(rules, path, READ)
        for path in writable:
            _allow(rules, path, rights)
        call("syscall", RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def _size(number: int) -> int:
    """Bytes of the description that a version of landlock reads."""
    return 8 * (1 + (number >= NETWORK_SINCE) + (number >= SCOPES_SINCE))


def _allow(rules: int, path: Path, rights: int) -> None:
    with suppress(FileNotFoundError, PermissionError):  # what can't be reached needs no rule
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not path.is_dir():
                rights &= FOR_FILES
            content = struct.pack("=Qi", rights, place)
            rule = ctypes.create_string_buffer(content, len(content))
            call("syscall", ADD_RULE, rules, PATH_BENEATH, rule, 0)
        finally:
            os.close(place)
