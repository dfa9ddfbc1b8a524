"""More memory, processes, threads, files and results than a machine has."""
# ruff: noqa: E501  (hostile code is quoted as somebody would write it)

from __future__ import annotations

from exercises.attacks.attack import Attack

ATTACKS = [
    Attack("eight-gigabytes-at-once", before="x = bytearray(8 << 30)"),
    Attack(
        "memory-in-small-pieces",
        before="x = []\nwhile True: x.append(bytearray(1 << 20))",
        human=None,
    ),
    Attack(
        "memory-in-every-call",
        inside="x = []\nwhile True: x.append(bytearray(1 << 20))",
        outcome="data",
        human=None,
    ),
    Attack(
        "memory-of-tensors",
        before="import torch\nx = [torch.ones(1 << 28) for _ in range(8)]",
        human=None,
    ),
    Attack("one-huge-tensor", before="import torch\nx = torch.ones(1 << 38)"),
    Attack(
        "memory-shared-by-mmap",
        before="""
            import mmap
            x = []
            for _ in range(8):
                x.append(mmap.mmap(-1, 1 << 30))
                for place in range(0, 1 << 30, 4096):
                    x[-1][place] = 1
            """,
        human=None,
    ),
    Attack(
        "memory-in-many-processes",
        before="""
            import os, time
            for _ in range(40):
                if os.fork() == 0:
                    x = bytearray(b"x" * (200 << 20))
                    time.sleep(1000)
            time.sleep(1)
            """,
        human=None,
    ),
    Attack(
        "memory-in-anonymous-files",
        before="""
            import os
            try:
                files = [os.memfd_create(str(n)) for n in range(8)]
                for file in files:
                    for _ in range(1024):
                        os.write(file, bytes(1 << 20))
            except OSError as error:
                print(error)
            """,
        human=None,
    ),
    Attack(
        "memory-in-shm",
        before="""
            import pathlib
            for folder in ("/dev/shm", "/tmp", "/run/lock", "/var/tmp", "."):
                try:
                    with open(folder + "/bomb", "wb") as file:
                        for _ in range(4096):
                            file.write(bytes(1 << 20))
                except OSError as error:
                    print(folder, error)
            """,
        human=None,
    ),
    Attack(
        "memory-in-system-v-segments",
        before="""
            import ctypes
            c = ctypes.CDLL(None, use_errno=True)
            c.shmat.restype = ctypes.c_void_p
            for _ in range(8):
                place = c.shmat(c.shmget(0, 1 << 30, 0o1600), None, 0)
                if place and place != 2**64 - 1:
                    ctypes.memset(place, 1, 1 << 30)
            """,
        human=None,
    ),
    Attack(
        "memory-in-pipes",
        before="""
            import fcntl, os
            pipes = []
            try:
                for _ in range(10_000):
                    pipes.append(os.pipe())
                    fcntl.fcntl(pipes[-1][1], 1031, 1 << 20)
                    os.write(pipes[-1][1], bytes(1 << 20))
            except OSError as error:
                print(error)
            for pair in pipes:
                for end in pair:
                    os.close(end)
            """,
    ),
    Attack("shifted-to-a-terabit", before="x = 1 << (1 << 40)"),
    Attack(
        "compressed-bomb",
        before="import zlib\nd = zlib.compressobj(9)\nb = b''.join([d.compress(bytes(1 << 20)) for _ in range(4096)] + [d.flush()])\nx = zlib.decompress(b)",
        human=None,
    ),
    Attack(
        "fork-bomb",
        before="""
            import os, time
            try:
                for _ in range(4096):
                    if os.fork() == 0:
                        time.sleep(1000)
            except OSError as error:
                print(error)
            """,
        human=None,
        unseen=("NOT CONTAINED",),
    ),
    Attack(
        "fork-bomb-in-a-shell",
        before="!for i in $(seq 3000); do sleep 1000 & done",
        human=None,
    ),
    Attack(
        "forks-that-fork",
        before="""
            import os, time
            end = time.monotonic() + 3
            while time.monotonic() < end:
                try:
                    os.fork()
                except OSError:
                    pass
            time.sleep(1000)
            """,
        human=None,
        outcome="at most half",
    ),
    Attack(
        "fork-bomb-in-every-call",
        inside="""
            import os, time
            for _ in range(4096):
                if os.fork() == 0:
                    time.sleep(1000)
            """,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "thread-bomb",
        before="""
            import threading, time
            try:
                for _ in range(100_000):
                    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
            except RuntimeError as error:
                print(error)
            """,
        human=None,
    ),
    Attack(
        "zombies",
        before="""
            import os
            try:
                for _ in range(5000):
                    if os.fork() == 0:
                        os._exit(0)
            except OSError as error:
                print(error)
            """,
        human=None,
    ),
    Attack(
        "open-files-without-end",
        before="""
            files = []
            try:
                while True:
                    files.append(open("/dev/null"))
            except OSError as error:
                print(error)
            """,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "a-million-empty-files",
        before="""
            import os
            try:
                for n in range(300_000):
                    os.close(os.open(f"/tmp/f{n}", os.O_CREAT))
            except OSError as error:
                print(error)
            """,
        human=None,
    ),
    Attack(
        "folders-without-a-bottom",
        before="""
            import os
            try:
                for _ in range(20_000):
                    os.mkdir("d")
                    os.chdir("d")
            except OSError as error:
                print(error)
            """,
        human=None,
    ),
    Attack(
        "sparse-file-of-a-terabyte",
        before="import os\ntry:\n    os.truncate(os.open('/tmp/sparse', os.O_CREAT | os.O_RDWR), 1 << 40)\nexcept OSError as error:\n    print(error)",
    ),
    Attack("nice-and-slow", before="import os; os.nice(19)"),
    Attack(
        "own-limits-lowered",
        after="""
            import resource
            for name in dir(resource):
                if name.startswith("RLIMIT_") and name not in ("RLIMIT_CPU",):
                    try:
                        resource.setrlimit(getattr(resource, name), (0, 0))
                    except (ValueError, OSError) as error:
                        print(name, error)
            """,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "cpu-time-used-up",
        after="import resource; resource.setrlimit(resource.RLIMIT_CPU, (0, 0))",
        outcome="at most half",
        human=None,
    ),
]
