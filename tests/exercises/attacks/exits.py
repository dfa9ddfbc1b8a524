"""Ends of every kind: exceptions, exits, signals and crashes, in a cell and in a call."""

from __future__ import annotations

from exercises.attacks.attack import Attack

NULL = "import ctypes; ctypes.string_at(0)"

ATTACKS = [
    Attack("sys-exit-in-a-cell", before="import sys; sys.exit(0)"),
    Attack("exit-builtin-in-a-cell", before="exit()"),
    Attack("quit-with-a-message", before="quit('done, 10 points')"),
    Attack("sys-exit-in-every-call", inside="import sys; sys.exit(0)", outcome="data"),
    Attack("keyboard-interrupt-in-a-cell", before="raise KeyboardInterrupt"),
    Attack("keyboard-interrupt-in-every-call", inside="raise KeyboardInterrupt", outcome="data"),
    Attack("generator-exit-in-every-call", inside="raise GeneratorExit", outcome="data"),
    Attack(
        "own-base-exception-in-every-call",
        before="class Up(BaseException): pass",
        inside="raise Up('all is well')",
        outcome="data",
        says=("Up",),
    ),
    Attack(
        "exits-from-the-third-call-on",
        before="calls = 0",
        inside="""
            global calls
            calls += 1
            if calls > 3:
                raise SystemExit
            """,
        outcome="at most half",
    ),
    Attack(
        "exception-that-cannot-be-made",
        before="""
            class Bad(Exception):
                def __init__(self, *args):
                    raise self
                __str__ = __repr__ = __init__
            """,
        inside="raise Bad.__new__(Bad)",
        outcome="data",
    ),
    Attack("os-exit-in-a-cell", before="import os; os._exit(0)"),
    Attack("os-exit-in-every-call", inside="import os; os._exit(0)", outcome="data"),
    Attack(
        "os-exit-from-a-thread",
        after="""
            import os, threading, time
            threading.Thread(target=lambda: (time.sleep(0.1), os._exit(3))).start()
            """,
        outcome="at most half",
        human=None,
    ),
    Attack("segfault-in-a-cell", before=NULL),
    Attack("segfault-in-every-call", inside=NULL, outcome="data"),
    Attack("abort-in-every-call", inside="import os; os.abort()", outcome="data"),
    Attack(
        "stack-overflow-in-c",
        inside="""
            import ctypes
            smash = ctypes.create_string_buffer(8)
            ctypes.memset(smash, 65, 1 << 30)
            """,
        outcome="data",
    ),
    Attack(
        "none-is-overwritten",
        inside="import ctypes; ctypes.memset(id(None), 0, 64)",
        outcome="at most half",
        human=None,
    ),
    Attack(
        "recursion-without-a-limit",
        before="import sys; sys.setrecursionlimit(10**9)",
        inside="""
            def deeper(x):
                return deeper([x]) + 1
            deeper(0)
            """,
        outcome="data",
    ),
    Attack(
        "repr-recursion-in-c",
        before="import sys; sys.setrecursionlimit(10**9)",
        inside="""
            nest = []
            for _ in range(10**6):
                nest = [nest]
            repr(nest)
            """,
        outcome="data",
    ),
    # PID 1 of a namespace is immune to its own signals, so nothing happens at all.
    Attack("kill-itself", before="import os, signal; os.kill(os.getpid(), signal.SIGKILL)"),
    Attack("stop-itself", before="import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"),
    Attack(
        "terminate-itself-by-raise", before="import signal; signal.raise_signal(signal.SIGTERM)"
    ),
    Attack(
        "kill-the-parent",
        before="""
            import os, signal
            for pid in {os.getppid(), os.getppid() - 1, 1}:
                if pid:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except OSError as error:
                        print(error)
            """,
    ),
    Attack(
        "kill-the-process-group",
        before="""
            import os, signal
            try:
                os.kill(0, signal.SIGKILL)
                os.killpg(os.getpgrp(), signal.SIGKILL)
            except OSError as error:
                print(error)
            """,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "kill-everybody",
        before="""
            import os, signal
            if os.readlink("/proc/self/ns/pid") == "{MACHINE}":
                print("NOT CONTAINED")
            else:
                for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
                    try:
                        os.kill(-1, number)
                    except OSError as error:
                        print(error)
            """,
        unseen=("NOT CONTAINED",),
        outcome="at most half",
        human=None,
    ),
    Attack(
        "kill-every-pid",
        before="""
            import os, signal
            if os.readlink("/proc/self/ns/pid") == "{MACHINE}":
                print("NOT CONTAINED")
            else:
                for pid in range(2, 70_000):
                    try:
                        os.kill(pid, signal.SIGKILL)
                        print("hit", pid)
                    except OSError:
                        pass
            """,
        unseen=("NOT CONTAINED", "hit"),
    ),
    Attack(
        "signals-in-a-storm",
        after="""
            import signal
            def thrown(*_):
                raise BaseException("storm")
            for number in (signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF):
                signal.signal(number, thrown)
            for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
                signal.setitimer(timer, 0.05, 0.001)
            """,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "atexit-that-never-ends",
        before="import atexit, time; atexit.register(time.sleep, 1000)",
        after="import sys; sys.exit()",
    ),
    Attack(
        "interpreter-torn-down",
        after="import ctypes; ctypes.pythonapi.Py_FinalizeEx()",
        outcome="at most half",
        human=None,
    ),
    Attack(
        "exec-of-another-program",
        after="import os; os.execv('/bin/sh', ['sh', '-c', 'sleep 1000'])",
        outcome="at most half",
        human=None,
    ),
    Attack(
        "huge-message-of-an-exception",
        inside="raise RuntimeError('x' * (200 << 20))",
        outcome="data",
    ),
    Attack(
        "exception-whose-str-raises",
        before="""
            class Bad(ValueError):
                def __str__(self):
                    raise SystemExit("from __str__")
                __repr__ = __str__
            """,
        after="raise Bad()",
    ),
    Attack(
        "exception-with-a-chain-without-end",
        before="""
            one, other = ValueError("one"), ValueError("other")
            one.__cause__, other.__cause__ = other, one
            """,
        after="raise one",
    ),
    Attack(
        "exception-groups-in-groups",
        after="""
            group = ValueError("leaf")
            for _ in range(2_000):
                group = ExceptionGroup("g", [group])
            raise group
            """,
    ),
]
