"""A student who takes too much is stopped, and the guard can say why."""

from __future__ import annotations

import pytest

from shardwise_grading.sandbox import Limits
from shardwise_grading.sandbox.limits import MIB, MOST_FILES

# The source of the functions below is sent into the cage; the modules are known there.
# ruff: noqa: F821


def hold(size):
    kept = []
    while True:
        kept.append(b"x" * size)


def hold_at_once(size):
    return tried(bytearray, size)


def hold_in_many(size):
    for _ in range(8):
        if os.fork() == 0:
            break
    kept = []
    while True:
        kept.append(b"x" * size)
        time.sleep(0.001)


def share_memory(size):
    kept = b"x" * size
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            time.sleep(0.5)
            os._exit(len(kept) == 0)
        children.append(child)
    return [os.waitpid(child, 0)[1] for child in children].count(0)


def hold_out_of_sight():
    place = ctypes.create_string_buffer(64)
    shared = tried(mmap.mmap, -1, 1 << 20)
    zero = tried(open, "/dev/zero", "r+b")
    memfd = tried(os.memfd_create, "x")
    segment = errno_of("shmget", 0, 1 << 20, 0o1600)
    gift = errno_of("vmsplice", os.pipe()[1], place, 1, 0)
    huge = tried(mmap.mmap, -1, 1 << 21, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000)
    return [shared, zero, memfd, segment, gift, huge]


def hold_in_sockets():
    kept = []
    for _ in range(3):
        os.fork()
    while True:
        with contextlib.suppress(OSError):
            one, other = socket.socketpair()
            one.setblocking(False)
            kept.append((one, other))
            for _ in range(100):
                one.send(b"x" * 65536)
        time.sleep(0.001)


def hold_in_files(size):
    places = [Path(folder, str(number)) for folder in ("/tmp", "/dev/shm") for number in range(20)]
    return [tried(place.write_bytes, b"x" * size) for place in places]


def make_files():
    count = 0
    with contextlib.suppress(OSError):
        while True:
            os.close(os.open(f"file{count}", os.O_CREAT))
            count += 1
            time.sleep(count // 2200)
    return count


def make_large_file(size):
    return tried(Path("x").write_bytes, b"x" * size)


def open_many():
    return tried(lambda: [os.open("/dev/null", os.O_RDONLY) for _ in range(5000)])


def hold_slowly(size):
    for number in range(1000):
        Path(str(number)).write_bytes(b"x" * size)
        time.sleep(0.01)


def start_another():
    return [tried(os.fork), tried(subprocess.run, ["true"])]


def fork_bomb():
    while True:
        with contextlib.suppress(OSError):
            os.fork()


def daemon_bomb():
    while True:
        with contextlib.suppress(OSError):
            if os.fork() == 0:
                os.setsid()
                signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))


def hide_daemons():
    for _ in range(6):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(60)
            os._exit(0)
    time.sleep(60)


def thread_bomb():
    while True:
        with contextlib.suppress(RuntimeError):
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


def compute():
    for number in (signal.SIGXCPU, signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    while True:
        pass


def compute_elsewhere():
    if os.fork() == 0:
        while True:
            pass
    os.wait()


def sleep_with_daemons():
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(60)
            os._exit(0)
    time.sleep(60)


class TestLimits:
    def test_are_positive_whole_numbers(self):
        with pytest.raises(ValueError, match="memory=0 is below 1"):
            Limits(memory=0)
        with pytest.raises(TypeError, match=r"files=1\.5 is no whole number"):
            Limits(files=1.5)


class TestMemory:
    def test_has_a_limit(self, cage):
        assert cage.run(hold, 100_000).reason == "held more than 96 MiB of memory"

    def test_has_one_for_all_processes_together(self, room):
        assert room.run(hold_in_many, 100_000).reason == "held more than 96 MiB of memory"

    def test_is_counted_once_when_forks_share_it(self, room):
        assert room.value(share_memory, 60 * MIB) == 4

    def test_is_refused_in_one_piece(self, cage):
        assert cage.value(hold_at_once, 1000 * MIB) == "MemoryError"

    def test_can_not_be_held_out_of_sight(self, cage):
        outcomes = cage.value(hold_out_of_sight)
        assert not [outcome for outcome in outcomes if outcome.startswith("did")]

    def test_counts_what_waits_in_sockets(self, room):
        answer = room.run(hold_in_sockets, memory=32 * MIB)
        assert answer.reason == "held more than 32 MiB of memory"


class TestDisk:
    def test_has_a_limit_in_each_scratch_folder(self, room):
        outcomes = room.value(hold_in_files, MIB)
        assert [outcome.startswith("did") for outcome in outcomes].count(True) <= 8
        assert set(outcomes) == {f"did: {MIB}", "OSError"}

    def test_has_a_limit_on_a_real_disk(self, cage):
        if cage.protection == "landlock":
            answer = cage.run(hold_slowly, MIB)
            assert answer.reason == "wrote more than 4 MiB"

    def test_has_a_limit_for_one_file(self, cage):
        assert cage.value(make_large_file, 5 * MIB) == "OSError"

    def test_has_a_limit_for_the_number_of_files(self, cage):
        answer = cage.run(make_files)
        if cage.protection == "namespaces":
            assert 1000 < answer.value <= MOST_FILES
        else:
            assert answer.reason == f"made more than {MOST_FILES} files"

    def test_open_files_have_a_limit(self, cage):
        assert cage.value(open_many) == "OSError"


class TestProcesses:
    @pytest.mark.parametrize("bomb", [fork_bomb, daemon_bomb])
    def test_have_a_limit(self, room, bomb):
        answer = room.run(bomb)
        assert answer.reason == "ran more than 12 processes and threads at once"
        assert answer.left == []

    def test_are_found_and_ended_without_any_protection(self, nurseries):
        answer = nurseries(as_nobody=False).run(hide_daemons, protection="none", processes=4)
        assert answer.reason == "ran more than 4 processes and threads at once"
        assert answer.left == []

    def test_are_one_without_namespaces(self, cage):
        if cage.protection == "landlock":
            assert cage.value(start_another) == ["PermissionError", "PermissionError"]

    def test_threads_have_a_limit(self, cage):
        answer = cage.run(thread_bomb, memory=1024 * MIB)
        assert answer.reason == "ran more than 12 processes and threads at once"

    def test_end_with_the_student(self, room):
        answer = room.run(sleep_with_daemons, seconds=0.5)
        assert (answer.reason, answer.left) == ("time is over", [])


class TestComputing:
    @pytest.mark.parametrize("protection", ["namespaces", "landlock"])
    def test_has_a_limit(self, nurseries, protection):
        answer = nurseries(as_nobody=False).run(compute, protection=protection, cpu_seconds=1)
        assert answer.reason == "computed for more than 1 seconds in one process"

    def test_has_one_in_other_processes(self, nurseries):
        answer = nurseries(as_nobody=False).run(compute_elsewhere, cpu_seconds=1)
        assert answer.reason == "computed for more than 1 seconds in one process"
