"""A student's process reaches no other process, no network, and no more of the kernel."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from shardwise_grading.sandbox import syscalls

# The source of the functions below is sent into the cage; `tried` and the modules are known there.
# ruff: noqa: F821


def failed(outcome: str) -> bool:
    return outcome.endswith("Error")


def signal_others(victim):
    guard = os.getppid()  # 0 where it is out of sight, and 0 stands for the own group
    targets = {victim, guard, -victim, 1, -1} - {os.getpid(), 0}
    if os.getpid() == 1:
        targets.remove(-1)  # all others of the own namespace
    signals = (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM)
    return [tried(os.kill, target, number) for target in targets for number in signals]


def signal_in_other_ways(victim):
    information = ctypes.create_string_buffer(128)
    information[8:12] = (-1).to_bytes(4, "little", signed=True)
    return [
        errno_of("tgkill", victim, victim, 9),
        errno_of("syscall", 129, victim, 9, information),
        errno_of("syscall", 200, victim, 9),
        errno_of("syscall", 434, victim, 0),
    ]


def signal_by_a_socket(victim):
    for owner in (victim, -victim):
        for own in (fcntl.F_SETOWN, 0x8901, 0x8902):
            one, other = socket.socketpair()
            if own == fcntl.F_SETOWN:
                tried(fcntl.fcntl, one, own, owner)
            else:
                tried(fcntl.ioctl, one, own, owner.to_bytes(4, "little", signed=True))
            fcntl.fcntl(one, fcntl.F_SETSIG, signal.SIGKILL)
            fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC)
            other.send(b"x")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(0.1)


def look_into_others(victim):
    word = ctypes.create_string_buffer(16)
    return [
        errno_of("ptrace", 16, victim, 0, 0),
        errno_of("syscall", 310, victim, word, 1, word, 1, 0),
        errno_of("syscall", 312, victim, victim, 0, 0, 0),
        tried(open, f"/proc/{victim}/mem", "rb"),
        tried(open, f"/proc/{victim}/environ", "rb"),
        tried(open, f"/proc/{victim}/maps", "rb"),
        tried(os.listdir, f"/proc/{victim}/fd"),
        tried(os.listdir, f"/proc/{victim}/root"),
    ]


def slow_others(victim):
    return [
        tried(resource.prlimit, victim, resource.RLIMIT_CPU, (1, 1)),
        tried(os.sched_setaffinity, victim, {0}),
        tried(os.setpriority, os.PRIO_PROCESS, victim, 19),
        tried(os.sched_setscheduler, victim, os.SCHED_IDLE, os.sched_param(0)),
    ]


def own_signals():
    got = []
    signal.signal(signal.SIGUSR1, lambda *_: got.append(1))
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.raise_signal(signal.SIGUSR1)
    return len(got)


def new_namespaces():
    flags = [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]
    clone = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    return [
        *[errno_of("unshare", flag) for flag in flags],
        *[errno_of("syscall", clone, flag | signal.SIGCHLD, 0, 0, 0, 0) for flag in flags],
        errno_of("setns", os.open("/proc/self/ns/user", os.O_RDONLY), 0),
    ]


def clone3():
    return errno_of("syscall", 435, ctypes.create_string_buffer(88), 88)


def change_mounts():
    here = [b"none", b"/tmp", b"tmpfs", 0, None]
    return [
        errno_of("mount", *here),
        errno_of("mount", b"/usr", b"/tmp", None, 4096, None),
        errno_of("mount", None, b"/usr", None, 32 | 4096, None),
        errno_of("umount2", b"/tmp", 2),
        errno_of("umount2", b"/proc", 2),
        errno_of("pivot_root", b"/tmp", b"/tmp"),
        errno_of("chroot", b"/tmp"),
        errno_of("syscall", 430, b"tmpfs", 0),
        errno_of("syscall", 428, -100, b"/", 1),
    ]


def gain_rights():
    return [
        *[tried(call, 4321) for call in (os.setuid, os.setgid, os.seteuid, os.setegid)],
        tried(os.setgroups, [0]),
        tried(os.setresuid, 4321, 4321, 4321),
        errno_of(
            "capset", (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(2**21, 2**21)
        ),
        errno_of("prctl", 47, 2, 21, 0, 0),
        tried(resource.setrlimit, resource.RLIMIT_NOFILE, (10000, 10000)),
        tried(resource.setrlimit, resource.RLIMIT_AS, (-1, -1)),
        tried(resource.setrlimit, resource.RLIMIT_NPROC, (-1, -1)),
        tried(os.nice, -5),
    ]


def outlive_the_guard():
    return errno_of("prctl", 1, 0, 0, 0, 0)


def rights():
    lines = Path("/proc/self/status").read_text().splitlines()
    return {line.split(":")[0]: line.split()[1] for line in lines if line[:3] in ("Cap", "NoN")}


def open_sockets(path, port):
    def connect(family, address):
        with socket.socket(family, socket.SOCK_STREAM) as one:
            one.connect(address)

    return [
        tried(socket.create_connection, ("127.0.0.1", port), 1),
        tried(socket.create_connection, ("::1", port), 1),
        tried(connect, socket.AF_UNIX, path),
        tried(connect, socket.AF_UNIX, "\0" + path),
        tried(socket.socket, socket.AF_INET, socket.SOCK_DGRAM),
        tried(socket.socket, socket.AF_INET, socket.SOCK_RAW, 1),
        tried(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW),
        tried(socket.socket, socket.AF_PACKET, socket.SOCK_RAW),
        tried(socket.socket, socket.AF_VSOCK, socket.SOCK_STREAM),
        tried(socket.socket, socket.AF_ALG, socket.SOCK_SEQPACKET),
        tried(socket.getaddrinfo, "example.org", 80),
        tried(urllib.request.urlopen, "http://192.0.2.1/", None, 1),
    ]


def call_numbers(numbers):
    # Arguments that are wrong in any case, so that a hole would do no harm.
    return {number: errno_of("syscall", number, -1, -1, -1, -1, -1, -1) for number in numbers}


def other_conventions():
    x32 = errno_of("syscall", 0x40000000 | 39)
    # mov eax, 20; int 0x80; ret: getpid of the 32-bit convention.
    code = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
    code.write(bytes.fromhex("b814000000cd80c3"))
    place = ctypes.addressof(ctypes.c_char.from_buffer(code))
    return [x32, ctypes.CFUNCTYPE(ctypes.c_int)(place)()]


def type_for_others(number):
    return [errno_of("ioctl", number, request, b"x") for request in (0x5412, 0x541C)]


def environment():
    return [dict(os.environ), Path("/proc/self/environ").read_text().split("\0")]


@pytest.fixture
def victim():
    """A process of the same user as the nursery that runs as nobody, with a group of its own."""
    command = ["sleep", "60"]
    user = 65534 if os.geteuid() == 0 else None
    process = subprocess.Popen(command, user=user, group=user, start_new_session=True)
    time.sleep(0.05)
    yield process.pid
    state = (
        Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    )
    process.kill()
    process.wait()
    assert state == "S"


class TestOtherProcesses:
    def test_get_no_signal(self, cage, victim):
        assert all(map(failed, cage.value(signal_others, victim)))

    def test_get_none_in_other_ways(self, cage, victim):
        if os.uname().machine != "x86_64":
            pytest.skip("the numbers are those of x86-64")
        assert set(cage.value(signal_in_other_ways, victim)) <= {"EPERM", "ESRCH"}

    def test_get_none_by_a_socket(self, cage, victim):
        cage.value(signal_by_a_socket, victim)

    def test_can_not_be_looked_into(self, cage, victim):
        if os.uname().machine != "x86_64":
            pytest.skip("the numbers are those of x86-64")
        found = cage.value(look_into_others, victim)
        assert set(found[:3]) <= {"EPERM", "ESRCH"}
        assert all(map(failed, found[3:]))

    def test_can_not_be_slowed(self, cage, victim):
        assert all(map(failed, cage.value(slow_others, victim)))

    def test_but_the_own_one_gets_signals(self, cage):
        assert cage.value(own_signals) == 2

    def test_are_not_typed_for(self, cage):
        # The nursery lets the cage keep descriptor 2, whatever it is.
        assert cage.value(type_for_others, 2) == ["EPERM", "EPERM"]


class TestRights:
    def test_are_none(self, cage):
        found = cage.value(rights)
        assert found.pop("NoNewPrivs") == "1"
        assert set(found) == {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}
        left = {name for name, value in found.items() if int(value, 16)}
        # Who is not root can't lower this bound; without new rights it is of no use.
        assert left <= {"CapBnd"}
        assert not left or cage.name == "landlock-nobody"

    def test_do_not_come_back(self, cage):
        assert set(cage.value(gain_rights)) <= {"PermissionError", "ValueError", "OSError", "EPERM"}

    def test_do_not_come_with_namespaces(self, cage):
        assert set(cage.value(new_namespaces)) == {"EPERM"}
        assert cage.value(clone3) == "ENOSYS"

    def test_do_not_change_mounts(self, cage):
        assert set(cage.value(change_mounts)) == {"EPERM"}

    def test_do_not_stop_the_death_with_the_guard(self, cage):
        assert cage.value(outlive_the_guard) == "EPERM"


class TestNetwork:
    def test_is_out_of_reach(self, cage):
        with (
            tempfile.TemporaryDirectory() as folder,
            socket.create_server(("127.0.0.1", 0)) as server,
        ):
            Path(folder).chmod(0o777)
            path = f"{folder}/socket"
            named, hidden = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
            with named, hidden:
                named.bind(path)
                Path(path).chmod(0o777)
                named.listen()
                hidden.bind("\0" + path)
                hidden.listen()
                found = cage.value(open_sockets, path, server.getsockname()[1], seconds=20)
        assert not [outcome for outcome in found if outcome.startswith("did")]


class TestKernel:
    def test_refuses_calls_that_nobody_needs(self, cage):
        numbers = syscalls.denied() + (
            syscalls.denied_alone() if cage.protection == "landlock" else []
        )
        assert set(cage.value(call_numbers, numbers).values()) == {"EPERM"}

    def test_refuses_other_conventions(self, cage):
        if os.uname().machine != "x86_64":
            pytest.skip("only x86-64 has others")
        assert cage.value(other_conventions) == ["EPERM", -1]

    def test_numbers_are_those_of_its_headers(self):
        header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
        if not header.exists():
            pytest.skip("the headers of the C library are not installed")
        known = dict(re.findall(r"__NR_(\w+) (\d+)", header.read_text(encoding="utf-8")))
        rows = [line.split() for table in syscalls.TABLES for line in table.strip().splitlines()]
        assert len(rows) > 100
        for name, number, _ in rows:
            assert known.get(name, number) == number, name
        common = Path("/usr/include/asm-generic/unistd.h").read_text(encoding="utf-8")
        known = dict(re.findall(r"__NR(?:3264)?_(\w+) (\d+)", common))
        for name, _, number in rows:
            assert known.get(name, number) == number, name


class TestEnvironment:
    def test_tells_nothing_of_the_instructor(self, cage):
        now, at_start = cage.value(environment)
        assert set(now) == {"PATH", "HOME", "TMPDIR", "LANG", "USER", "MPLCONFIGDIR"}
        # The nursery's own start is not clean, unlike the warm parent's.
        assert "SECRET_OF_THE_INSTRUCTOR=s3cret" in at_start
