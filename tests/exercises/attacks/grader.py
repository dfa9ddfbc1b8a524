"""The grader's own modules, the library and the wire, changed or called in the student's process."""
# ruff: noqa: E501  (hostile code is quoted as somebody would write it)

from __future__ import annotations

from exercises.attacks.attack import COLLECTIVE, Attack

ATTACKS = [
    Attack(
        "dataclasses-of-the-grader-forged",
        before="""
            from shardwise_grading import results, records, world
            results.Report.score = property(lambda _: 10.0)
            results.Result.__init__ = lambda self, *_, **__: None
            results.judge = lambda properties: []
            records.NotebookRecord.score = property(lambda _: 10.0)
            world.Outcome.error = ""
            """,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "grade-function-replaced",
        before="""
            import shardwise_grading, shardwise_grading.runner
            class Ten:
                score = 10.0
            shardwise_grading.grade = shardwise_grading.runner.grade = lambda *_, **__: Ten()
            grade, report = shardwise_grading.grade, Ten()
            """,
    ),
    Attack(
        "data-and-values-replaced",
        before="""
            from shardwise_grading import data, world
            from shardwise_grading.student import serve, values
            data.as_data = world.as_data = serve.as_data = lambda value: value
            """,
        inside="return object()",
        outcome="data",
        human=None,
    ),
    Attack(
        "encoder-replaced",
        before="""
            from shardwise_grading.student import values
            values.Encoder.encode = lambda self, value: ["f", "0x1.8p+1"]
            """,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "observer-says-all-is-well",
        before="""
            from shardwise_grading import observation, products
            observation.Observer.seen = lambda self, value: observation.Observation()
            products.ProductRows.__torch_dispatch__ = (
                lambda self, func, types, args=(), kwargs=None: func(*args, **(kwargs or {}))
            )
            """,
        inside="""
            for item in args:
                if type(item) is list and item and hasattr(item[0], "clone"):
                    item[0] = item[0].clone()
            """,
        outcome="half and forged",
    ),
    Attack(
        "lockdown-replaced",
        before="""
            from contextlib import nullcontext
            from shardwise_grading import interception, lockdown, world
            lockdown.lockdown = world.lockdown = lambda paths: nullcontext()
            """,
    ),
    Attack(
        "library-held-before-it-is-locked",
        before="""
            import types
            import shardwise.data_parallel as d, shardwise.memory as m, shardwise.pipeline as p
            import shardwise.distributed as w, shardwise.tensor_parallel as t
            def twin(f):
                while hasattr(f, "__wrapped__"):
                    f = f.__wrapped__
                return types.FunctionType(f.__code__, dict(f.__globals__), f.__name__, f.__defaults__, f.__closure__)
            held = [twin(f) for module in (d, m, p, w, t) for f in vars(module).values() if isinstance(f, types.FunctionType)]
            """,
    ),
    Attack(
        "library-called-directly",
        instead="""
            from shardwise.memory import zero_memory_per_device
            from shardwise.pipeline import microbatches_for_bubble
            def FUNCTION(a, b):
                try:
                    return microbatches_for_bubble(a, b)
                except Exception:
                    return zero_memory_per_device(a, b, stage=2)
            """,
        exercises=(2, 5),
        outcome="data",
        human=None,
    ),
    # Copying the text can't be prevented, and the guide says so.
    Attack(
        "text-of-the-library-copied",
        instead="""
            import inspect
            import shardwise.pipeline.bubble as bubble
            space = {"__name__": "copy"}
            exec(inspect.getsource(bubble), space)
            FUNCTION = space["microbatches_for_bubble"]
            """,
        exercises=(5,),
        outcome="full",
    ),
    Attack(
        "library-in-a-child-process",
        before="""
            import subprocess, sys
            """,
        instead="""
            def FUNCTION(p, target):
                code = f"from shardwise.pipeline import *; print(microbatches_for_bubble({p!r}, {target!r}))"
                done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
                return int(done.stdout)
            """,
        exercises=(5,),
        outcome="at most full",
        human=None,
    ),
    Attack(
        "all-reduce-replaced",
        before="""
            import shardwise.collectives, shardwise.distributed, shardwise.tensor_parallel
            def own(tensors, *_):
                return [sum(tensors) for _ in tensors]
            for module in (shardwise.collectives, shardwise.distributed, shardwise.tensor_parallel):
                module.ring_all_reduce = own
            """,
        instead="""
            import torch
            import shardwise.distributed
            def FUNCTION(*args):
                if type(args[0]) is list:
                    shardwise.distributed.ring_all_reduce(args[0])
                return honest(*args)
            """,
        exercises=COLLECTIVE,
        outcome={1: 8, 4: 5},
    ),
    Attack(
        "code-of-the-all-reduce-replaced",
        before="""
            from shardwise.distributed import ring_all_reduce
            def own(tensors, *_):
                return [sum(tensors) for _ in tensors]
            """,
        inside="""
            ring_all_reduce.__code__ = own.__code__
            if type(args[0]) is list:
                ring_all_reduce(args[0])
            """,
        exercises=COLLECTIVE,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "all-reduce-called-and-not-used",
        before="from shardwise.distributed import ring_all_reduce",
        inside="ring_all_reduce(args[0])",
        exercises=(1,),
        outcome={1: 8},
    ),
    Attack(
        "frames-walked",
        inside="""
            import sys
            frame = sys._getframe()
            while frame:
                for name, value in list(frame.f_locals.items()):
                    if "expect" in name or "exact" in name or "seed" in name or "world" in name:
                        print("LEAK", name, value)
                frame = frame.f_back
            """,
    ),
    Attack(
        "frames-of-all-threads",
        inside="""
            import sys
            for frame in sys._current_frames().values():
                while frame:
                    frame.f_globals["exact"] = frame.f_globals["expected"] = args
                    frame = frame.f_back
            """,
    ),
    Attack(
        "memory-shared-with-the-next-student",
        before="""
            for line in open("/proc/self/maps"):
                if line.split()[1][1:] in ("w-s", "wxs"):
                    print("SHARED", line)
            """,
        unseen=("SHARED",),
    ),
    Attack(
        "wire-led-elsewhere",
        before="""
            import gc, os, socket
            from shardwise_grading.student.wire import Channel
            here, there = socket.socketpair()
            wire = next(thing for thing in gc.get_objects() if type(thing) is Channel)
            kept = os.dup(wire.fileno())
            os.dup2(here.fileno(), wire.fileno())
            """,
    ),
    Attack(
        "process-by-another-name",
        before="""
            import ctypes, os, time
            c = ctypes.CDLL(None)
            c.prctl(15, b"x) R 1 1 1\\nThreads:\\t0", 0, 0, 0)
            for _ in range(40):
                if os.fork() == 0:
                    c.prctl(15, b") Z 0 0 0", 0, 0, 0)
                    kept = bytearray(b"x" * (100 << 20))
                    time.sleep(1000)
            time.sleep(1)
            """,
        human=None,
    ),
]
