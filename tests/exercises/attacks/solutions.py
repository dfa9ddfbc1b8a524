"""Solutions that are no plain functions, and errors that are not what they are called."""
# ruff: noqa: E501  (hostile code is quoted as somebody would write it)

from __future__ import annotations

from exercises.attacks.attack import TENSORS, Attack

ATTACKS = [
    Attack("solution-is-no-function", instead="FUNCTION = 5", outcome="data"),
    Attack("solution-is-deleted", after="del FUNCTION", outcome="data"),
    Attack("solution-is-none", instead="FUNCTION = None", outcome="data"),
    Attack(
        "solution-is-a-class",
        before="class Answer:\n    def __init__(self, *args): self.args = args",
        instead="FUNCTION = Answer",
        outcome="data",
    ),
    Attack("solution-is-a-type", instead="FUNCTION = int", outcome="at most half"),
    Attack(
        "solution-is-a-partial",
        before="import functools",
        instead="FUNCTION = functools.partial(honest)",
    ),
    Attack(
        "solution-is-a-method",
        instead="class Box:\n    def method(self, *args):\n        return honest(*args)\nFUNCTION = Box().method",
    ),
    Attack(
        "solution-is-a-coroutine",
        instead="async def FUNCTION(*args):\n    return honest(*args)",
        outcome="data",
    ),
    Attack(
        "solution-is-a-generator",
        instead="def FUNCTION(*args):\n    yield honest(*args)",
        outcome="data",
    ),
    Attack(
        "solution-is-jit-compiled",
        before="import torch",
        instead="FUNCTION = torch.compiler.disable(honest)",
        exercises=TENSORS,
        human=None,
    ),
    Attack(
        "callable-that-loops-when-asked",
        instead="""
            class Shy:
                def __getattribute__(self, name):
                    while True: pass
                def __call__(self, *args):
                    return honest(*args)
            FUNCTION = Shy()
            """,
    ),
    Attack(
        "code-exchanged-while-running",
        before="calls = 0",
        instead="""
            def FUNCTION(*args):
                FUNCTION.__code__ = (lambda *args: 1.0).__code__
                return honest(*args)
            """,
        outcome="at most half",
    ),
    Attack(
        "error-by-another-name",
        before="class ValueError(Exception): pass\nclass TypeError(Exception): pass",
        outcome="half",
    ),
    Attack(
        "error-with-ten-thousand-bases",
        before="""
            bases = [type(f"Base{n}", (Exception,), {}) for n in range(3000)]
            Wide = type("Wide", tuple(bases), {})
            """,
        inside="raise Wide",
        outcome="data",
        human=None,
    ),
    Attack(
        "error-with-a-name-of-a-megabyte",
        before="Long = type('x' * (1 << 20), (Exception,), {})",
        inside="raise Long('\\033[2J<script>')",
        outcome="data",
        human=None,
    ),
    Attack(
        "error-named-in-half-characters",
        before="Odd = type('V\\udcff\\ud800\\n\\033[31m', (Exception,), {})",
        inside="raise Odd('\\udcff')",
        outcome="data",
        human=None,
    ),
    Attack(
        "always-the-expected-error",
        inside="raise ValueError('of course')",
        exercises=(1, 3, 4),
        outcome="data",
    ),
    Attack(
        "arguments-held-and-changed",
        before="held = []",
        inside="""
            held.append(args)
            for arguments in held[:-1]:
                for item in arguments:
                    for tensor in item if type(item) is list else [item]:
                        if hasattr(tensor, "data"):
                            tensor.data.fill_(0)
            """,
        exercises=TENSORS,
    ),
    Attack(
        "destructor-bomb",
        before="""
            class Bomb:
                def __del__(self):
                    raise SystemExit
            """,
        inside="bomb = Bomb(); del bomb",
    ),
]
