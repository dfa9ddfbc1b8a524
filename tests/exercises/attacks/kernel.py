"""Other processes, their memory, and what only the kernel may do."""
# ruff: noqa: E501  (hostile code is quoted as somebody would write it)

from __future__ import annotations

from exercises.attacks.attack import Attack

ATTACKS = [
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
                os.setuid(0)  # where there are no namespaces, root may stay, without any rights
                print("ROOT over", open("/etc/shadow").read()[:10])
            except OSError as error:
                print(error)
            """,
        unseen=("ROOT by", "ROOT over"),
        human=None,
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
