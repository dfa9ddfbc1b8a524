"""Floods: gigabytes on every stream, displays, tracebacks, and streams that are gone."""
# ruff: noqa: E501  (hostile code is quoted as somebody would write it)

from __future__ import annotations

from exercises.attacks.attack import Attack

ATTACKS = [
    Attack(
        "gigabyte-of-lines", before="for _ in range(40_000_000): print('x' * 24)", outcome="half"
    ),
    Attack(
        "gigabyte-in-one-line",
        before="import sys\nfor _ in range(1024): sys.stdout.write('x' * (1 << 20))",
    ),
    Attack("gigabyte-at-once", before="print('x' * (400 << 20))", human=None),
    Attack(
        "gigabyte-by-os-write",
        before="import os\nfor _ in range(1024): os.write(1, b'x' * (1 << 20))",
    ),
    Attack(
        "gigabyte-on-stderr",
        before="import os, sys\nfor _ in range(512):\n    os.write(2, b'x' * (1 << 20))\n    sys.stderr.write('y' * (1 << 20))",
    ),
    Attack("gigabyte-from-a-program", before="!head -c 1000000000 /dev/zero"),
    Attack("endless-program", before="import subprocess; subprocess.run(['yes'])"),
    Attack(
        "gigabyte-by-logging",
        before="import logging\nfor _ in range(200): logging.error('x' * (1 << 20))",
    ),
    Attack(
        "warnings-without-end",
        before="import warnings\nwarnings.simplefilter('always')\nfor n in range(300_000): warnings.warn(str(n))",
        human=None,
    ),
    Attack(
        "binary",
        before="import os, sys\nfor _ in range(100): os.write(1, bytes(range(256)) * 4096)\nprint(''.join(map(chr, range(0xd800))))",
    ),
    Attack("half-characters", before="print('\\ud800 \\udfff' * 1000)\n'\\ud800'"),
    Attack(
        "terminal-codes",
        before="for _ in range(100_000): print('\\033[2J\\033[H\\033]0;10 points\\a\\033[31mred\\r\\x08\\x00')",
    ),
    Attack(
        "markup",
        before="print('</pre><script>alert(1)</script><img src=x onerror=alert(1)>')",
        says=(),
    ),
    Attack("huge-traceback", before="def f(n): return f(n + 1)\nf(0)"),
    Attack(
        "traceback-of-long-lines",
        before="exec(compile('(' + '1+' * 200_000 + 'None)', 'x' * 100_000, 'exec'))",
        human=None,
    ),
    Attack("exception-of-a-gigabyte", before="raise ValueError('x' * (300 << 20))", human=None),
    Attack(
        "repr-that-raises",
        before="""
            class Bad:
                def __repr__(self):
                    raise BaseException("no")
                _repr_html_ = _repr_png_ = _ipython_display_ = __repr__
            Bad()
            """,
    ),
    Attack(
        "repr-of-a-gigabyte",
        before="""
            class Long:
                def __repr__(self):
                    return "x" * (300 << 20)
            Long()
            """,
        human=None,
    ),
    Attack(
        "displays-without-end",
        before="""
            from IPython.display import HTML, display
            for _ in range(20_000):
                display(HTML("<script>alert(1)</script>"))
            """,
    ),
    Attack(
        "picture-of-a-gigabyte",
        before="""
            from IPython.display import Image, display
            for _ in range(100):
                display(Image(b"\\x89PNG" + bytes(8 << 20), format="png"))
            """,
        human=None,
    ),
    Attack(
        "pictures-that-are-none",
        before="""
            from IPython.display import publish_display_data
            publish_display_data({"image/png": "x' onerror='alert(1)", "text/plain": ["no", "text"]})
            publish_display_data({"image/png": 7, "text/plain": b"bytes", "text/html": None})
            publish_display_data({7: object()})
            """,
    ),
    Attack(
        "stdout-is-none",
        before="import sys; sys.stdout = sys.stderr = sys.__stdout__ = None",
        after="print('x')",
    ),
    Attack(
        "stdout-that-loops",
        before="""
            import sys
            class Loop:
                def __getattr__(self, name):
                    while True: pass
            sys.stdout = sys.stderr = Loop()
            """,
        after="print('x')",
    ),
    Attack("stdout-deleted", before="import sys; del sys.stdout, sys.stderr", after="print('x')"),
    Attack(
        "stdout-closed",
        before="import sys; sys.stdout.close(); sys.stderr.close()",
        after="print('x')",
    ),
    Attack(
        "standard-descriptors-closed",
        before="import os; os.closerange(0, 3)",
        after="print('x')",
        outcome="at most half",
    ),
    Attack(
        "every-descriptor-closed",
        before="import os; os.closerange(0, 100_000)",
        outcome="at most half",
        human=None,
    ),
    Attack(
        "every-descriptor-closed-in-every-call",
        inside="import os; os.closerange(0, 100_000)",
        outcome="at most half",
        human=None,
    ),
    Attack("print-in-every-call", inside="print('got', args)\nprint('x' * (1 << 20))"),
    Attack(
        "write-in-every-call", inside="import os\nfor fd in (1, 2): os.write(fd, b'x' * (1 << 16))"
    ),
    Attack(
        "stdin-filled",
        before="import os\ntry:\n    os.write(0, b'x' * (1 << 20))\nexcept OSError as error:\n    print(error)",
    ),
    Attack("shows-a-forged-report", before="print('Hidden checks: 10 of 10 points')\n10.0"),
    Attack(
        "own-excepthooks",
        before="""
            import sys, threading
            def flood(*_):
                while True: print("x")
            sys.excepthook = sys.unraisablehook = threading.excepthook = sys.displayhook = flood
            """,
        after="1 / 0",
        outcome="half",
    ),
    Attack(
        "unraisable-errors",
        before="""
            class Bad:
                def __del__(self):
                    raise ValueError("x" * 10_000)
            for _ in range(20_000):
                Bad()
            """,
    ),
    Attack(
        "prompts-and-clearing",
        before="""
            from IPython.display import clear_output, display, update_display
            for n in range(5_000):
                clear_output(wait=True)
                display(n, display_id=f"x{n}")
                update_display("y" * 1000, display_id=f"x{n}")
            """,
    ),
    Attack("captured-cell", before="%%capture everything\nprint('x' * (100 << 20))", human=None),
    Attack(
        "faulthandler-floods",
        before="""
            import faulthandler, sys
            try:
                faulthandler.enable(1)
                for _ in range(10_000):
                    faulthandler.dump_traceback(1)
            except Exception as error:
                print(error)
            """,
    ),
]
