"""Cells and calls without an end: in Python, in C, with signals ignored, in odd places."""

from __future__ import annotations

from exercises.attacks.attack import COLLECTIVE, TENSORS, Attack

IGNORE = """
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
"""
BLOCK = """
import ctypes
every = (ctypes.c_ulong * 16)(*[2**64 - 1] * 16)
ctypes.CDLL(None).pthread_sigmask(0, every, None)
"""
FOREVER = "while True: pass"
CATCHING = """
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
"""

ATTACKS = [
    Attack("loop-in-a-cell", before=FOREVER),
    Attack("loop-behind-the-solution", after=FOREVER),
    Attack("loop-while-the-solution-is-defined", instead=FOREVER, outcome="half"),
    Attack("loop-in-every-call", inside=FOREVER, outcome="data"),
    Attack("loop-that-catches-everything", before=CATCHING),
    Attack("call-that-catches-everything", inside=CATCHING, outcome="data"),
    Attack("loop-with-signals-ignored", before=IGNORE + FOREVER),
    Attack("call-with-signals-ignored", before=IGNORE, inside=FOREVER, outcome="data"),
    Attack(
        "sleep-with-signals-blocked",
        before=BLOCK + "import time; time.sleep(1000)",
    ),
    Attack(
        "call-sleeps-with-signals-blocked",
        inside=BLOCK + "import time; time.sleep(1000)",
        outcome="data",
    ),
    Attack(
        "alarm-switched-off",
        inside="""
            import signal
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.alarm(0)
            while True: pass
            """,
        outcome="data",
    ),
    Attack(
        "catastrophic-regular-expression",
        inside="import re; re.match('(a*)*b', 'a' * 64)",
        outcome="data",
    ),
    Attack("sum-of-a-huge-range", inside="sum(range(10**12))", outcome="data"),
    Attack("power-of-huge-ints", inside="pow(3, 10**10)", outcome="data"),
    Attack("huge-factorial", before="import math; math.factorial(10**8)"),
    Attack(
        "matmul-of-large-matrices",
        inside="""
            import torch
            a = torch.ones(4000, 4000)
            while True:
                a @ a
            """,
        outcome="data",
    ),
    Attack(
        "one-matmul-that-takes-minutes",
        inside="import torch; a = torch.ones(1, 1).expand(60_000, 60_000); a @ a",
        outcome="data",
    ),
    Attack("wait-for-input", before="input('your name?')"),
    Attack("wait-for-stdin-itself", before="import os; print(len(os.read(0, 100)))"),
    Attack(
        "wait-for-a-lock",
        inside="import threading; l = threading.Lock(); l.acquire(); l.acquire()",
        outcome="data",
    ),
    Attack("wait-for-a-pipe", inside="import os; r, w = os.pipe(); os.read(r, 1)", outcome="data"),
    Attack("wait-for-a-signal-in-c", inside=BLOCK + "ctypes.CDLL(None).pause()", outcome="data"),
    Attack(
        "wait-for-a-child",
        inside="import os\nif os.fork() == 0:\n    os.read(os.pipe()[0], 1)\nos.wait()",
        outcome="data",
    ),
    Attack("debugger", before="import pdb; pdb.set_trace()"),
    Attack("breakpoint-in-every-call", inside="breakpoint()", outcome="at most half", human=None),
    Attack(
        "slow-but-never-late",
        inside="import time; time.sleep(0.8)",
        outcome="at most half",
        human=None,
    ),
    Attack(
        "loop-in-the-destructor",
        after="""
            class Sticky:
                def __del__(self):
                    while True: pass
            Sticky()
            """,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "loop-in-repr-of-the-last-line",
        after="""
            class Slow:
                def __repr__(self):
                    while True: pass
            Slow()
            """,
    ),
    Attack(
        "loop-in-what-is-returned",
        before="""
            class Slow:
                def loop(self, *_):
                    while True: pass
                __getattr__ = __len__ = __iter__ = __eq__ = __float__ = __repr__ = loop
            """,
        inside="return Slow()",
        outcome="data",
    ),
    Attack(
        "loop-in-the-message-of-an-error",
        before="""
            class Slow(Exception):
                def __str__(self):
                    while True: pass
            """,
        inside="raise Slow",
        outcome="data",
    ),
    Attack(
        "loop-in-a-metaclass",
        before="""
            class Meta(type):
                def __getattribute__(cls, name):
                    while True: pass
                def __instancecheck__(cls, other):
                    while True: pass
            class Slow(Exception, metaclass=Meta): pass
            """,
        inside="raise Slow",
        outcome="data",
    ),
    Attack(
        "generator-without-an-end",
        inside="import itertools; return itertools.count()",
        outcome="data",
    ),
    Attack(
        "list-that-grows-while-it-is-read",
        inside="""
            import threading
            grown = [0.0]
            def grow():
                while True:
                    grown.append(0.0)
                    if len(grown) > 1_000_000:
                        del grown[1:]
            threading.Thread(target=grow, daemon=True).start()
            return grown
            """,
        outcome="data",
    ),
    Attack(
        "threads-that-spin",
        after="""
            import threading
            def spin():
                while True: pass
            for _ in range(4):
                threading.Thread(target=spin, daemon=True).start()
            """,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "threads-that-are-no-daemons",
        after="""
            import threading, time
            for _ in range(8):
                threading.Thread(target=time.sleep, args=(1000,)).start()
            """,
    ),
    Attack(
        "tracing-that-never-ends",
        after="""
            import sys
            def trace(*_):
                while True: pass
            sys.settrace(trace)
            """,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "garbage-collector-that-never-ends",
        after="""
            import gc
            def spin(*_):
                while True: pass
            gc.callbacks.append(spin)
            gc.collect()
            """,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "compiler-that-never-ends",
        before="exec('x = ' + '+'.join(['1'] * 3_000_000))",
        outcome="half",
        human=None,
    ),
    Attack(
        "collective-without-an-end",
        before="from shardwise.distributed import ring_all_reduce\nimport torch",
        inside="""
            while True:
                ring_all_reduce([torch.ones(2), torch.ones(2)])
            """,
        exercises=COLLECTIVE,
        outcome="data",
    ),
    Attack(
        "backward-hook-that-never-ends",
        inside="""
            import torch
            x = torch.ones(1, requires_grad=True)
            x.register_hook(lambda _: [None for _ in iter(int, 1)])
            x.sum().backward()
            """,
        exercises=TENSORS,
        outcome="data",
    ),
    Attack("asyncio-without-an-end", before="import asyncio\nawait asyncio.sleep(1000)"),
    Attack("magic-without-an-end", before="!sleep 1000"),
    Attack("timeit-without-an-end", before="%timeit -n 1000000000 -r 1 pass"),
]
