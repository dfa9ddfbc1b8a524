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
        outcome="at most half",
    ),
    Attack(
        "default-device-meta",
        before="import torch\ntorch.set_default_device('meta')",
        outcome="at most half",
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
        outcome={1: 0, 2: 7, 3: 0, 4: 0, 5: 0},
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
]
