"""A student's process finds no file that is not meant for it, and changes none."""

from __future__ import annotations

import os
import socket

from support import ROOT

# The source of the functions below is sent into the cage; `tried` and the modules are known there.
# ruff: noqa: F821


def failed(outcome: str) -> bool:
    return outcome.endswith("Error")


def open_course(course):
    file = f"{course}/gradebook.db"
    Path("link").symlink_to(file)
    Path("folder").symlink_to(course)
    ways = [file, f"/proc/1/root{file}", f"/proc/self/root{file}", f"/proc/self/cwd/../../..{file}"]
    ways += ["link", "folder/gradebook.db", "../" * 20 + file]
    with contextlib.suppress(OSError):
        ways.append(f"/proc/self/fd/{os.open(file, os.O_PATH)}")
    return [tried(open, way, mode) for way in ways for mode in ("rb", "ab", "r+b", "wb")]


def open_at_all(course):
    return [tried(Path(course, "gradebook.db").read_text), tried(os.listdir, course)]


def harm_course(course):
    file = f"{course}/gradebook.db"
    return [
        tried(os.unlink, file),
        tried(os.rename, file, f"{course}/other"),
        tried(os.rename, file, "mine"),
        tried(os.link, file, "mine"),
        tried(os.symlink, "/", f"{course}/link"),
        tried(os.mkdir, f"{course}/folder"),
        tried(os.mkfifo, f"{course}/pipe"),
        tried(os.chmod, file, 0o600),
        tried(os.chmod, course, 0o700),
        tried(os.chown, file, os.getuid(), -1),
        tried(os.utime, file),
        tried(os.truncate, file, 0),
        tried(os.setxattr, file, "user.x", b"x"),
        tried(os.listdir, course),
    ]


def list_places(places):
    return [tried(os.listdir, place) for place in places]


def climb(course):
    here = os.open(".", os.O_RDONLY)
    for _ in range(20):
        os.chdir("..")
    seen = [tried(os.listdir, course[1:]), tried(os.stat, "home"), tried(os.stat, "var")]
    os.fchdir(here)
    return seen


def change_libraries():
    import shardwise_grading

    own = Path(shardwise_grading.__file__)
    places = [Path(os.__file__), own, Path(ctypes.__file__), Path("/usr/bin/env"), Path("/etc")]
    return [
        outcome
        for place in places
        for outcome in (
            tried(os.open, place, os.O_WRONLY),
            tried(os.chmod, place, 0o777),
            tried(os.unlink, place),
            tried(os.mkdir, place.parent / "new"),
            tried(os.rename, place.parent, place.parent.parent / "moved"),
        )
    ]


def open_descriptors():
    # 2 and the pipe for the answer are kept by the nursery; 0 and 1 lead nowhere.
    found = {}
    for name in range(1024):
        with contextlib.suppress(OSError):
            found[name] = str(Path(f"/proc/self/fd/{name}").readlink())
    return found


def devices():
    return {
        "disk": tried(os.mknod, "disk", 0o60600, os.makedev(254, 0)),
        "memory": tried(os.mknod, "mem", 0o20600, os.makedev(1, 1)),
        "null": tried(open, "/dev/null", "r+b", buffering=0),
        "random": tried(lambda: len(os.urandom(4))),
        "others": [
            tried(open, f"/dev/{name}", "rb") for name in ("mem", "kmsg", "vda", "tty", "zero")
        ],
    }


def kernel_files():
    names = ["/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches"]
    names += ["/proc/self/oom_score_adj", "/proc/self/uid_map", "/proc/1/mem", "/proc/kcore"]
    names += ["/sys/kernel/uevent_helper", "/sys/fs/cgroup/cgroup.procs"]
    return [tried(open, name, "r+b") for name in names]


def owned_programs():
    before = os.getresuid()
    say = subprocess.run(["/usr/bin/su", "-c", "id"], capture_output=True, text=True, timeout=5)
    return [before == os.getresuid(), say.returncode != 0, "root" not in say.stdout]


class TestCourse:
    def test_is_open_to_the_same_code_outside(self, nurseries, course):
        answer = nurseries(as_nobody=False).run(open_at_all, str(course), protection="none")
        assert answer.value == ["did: 'secret'", "did: ['gradebook.db']"]

    def test_can_not_be_opened(self, cage, course):
        assert all(map(failed, cage.value(open_course, str(course))))

    def test_can_not_be_changed(self, cage, course):
        assert all(map(failed, cage.value(harm_course, str(course))))

    def test_hidden_checks_and_sources_are_out_of_sight(self, cage):
        private = ("exercises/hidden", "exercises/source", "tests", ".git")
        places = [str(ROOT / folder) for folder in private]
        assert all(map(failed, cage.value(list_places, places)))

    def test_can_not_be_reached_by_climbing(self, cage, course):
        listed, *others = cage.value(climb, str(course))
        assert failed(listed)
        # Landlock tells that a path exists; namespaces don't even do that.
        assert cage.protection == "landlock" or all(map(failed, others))


class TestSystem:
    def test_libraries_can_not_be_changed(self, cage):
        assert all(map(failed, cage.value(change_libraries)))

    def test_no_descriptor_leaks_in(self, cage):
        leak = socket.socketpair()
        found = cage.value(open_descriptors)
        assert {found["0"], found["1"]} == {"/dev/null"}
        others = [place for name, place in found.items() if int(name) > 2]
        assert len(others) == 1
        assert others[0].startswith("pipe:")
        for one in leak:
            one.close()

    def test_has_no_devices_but_harmless_ones(self, cage):
        found = cage.value(devices)
        assert failed(found["disk"])
        assert failed(found["memory"])
        assert found["null"].startswith("did")
        assert found["random"] == "did: 4"
        assert all(map(failed, found["others"]))

    def test_kernel_settings_can_not_be_changed(self, cage):
        assert all(map(failed, cage.value(kernel_files)))

    def test_setuid_programs_give_no_rights(self, room):
        assert all(room.value(owned_programs))
