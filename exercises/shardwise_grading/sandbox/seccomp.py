"""A filter for system calls: the kernel answers the forbidden ones with an error."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import socket
import struct
from typing import TYPE_CHECKING

from shardwise_grading.sandbox import syscalls
from shardwise_grading.sandbox.libc import call
from shardwise_grading.sandbox.namespaces import EVERY_NAMESPACE
from shardwise_grading.sandbox.privileges import PR_SET_PDEATHSIG

if TYPE_CHECKING:
    from collections.abc import Iterable

PR_SET_SECCOMP, FILTER = 22, 2

# Classic BPF: load a word, compare it, mask it, or end with a verdict.
LOAD, JUMP_EQUAL, JUMP_NOT_BELOW, JUMP_ANY_BIT, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
ALLOW, ERROR = 0x7FFF0000, 0x00050000
NUMBER_AT, ARCHITECTURE_AT, ARGUMENTS_AT = 0, 4, 16
X32 = 0x40000000

CLONE_THREAD = 0x00010000
MAP_SHARED_ANONYMOUS, MAP_HUGETLB = 0x01 | 0x20, 0x40000
TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP = 0x5412, 0x541C, 0x8901, 0x8902
F_SETOWN, F_SETOWN_EX = 8, 15

Code = list[tuple[int, int, int, int]]


def restrict(*, alone: bool) -> None:
    """Filter the system calls of this process and its children from now on.

    Args:
        alone: without a PID namespace around it, the process may start no other one and reach
            none; nor may it change the owner, mode or time of a file.

    Raises:
        OSError: the kernel has no filters, or these don't know the processor.
    """
    if platform.machine() not in syscalls.ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no filter of system calls for {platform.machine()}")
    code = program(alone=alone, process=os.getpid())
    content = b"".join(struct.pack("=HBBI", *line) for line in code)
    memory = ctypes.create_string_buffer(content, len(content))
    call("prctl", PR_SET_SECCOMP, FILTER, _Program(len(code), ctypes.addressof(memory)))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def program(*, alone: bool, process: int) -> Code:
    """Write the filter: pairs of a test and a verdict; what no test catches is allowed."""
    architecture = syscalls.ARCHITECTURES[platform.machine()]
    code: Code = [
        (LOAD, 0, 0, ARCHITECTURE_AT),
        (JUMP_EQUAL, 1, 0, architecture),
        _refuse(errno.EPERM),
        (LOAD, 0, 0, NUMBER_AT),
        (JUMP_NOT_BELOW, 0, 1, X32),
        _refuse(errno.EPERM),
    ]
    for number in syscalls.denied():
        code += [(JUMP_EQUAL, 0, 1, number), _refuse(errno.EPERM)]
    code += _in_every_case()
    if alone:
        code += _alone(process)
    return [*code, (RETURN, 0, 0, ALLOW)]


def _in_every_case() -> Code:
    return [
        # Its flags lie in memory that a filter can't see; libraries then use clone.
        *_if("clone3", (), errno.ENOSYS),
        *_if("clone", _any_bit(0, EVERY_NAMESPACE)),
        # Such memory stays when no process shows it as its own, so the guard couldn't count it.
        *_if("mmap", [_argument(3), (AND, 0, 0, MAP_SHARED_ANONYMOUS), *_is(MAP_SHARED_ANONYMOUS)]),
        *_if("mmap", _any_bit(3, MAP_HUGETLB)),
        # Other families reach the host where the network namespace does not cover them.
        *_if("socket", _other_than(0, socket.AF_UNIX)),
        *_if("prctl", _equal(0, PR_SET_PDEATHSIG)),
        *_if("ioctl", _equal(1, TIOCSTI)),
        *_if("ioctl", _equal(1, TIOCLINUX)),
    ]


def _alone(process: int) -> Code:
    code: Code = []
    for number in syscalls.denied_alone():
        code += [(JUMP_EQUAL, 0, 1, number), _refuse(errno.EPERM)]
    for name in ("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"):
        code += _if(name, _other_than(0, process))
    for name in ("prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam"):
        code += _if(name, _other_than(0, 0))
    return [
        *code,
        *_if("sched_setscheduler", _other_than(0, 0)),
        *_if("clone", [_argument(0), (JUMP_ANY_BIT, 1, 0, CLONE_THREAD)]),
        # The kernel would signal whom these name.
        *_if("fcntl", _equal(1, F_SETOWN)),
        *_if("fcntl", _equal(1, F_SETOWN_EX)),
        *_if("ioctl", _equal(1, FIOSETOWN)),
        *_if("ioctl", _equal(1, SIOCSPGRP)),
    ]


def _if(name: str, test: Iterable[tuple[int, int, int, int]], error: int = errno.EPERM) -> Code:
    """Refuse a call when the test, whose last jump skips one line, falls through."""
    number = syscalls.number(name)
    if number is None:
        return []
    body = [*test, _refuse(error), (LOAD, 0, 0, NUMBER_AT)]
    return [(JUMP_EQUAL, 0, len(body), number), *body]


def _refuse(error: int) -> tuple[int, int, int, int]:
    return (RETURN, 0, 0, ERROR | error)


def _argument(index: int) -> tuple[int, int, int, int]:
    # The low half, on machines that store it first; the kernel reads no more of these arguments.
    return (LOAD, 0, 0, ARGUMENTS_AT + 8 * index)


def _is(value: int) -> Code:
    return [(JUMP_EQUAL, 0, 1, value)]


def _equal(index: int, value: int) -> Code:
    return [_argument(index), *_is(value)]


def _other_than(index: int, value: int) -> Code:
    return [_argument(index), (JUMP_EQUAL, 1, 0, value)]


def _any_bit(index: int, bits: int) -> Code:
    return [_argument(index), (JUMP_ANY_BIT, 0, 1, bits)]
