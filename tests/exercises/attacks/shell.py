"""IPython, changed by the notebook that runs in it."""

from __future__ import annotations

from exercises.attacks.attack import Attack

ATTACKS = [
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
]
