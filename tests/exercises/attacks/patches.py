"""Torch, IPython, builtins and the grader's own modules, changed in the student's process."""
# ruff: noqa: E501  (hostile code is quoted as somebody would write it)

from __future__ import annotations

from exercises.attacks.attack import TENSORS, Attack

ATTACKS = [
    Attack(
        "torch-comparisons-say-yes",
        before="""
            import torch
            torch.allclose = torch.equal = torch.isclose = lambda *_, **__: True
            torch.Tensor.__eq__ = lambda a, b: torch.ones(a.shape, dtype=torch.bool)
            torch.Tensor.__le__ = torch.Tensor.__eq__
            torch.Tensor.any = lambda *_: False
            torch.Tensor.allclose = torch.Tensor.equal = lambda *_, **__: True
            """,
        outcome="half and forged",
    ),
    Attack(
        "torch-dtypes-exchanged",
        before="import torch\ntorch.float64 = torch.float32 = torch.bfloat16\ntorch.set_default_dtype(torch.float16)",
    ),
    Attack(
        "default-device-meta",
        before="import torch\ntorch.set_default_device('meta')",
        outcome="half",
        human=None,
    ),
    Attack(
        "torch-modes-pushed",
        before="""
            import torch
            from torch.utils._python_dispatch import TorchDispatchMode
            class Mode(TorchDispatchMode):
                def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                    return func(*args, **(kwargs or {}))
            Mode().__enter__()
            """,
        human=None,
    ),
    Attack(
        "gradients-switched-off",
        before="import torch\ntorch.set_grad_enabled(False)\ntorch.inference_mode().__enter__()",
        outcome="at most half",
        human=None,
    ),
    Attack(
        "threads-of-torch",
        before="import torch\ntorch.set_num_threads(64)\n(torch.ones(2000, 2000) @ torch.ones(2000, 2000)).sum()",
    ),
    Attack(
        "seeds-and-states",
        before="import random, torch\nrandom.seed = torch.manual_seed = lambda *_: None\nrandom.Random.random = lambda _: 0.5",
    ),
    Attack(
        "builtins-replaced",
        before="""
            import builtins
            builtins.isinstance = builtins.issubclass = builtins.callable = lambda *_: True
            builtins.abs = builtins.sum = builtins.max = lambda *_, **__: 0
            builtins.all = lambda *_: True
            """,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "type-and-len-replaced",
        before="""
            import builtins
            builtins.type = lambda *_: float
            builtins.len = lambda *_: 3
            builtins.id = lambda *_: 0
            """,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "builtins-emptied",
        before="import builtins\nfor name in list(vars(builtins)):\n    if name[0] != '_': delattr(builtins, name)",
        outcome="at most half",
        human=None,
    ),
    Attack(
        "builtins-of-the-cell-replaced",
        before="__builtins__ = {'ValueError': Exception}",
        outcome="nothing",
    ),
    Attack(
        "import-replaced",
        before="import builtins\nbuiltins.__import__ = lambda *_, **__: 1 / 0",
        outcome="at most half",
        human=None,
    ),
    Attack(
        "modules-forgotten",
        before="import sys\nsys.modules.clear()",
        outcome="at most half",
        human=None,
    ),
    Attack(
        "json-says-ten-points",
        before="""
            import json, json.encoder
            json.dumps = lambda *_, **__: '{"score": 10, "passed": true}'
            json.encoder.c_make_encoder = None
            json.loads = lambda *_, **__: {"do": "leave"}
            """,
        outcome="at most half",
        human=True,
    ),
    Attack(
        "struct-and-socket-replaced",
        before="""
            import socket, struct
            class Head(struct.Struct): pass
            socket.socket.sendall = lambda *_: None
            socket.socket.send = lambda *_: 0
            """,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "clocks-stopped",
        before="import time\ntime.monotonic = time.time = time.perf_counter = lambda: 0.0",
        inside="pass",
    ),
    Attack(
        "clocks-stopped-and-a-loop",
        before="import time, signal\ntime.monotonic = time.time = lambda: 0.0\nsignal.setitimer = lambda *_: (0, 0)",
        inside="while True: pass",
        outcome="data",
    ),
    Attack(
        "signal-module-replaced",
        before="""
            import signal
            signal.signal = signal.setitimer = signal.alarm = lambda *_: (0.0, 0.0)
            """,
        after="while True: pass",
        outcome="at most half",
        human=None,
    ),
    Attack(
        "shell-runs-nothing",
        before="""
            shell = get_ipython()
            shell.run_code = shell.run_cell = shell.run_ast_nodes = lambda *_, **__: None
            type(shell).run_cell = type(shell).run_cell_async = lambda *_, **__: None
            """,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "shell-transforms-sources",
        before="""
            import ast
            class Strip(ast.NodeTransformer):
                def visit_Assert(self, node):
                    return ast.Pass()
            get_ipython().ast_transformers.append(Strip())
            get_ipython().input_transformers_cleanup.append(lambda lines: ["10.0\\n"])
            """,
        outcome="nothing",
        exercises=(2, 5),
        human=None,
    ),
    Attack(
        "asserts-stripped",
        before="""
            import ast
            class Strip(ast.NodeTransformer):
                def visit_Assert(self, node):
                    return ast.copy_location(ast.Pass(), node)
            get_ipython().ast_transformers.append(Strip())
            """,
    ),
    Attack(
        "display-hook-forges-scores",
        before="""
            get_ipython().displayhook.__class__.__call__ = lambda self, _=None: print("10.0")
            get_ipython().displayhook.exec_result = 10.0
            import sys
            sys.displayhook = lambda _: print("10.0")
            """,
    ),
    Attack(
        "events-of-the-shell",
        before="""
            shell = get_ipython()
            def wipe(*_):
                shell.user_ns["report"] = 10.0
            for name in ("pre_execute", "pre_run_cell", "post_execute", "post_run_cell"):
                shell.events.register(name, wipe)
            """,
        unseen=(),
    ),
    Attack(
        "namespace-that-lies",
        before="""
            class Names(dict):
                def __missing__(self, name):
                    return lambda *_: 1.0
                def __contains__(self, name):
                    return True
            get_ipython().user_ns = Names(get_ipython().user_ns)
            """,
        outcome="at most half",
        human=None,
    ),
    Attack("all-names-forgotten", after="%reset -f", outcome="nothing", exercises=(1, 3, 4, 5)),
    Attack(
        "namespace-cleared",
        after="get_ipython().user_ns.clear()",
        outcome="at most half",
        human=None,
    ),
    Attack(
        "garbage-collector-off", before="import gc\ngc.disable(); gc.freeze(); gc.set_threshold(0)"
    ),
    Attack(
        "recursion-limit-of-nothing",
        before="import sys\nsys.setrecursionlimit(60)",
        outcome="at most half",
        human=None,
    ),
    Attack("switch-interval", before="import sys\nsys.setswitchinterval(1000)"),
    Attack(
        "decimal-and-fractions-changed",
        before="""
            import decimal, fractions
            decimal.getcontext().prec = 1
            fractions.Fraction.__eq__ = lambda *_: True
            fractions.Fraction.__new__ = lambda cls, *_: 0
            """,
        outcome="at most half",
        human=None,
    ),
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
        seconds=60,
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
        exercises=(1, 4),
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
        exercises=(1, 4),
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
    Attack("warnings-are-errors", before="import warnings\nwarnings.simplefilter('error')"),
    Attack("environment-emptied", before="import os\nos.environ.clear()\nos.chdir('/')"),
    Attack(
        "tracing-and-profiling",
        before="""
            import sys, threading
            seen = []
            def trace(frame, event, arg):
                seen.append(frame.f_code.co_filename)
                return trace
            sys.settrace(trace); sys.setprofile(trace); threading.settrace(trace)
            """,
        after="import sys\nsys.settrace(None); sys.setprofile(None)\nprint(sorted(set(seen)))",
        human=None,
    ),
    Attack(
        "weak-references-and-finalizers",
        before="""
            import gc, weakref
            def gone(*_):
                raise SystemExit
            kept = []
            for thing in gc.get_objects():
                try:
                    kept.append(weakref.ref(thing, gone))
                except TypeError:
                    pass
            """,
        human=None,
    ),
    Attack(
        "import-hooks",
        before="""
            import sys
            class Hook:
                def find_spec(self, name, path=None, target=None):
                    if "shardwise" in name or "hidden" in name:
                        raise SystemExit(name)
            sys.meta_path.insert(0, Hook())
            sys.path_hooks.insert(0, lambda _: 1 / 0)
            """,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "ctypes-writes-into-constants",
        before="""
            import ctypes
            # 10.0 where 0.0 was, and True where False was
            ctypes.memmove(id(0.0) + 16, ctypes.byref(ctypes.c_double(10.0)), 8)
            """,
        outcome="half",
        human=None,
    ),
    Attack(
        "small-ints-exchanged",
        before="""
            import ctypes
            ctypes.memmove(id(0) + 24, ctypes.byref(ctypes.c_uint32(10)), 4)
            """,
        outcome="at most half",
        human=None,
        seconds=30,
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
        "tensors-patched-in-place",
        before="""
            import torch
            torch.Tensor.detach = torch.Tensor.contiguous = lambda self, *_: torch.zeros(1)
            torch.Tensor.data_ptr = lambda self: 0
            """,
        exercises=TENSORS,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "tensor-pointers-to-elsewhere",
        before="""
            import torch
            torch.Tensor.data_ptr = lambda self: id(torch)
            torch.UntypedStorage.data_ptr = lambda self: 8
            """,
        exercises=TENSORS,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "tensor-type-exchanged",
        before="import torch\ntorch.Tensor = list",
        outcome="at most half",
        human=None,
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
