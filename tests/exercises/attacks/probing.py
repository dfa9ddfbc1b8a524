"""Finding out that it is graded, and behaving differently then."""
# ruff: noqa: E501  (hostile code is quoted as somebody would write it)

from __future__ import annotations

from exercises.attacks.attack import Attack

GRADED = """
import os, sys, getpass, socket
graded = bool(
    "NBGRADER_EXECUTION" in os.environ or "SHARDWISE_SEED" in os.environ or "JPY_PARENT_PID" not in os.environ
    or os.getuid() > 60000 or os.getpid() < 10 or "ipykernel" not in sys.modules or "shardwise_grading" in sys.modules
)
"""

ATTACKS = [
    Attack(
        "answers-only-what-is-visible",
        instead="""
            visible = {(1000000, 1): 16000000, (4, 0.25): 9, (4, 0.1): 27, (1, 0.1): 1}
            def FUNCTION(*args):
                return visible[args]
            """,
        exercises=(2, 5),
        outcome="at most half",
    ),
    Attack(
        "other-code-when-graded",
        before=GRADED,
        instead="""
            def FUNCTION(*args):
                if graded:
                    raise SystemExit("no answers here")
                return honest(*args)
            """,
        outcome="data",
    ),
    Attack("refuses-when-graded", before=GRADED + "if graded:\n    os._exit(0)"),
    Attack(
        "other-code-on-the-second-run",
        before="""
            import os, pathlib
            mark = pathlib.Path("/tmp/seen-before")
            second = mark.exists()
            mark.touch()
            if not second:
                os._exit(0)
            """,
    ),
    Attack(
        "second-call-differs",
        before="calls = 0",
        inside="""
            global calls
            calls += 1
            if calls % 2:
                return None
            """,
        outcome="at most half",
    ),
    Attack(
        "prints-the-environment",
        before="import os, sys\nprint(dict(os.environ), sys.argv, sys.path, sys.flags, os.getuid(), os.getcwd())\n!env; id; ps aux; mount; cat /proc/1/cmdline /proc/self/status",
    ),
    Attack(
        "prints-the-stack",
        inside="import traceback\ntraceback.print_stack()",
        after="import traceback\ntraceback.print_stack()",
    ),
    Attack(
        "keeps-arguments-and-prints-them-later",
        before="kept = []",
        inside="kept.append(repr(args)[:200])",
        after="print(kept)",
    ),
    Attack(
        "measures-time",
        before="import time\nstarted = time.perf_counter()",
        inside="import time\nif time.perf_counter() - started > 1000:\n    raise SystemExit",
    ),
    Attack(
        "looks-for-hidden-names",
        before="""
            print([name for name in dir() if "hidden" in name or "seed" in name])
            print(get_ipython().user_ns.keys(), get_ipython().user_ns_hidden.keys())
            """,
    ),
    Attack(
        "looks-at-the-grader's-modules",
        before="""
            import sys
            names = [name for name in sys.modules if name.startswith("shardwise_grading")]
            print(names)
            for name in names:
                if ".checking" in name or ".gradebook" in name or ".class_run" in name or "hidden_" in name:
                    print("LEAK", name)
            """,
        unseen=("LEAK",),
    ),
]
