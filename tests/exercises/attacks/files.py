"""The course, other submissions, the gradebook and the machine: read and written."""
# ruff: noqa: E501  (hostile code is quoted as somebody would write it)

from __future__ import annotations

from exercises.attacks.attack import Attack

# {CANARY} is a folder that looks like a course: hidden/, gradebook.db, submitted/neighbour/...
READ_ALL = """
import os
for folder, folders, files in os.walk({where}):
    for name in files:
        try:
            with open(os.path.join(folder, name), "rb") as file:
                print(name, file.read(2000))
        except OSError:
            pass
"""
WRITE = """
import os, pathlib
for path in ({paths}):
    try:
        path = pathlib.Path(path)
        if path.is_dir():
            path = path / "written-by-a-student"
        path.write_text("10 points")
        print("WROTE", path)
    except OSError as error:
        print(path, error)
"""

ATTACKS = [
    Attack("reads-the-course-folder", before=READ_ALL.format(where="'{CANARY}'")),
    Attack("reads-the-hidden-checks", before=READ_ALL.format(where="'{HIDDEN}'")),
    Attack("reads-the-repository", before=READ_ALL.format(where="'{ROOT}/exercises'"), seconds=20),
    Attack("reads-the-course-in-every-call", inside=READ_ALL.format(where="'{CANARY}'")),
    Attack(
        "imports-the-hidden-checks",
        before="import sys\nsys.path[:0] = ['{HIDDEN}', '{ROOT}/exercises', '{ROOT}/tests']\ntry:\n    import row_parallel\n    print('LEAK', row_parallel)\nexcept ImportError as error:\n    print(error)",
        unseen=("LEAK <",),
    ),
    Attack(
        "calls-the-grader-with-hidden-checks",
        before="""
            import os
            os.environ["SHARDWISE_HIDDEN"] = "{HIDDEN}"
            os.environ["SHARDWISE_SEED"] = "1"
            from shardwise_grading import grade
            try:
                print("LEAK", grade("stage_2_memory", "stage2_bytes", print, points=8))
            except Exception as error:
                print(type(error))
            """,
        unseen=("LEAK Hidden",),
    ),
    Attack(
        "writes-into-the-course",
        before=WRITE.format(
            paths="'{CANARY}', '{CANARY}/hidden', '{CANARY}/gradebook.db', '{CANARY}/submitted/neighbour', '{CANARY}/submitted/neighbour/distributed-training/2-stage-2-memory.ipynb', '{CANARY}/results'"
        ),
        unseen=("WROTE",),
    ),
    Attack(
        "writes-into-the-repository",
        before=WRITE.format(
            paths="'{ROOT}', '{HIDDEN}', '{ROOT}/exercises', '{ROOT}/lib/shardwise', '{ROOT}/exercises/shardwise_grading', '{ROOT}/exercises/shardwise_grading/__init__.py', '{ROOT}/tests'"
        ),
        unseen=("WROTE",),
    ),
    Attack(
        "writes-into-the-environment",
        before="import sys, sysconfig\n"
        + WRITE.format(
            paths="sys.prefix, sysconfig.get_path('purelib'), sysconfig.get_path('purelib') + '/torch', sysconfig.get_path('stdlib'), sys.executable"
        ),
        unseen=("WROTE",),
    ),
    Attack(
        "writes-into-the-system",
        before=WRITE.format(
            paths="'/', '/etc', '/etc/passwd', '/usr/bin', '/usr/local', '/root', '/home', '/var', '/var/tmp', '/run', '/dev', '/boot', '/opt', '/proc/sys/kernel', '/sys'"
        ),
        unseen=("WROTE",),
    ),
    Attack(
        "deletes-the-course",
        before="""
            import os, shutil
            for path in ("{CANARY}", "{HIDDEN}/none", "{CANARY}/hidden"):
                shutil.rmtree(path, ignore_errors=True)
            !rm -rf {CANARY}
            """,
    ),
    Attack(
        "writes-the-gradebook",
        before="""
            import sqlite3
            try:
                with sqlite3.connect("{CANARY}/gradebook.db") as book:
                    book.execute("create table grade (score)")
                    print("WROTE")
            except sqlite3.Error as error:
                print(error)
            """,
        unseen=("WROTE",),
    ),
    Attack(
        "changes-rights-and-owners",
        before="""
            import os
            for path in ("{CANARY}", "{CANARY}/gradebook.db", "{HIDDEN}", "/tmp", "/"):
                for deed in (lambda: os.chmod(path, 0o777), lambda: os.chown(path, 0, 0),
                             lambda: os.rename(path, path + "-gone"), lambda: os.utime(path, (0, 0))):
                    try:
                        deed()
                    except OSError as error:
                        print(path, error.errno)
            """,
    ),
    Attack(
        "links-to-the-course",
        before="""
            import os
            for make in (os.symlink, os.link):
                for target in ("{CANARY}/gradebook.db", "{CANARY}/hidden/secret.py", "/etc/shadow", "{CANARY}"):
                    try:
                        make(target, f"/tmp/{make.__name__}-{abs(hash(target))}")
                    except OSError as error:
                        print(error)
            """
        + READ_ALL.format(where="'/tmp', followlinks=True").replace("\n", "\n            "),
    ),
    Attack(
        "leaves-links-in-scratch-folders",
        before="""
            import os
            for folder in ("/tmp", "/var/tmp", "/dev/shm", ".", os.path.expanduser("~")):
                for name in ("2-stage-2-memory.ipynb", "gradebook.db", "results.json", ".ipython"):
                    try:
                        os.symlink("{CANARY}/gradebook.db", os.path.join(folder, name))
                    except OSError as error:
                        print(error)
            """,
    ),
    Attack(
        "reads-passwords",
        before="""
            for path in ("/etc/shadow", "/etc/gshadow", "/root/.ssh/id_rsa", "/etc/ssh/ssh_host_rsa_key", "/root/.bashrc", "/root/.profile"):
                try:
                    with open(path) as file:
                        print("READ", path, len(file.read()))
                except OSError as error:
                    print(error)
            """,
        unseen=("READ",),
    ),
    Attack(
        "reads-environments-of-processes",
        before="""
            import glob
            for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
                try:
                    with open(path, "rb") as file:
                        print(path, file.read())
                except OSError as error:
                    print(error)
            """,
    ),
    Attack(
        "reads-the-memory-of-processes",
        before="""
            import glob, os
            for path in glob.glob("/proc/[0-9]*/mem"):
                if path != f"/proc/{os.getpid()}/mem":
                    try:
                        with open(path, "rb") as file:
                            print("READ", path)
                    except OSError as error:
                        print(error)
            """,
        unseen=("READ",),
    ),
    # The pattern does not match its own text, which is in this memory as well.
    Attack(
        "searches-its-own-memory",
        before=r"""
            import re
            secret = re.compile(rb"SEE[D]-of-the-course|Hidden chec[k]s of exercise|def _wron[g]_row")
            found = []
            with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
                for line in maps:
                    span, rights = line.split()[:2]
                    start, end = (int(place, 16) for place in span.split("-"))
                    if rights[:2] == "rw" and end - start < 1 << 28:
                        try:
                            memory.seek(start)
                            found += secret.findall(memory.read(end - start))
                        except (OSError, ValueError, OverflowError):
                            pass
            print("FOUND" if found else "nothing", found[:3])
            """,
        unseen=("FOUND",),
        exercises=(1, 2),
    ),
    Attack(
        "searches-the-garbage-collector",
        before=r"""
            import gc, types
            for thing in gc.get_objects():
                if isinstance(thing, types.ModuleType) and "hidden" in thing.__name__:
                    print("FOUND module", thing)
                if isinstance(thing, dict) and ("CHECKS" in thing and "LOCKED" in thing):
                    print("FOUND checks", list(thing))
            """,
        unseen=("FOUND module", "FOUND checks"),
    ),
    Attack(
        "traces-its-parent",
        before="""
            import ctypes, os
            c = ctypes.CDLL(None, use_errno=True)
            for pid in {os.getppid(), 1, *range(2, 40)} - {os.getpid()}:
                if c.ptrace(16, pid, 0, 0) == 0 or c.ptrace(0x4206, pid, 0, 0) == 0:
                    print("TRACED", pid)
            text = ctypes.create_string_buffer(64)
            class Part(ctypes.Structure):
                _fields_ = [("at", ctypes.c_void_p), ("length", ctypes.c_size_t)]
            here, there = Part(ctypes.addressof(text), 64), Part(0x400000, 64)
            for pid in range(1, 400):
                if pid != os.getpid() and c.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0:
                    print("TRACED", pid)
            """,
        unseen=("TRACED",),
    ),
    Attack(
        "looks-through-proc-root",
        before="""
            import glob, os
            for pid in glob.glob("/proc/[0-9]*"):
                for way in ("root", "cwd", "fd"):
                    try:
                        print(pid, way, sorted(os.listdir(f"{pid}/{way}{{CANARY}}" if way == "root" else f"{pid}/{way}"))[:50])
                    except OSError as error:
                        print(error)
            """.replace("{{CANARY}}", "{CANARY}"),
    ),
    Attack(
        "descriptors-that-were-left-open",
        before="""
            import os, stat
            for number in range(1024):
                try:
                    kind = os.fstat(number).st_mode
                except OSError:
                    continue
                try:
                    target = os.readlink(f"/proc/self/fd/{number}")
                except OSError:
                    target = "?"
                print("fd", number, target)
                if "course" in target or ".db" in target or "hidden" in target or "{CANARY}" in target:
                    print("LEAK")
                if stat.S_ISDIR(kind):
                    try:
                        print("LEAK", os.listdir(number))
                    except OSError:
                        pass
            """,
        unseen=("LEAK",),
    ),
    Attack(
        "mounts-and-namespaces",
        before="""
            import ctypes, os
            c = ctypes.CDLL(None, use_errno=True)
            c.unshare(0x10000000); c.unshare(0x00020000)
            if c.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0:
                print("MOUNTED")
            if c.mount(b"/dev/vda", b"/tmp", b"ext4", 0, None) == 0 or c.mount(b"/", b"/tmp", None, 4096, None) == 0:
                print("MOUNTED")
            c.umount2(b"/proc", 2); c.umount2(b"{ROOT}", 2)
            for pid in range(1, 100):
                try:
                    file = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
                except OSError:
                    continue
                if c.setns(file, 0) == 0:
                    print("MOVED")
            """,
        unseen=("MOUNTED", "MOVED"),
    ),
    Attack(
        "leaves-the-root-folder",
        before="""
            import os
            try:
                os.mkdir("/tmp/jail")
                os.chroot("/tmp/jail")
                for _ in range(64):
                    os.chdir("..")
                os.chroot(".")
                print("ESCAPED")
            except OSError as error:
                print(error)
            print(sorted(os.listdir("/")))
            """,
        unseen=("ESCAPED",),
    ),
    Attack(
        "devices-and-kernel",
        before="""
            import os, stat
            for path in ("/dev/mem", "/dev/kmem", "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/kmsg", "/proc/kcore", "/proc/kmsg", "/dev/fuse", "/dev/kvm", "/dev/net/tun"):
                try:
                    os.close(os.open(path, os.O_RDWR))
                    print("OPENED", path)
                except OSError as error:
                    print(error)
            for kind, device in ((stat.S_IFBLK, (254, 0)), (stat.S_IFBLK, (8, 0)), (stat.S_IFCHR, (1, 1))):
                try:
                    os.mknod(f"/tmp/d{device[0]}", 0o600 | kind, os.makedev(*device))
                    print("OPENED made", device)
                except OSError as error:
                    print(error)
            """,
        unseen=("OPENED",),
    ),
    Attack(
        "kernel-settings",
        before="""
            for path, text in (("/proc/sysrq-trigger", "h"), ("/proc/sys/kernel/core_pattern", "|/bin/sh"),
                               ("/proc/self/oom_score_adj", "-1000"), ("/sys/power/state", "x"),
                               ("/proc/sys/vm/drop_caches", "0"), ("/sys/fs/cgroup/cgroup.procs", "0")):
                try:
                    with open(path, "w") as file:
                        file.write(text)
                    print("CHANGED", path)
                except OSError as error:
                    print(error)
            """,
        unseen=("CHANGED",),
    ),
    Attack(
        "programs-with-more-rights",
        before="""
            import glob, os, subprocess
            for path in glob.glob("/usr/bin/*") + glob.glob("/bin/*"):
                try:
                    if os.stat(path).st_mode & 0o6000:
                        done = subprocess.run([path, "-c", "id"], capture_output=True, timeout=1, stdin=subprocess.DEVNULL)
                        if b"uid=0" in done.stdout:
                            print("ROOT by", path)
                except (OSError, subprocess.TimeoutExpired):
                    pass
            try:
                os.setuid(0)
                print("ROOT" if os.getuid() == 0 and open("/proc/self/uid_map").read().split()[1] == "0" else "no")
            except OSError as error:
                print(error)
            """,
        unseen=("ROOT by", "ROOT\n"),
        human=None,
        seconds=20,
    ),
    Attack(
        "file-handles-and-keys",
        before="""
            import ctypes, platform
            c = ctypes.CDLL(None, use_errno=True)
            handle = (ctypes.c_char * 128)()
            ctypes.cast(handle, ctypes.POINTER(ctypes.c_uint))[0] = 8
            ctypes.cast(handle, ctypes.POINTER(ctypes.c_uint))[1] = 1
            ctypes.cast(handle, ctypes.POINTER(ctypes.c_uint))[2] = 2
            file = c.open(b"/tmp", 0)
            if c.open_by_handle_at(file, handle, 0) >= 0:
                print("OPENED")
            numbers = {"bpf": 321, "keyctl": 250, "add_key": 248, "perf": 298, "uring": 425, "userfault": 323}
            if platform.machine() == "x86_64":
                for name, number in numbers.items():
                    got = c.syscall(number, 0, 0, 0, 0, 0)
                    print(name, got, ctypes.get_errno())
            """,
        unseen=("OPENED",),
    ),
    Attack(
        "time-of-day-and-host",
        before="""
            import ctypes, os, socket, time
            for deed in (lambda: time.clock_settime(time.CLOCK_REALTIME, 0), lambda: socket.sethostname("x"),
                         lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99)),
                         lambda: os.setpriority(os.PRIO_PROCESS, 0, -20)):
                try:
                    deed()
                    print("CHANGED")
                except OSError as error:
                    print(error)
            c = ctypes.CDLL(None)
            print(c.swapoff(b"/swap"), c.acct(b"/tmp/acct"))
            """,
        unseen=("CHANGED",),
    ),
]
