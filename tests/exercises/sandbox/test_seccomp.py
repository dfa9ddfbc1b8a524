"""The filter of system calls, run by a small interpreter for both kinds of processors."""

from __future__ import annotations

import errno
import platform

import pytest

from shardwise_grading.sandbox import seccomp, syscalls

ALLOWED = 0
X86, ARM = "x86_64", "aarch64"
SAME_PROCESS = 77

# Call, its number on both, first four arguments, the answer among others, the answer alone.
CASES = [
    ("read", 0, 63, (3, 0, 0, 0), ALLOWED, ALLOWED),
    ("openat", 257, 56, (0, 0, 0, 0), ALLOWED, ALLOWED),
    ("mount", 165, 40, (0, 0, 0, 0), errno.EPERM, errno.EPERM),
    ("ptrace", 101, 117, (16, 5, 0, 0), errno.EPERM, errno.EPERM),
    ("clone3", 435, 435, (0, 0, 0, 0), errno.ENOSYS, errno.ENOSYS),
    ("clone of a thread", 56, 220, (0x3D0F00, 0, 0, 0), ALLOWED, ALLOWED),
    ("clone of a process", 56, 220, (17, 0, 0, 0), ALLOWED, errno.EPERM),
    ("clone of users", 56, 220, (0x10000011, 0, 0, 0), errno.EPERM, errno.EPERM),
    ("mmap of a file", 9, 222, (0, 9, 3, 0x01), ALLOWED, ALLOWED),
    ("mmap of memory", 9, 222, (0, 9, 3, 0x22), ALLOWED, ALLOWED),
    ("mmap of shared memory", 9, 222, (0, 9, 3, 0x21), errno.EPERM, errno.EPERM),
    ("mmap of huge pages", 9, 222, (0, 9, 3, 0x40022), errno.EPERM, errno.EPERM),
    ("socket of Unix", 41, 198, (1, 1, 0, 0), ALLOWED, errno.EPERM),
    ("socket of IP", 41, 198, (2, 1, 0, 0), errno.EPERM, errno.EPERM),
    ("socketpair", 53, 199, (1, 1, 0, 0), ALLOWED, ALLOWED),
    ("prctl of the parent's death", 157, 167, (1, 0, 0, 0), errno.EPERM, errno.EPERM),
    ("prctl of a name", 157, 167, (15, 0, 0, 0), ALLOWED, ALLOWED),
    ("kill itself", 62, 129, (SAME_PROCESS, 9, 0, 0), ALLOWED, ALLOWED),
    ("kill another", 62, 129, (78, 9, 0, 0), ALLOWED, errno.EPERM),
    ("kill all", 62, 129, (2**64 - 1, 9, 0, 0), ALLOWED, errno.EPERM),
    ("prlimit of itself", 302, 261, (0, 7, 0, 0), ALLOWED, ALLOWED),
    ("prlimit of another", 302, 261, (78, 7, 0, 0), ALLOWED, errno.EPERM),
    ("fcntl of an owner", 72, 25, (3, 8, 78, 0), ALLOWED, errno.EPERM),
    ("ioctl that types", 16, 29, (0, 0x5412, 0, 0), errno.EPERM, errno.EPERM),
    ("chmod", 268, 53, (0, 0, 0, 0), ALLOWED, errno.EPERM),
]


def answer(code, architecture, number, arguments):
    """What the kernel would return: the errno, or 0 for a call that goes through."""
    words = {0: number, 4: architecture}
    words |= {16 + 8 * index: value & 0xFFFFFFFF for index, value in enumerate(arguments)}
    place = accumulator = 0
    while True:
        operation, when_true, when_false, operand = code[place]
        place += 1
        if operation == 0x20:
            accumulator = words[operand]
        elif operation == 0x54:
            accumulator &= operand
        elif operation == 0x06:
            return operand & 0xFFFF if operand >> 16 == 0x0005 else ALLOWED
        else:
            tests = {
                0x15: accumulator == operand,
                0x35: accumulator >= operand,
                0x45: accumulator & operand,
            }
            place += when_true if tests[operation] else when_false


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("machine", [X86, ARM])
def test_answers_each_call_as_it_should(monkeypatch, machine, alone):
    monkeypatch.setattr(platform, "machine", lambda: machine)
    code = seccomp.program(alone=alone, process=SAME_PROCESS)
    kind = {X86: 0xC000003E, ARM: 0xC00000B7}[machine]
    expected = {name: lonely if alone else among for name, *_, among, lonely in CASES}
    found = {
        name: answer(code, kind, on_x86 if machine == X86 else on_arm, arguments)
        for name, on_x86, on_arm, arguments, _, _ in CASES
    }
    assert found == expected
    assert answer(code, 0x40000003, 4, (0, 0, 0, 0)) == errno.EPERM
    assert max(max(line[1:3]) for line in code) < 256
    assert len(code) < 4096


def test_is_an_error_for_a_processor_it_does_not_know(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(OSError, match="no filter of system calls for riscv64"):
        seccomp.restrict(alone=False)


def test_only_calls_that_depend_on_their_arguments_have_a_name():
    with pytest.raises(KeyError):
        syscalls.number("read")
