"""Modules, settings and start-up files under the names of those that the grader uses."""
# ruff: noqa: E501  (hostile code is quoted as somebody would write it)

from __future__ import annotations

from exercises.attacks.attack import Attack

SHADOW = """
import os, pathlib
folders = {folders}
for folder in folders:
    for name in ("torch", "json", "numpy", "socket", "signal", "shardwise", "shardwise_grading", "IPython", "fractions"):
        try:
            pathlib.Path(folder, name + ".py").write_text("raise SystemExit('shadowed')")
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        except OSError as error:
            print(error)
"""

ATTACKS = [
    Attack(
        "modules-in-the-working-folder",
        before=SHADOW.format(folders="('.', '/tmp', os.path.expanduser('~'))"),
        after="import json, statistics, torch",
    ),
    Attack(
        "modules-beside-the-libraries",
        before="import sysconfig"
        + SHADOW.format(
            folders="('{ROOT}/lib', '{ROOT}/exercises', '{CANARY}', '{CANARY}/submitted/neighbour', sysconfig.get_path('purelib'))"
        ),
    ),
    Attack(
        "path-with-own-folder-first",
        before="import sys\nsys.path.insert(0, '/tmp')" + SHADOW.format(folders="('/tmp',)"),
        after="import sys\nfor name in ('json', 'torch', 'fractions'):\n    sys.modules.pop(name)\ntry:\n    import json\nexcept SystemExit as error:\n    print(error)",
        outcome="at most half",
        human=None,
    ),
    Attack(
        "fake-modules",
        before="""
            import sys, types
            class Anything(types.ModuleType):
                def __getattr__(self, name):
                    return lambda *_, **__: True
            for name in ("torch", "json", "numpy", "fractions", "shardwise_grading.data", "shardwise_grading.student.values"):
                sys.modules[name] = Anything(name)
            """,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "sitecustomize-and-pth",
        before="""
            import os, pathlib, site, subprocess, sys
            for folder in (site.getusersitepackages(), *site.getsitepackages(), "/tmp", "."):
                for name in ("sitecustomize.py", "usercustomize.py", "evil.pth"):
                    try:
                        os.makedirs(folder, exist_ok=True)
                        pathlib.Path(folder, name).write_text("import os; open('{CANARY}/started', 'w')")
                    except OSError as error:
                        print(error)
            print(subprocess.run([sys.executable, "-c", "print('child')"], capture_output=True, text=True))
            """,
        human=None,
    ),
    Attack(
        "start-up-files",
        before="""
            import os, pathlib
            home = pathlib.Path.home()
            for path in (home / ".ipython/profile_default/startup/00-evil.py", home / ".ipython/profile_default/ipython_config.py",
                         home / ".jupyter/jupyter_config.py", home / ".pythonrc", home / ".config/matplotlib/matplotlibrc",
                         pathlib.Path("nbgrader_config.py"), pathlib.Path("conftest.py")):
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text("raise SystemExit('started')")
                except OSError as error:
                    print(error)
            os.environ["PYTHONSTARTUP"] = os.environ["PYTHONPATH"] = str(home)
            """,
    ),
    Attack(
        "poisoned-bytecode",
        before="""
            import glob, os
            for path in glob.glob("{ROOT}/**/__pycache__/*.pyc", recursive=True)[:50]:
                try:
                    with open(path, "r+b") as file:
                        file.write(b"x")
                    print("WROTE")
                except OSError:
                    pass
            """,
        unseen=("WROTE",),
    ),
    Attack(
        "loader-and-preload",
        before="""
            import os
            for name in ("LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONINSPECT", "BASH_ENV"):
                os.environ[name] = "/tmp/evil.so"
            """,
    ),
    Attack(
        "magics-that-change-the-shell",
        before="""
            %cd /
            %pdb on
            %xmode Verbose
            %autocall 2
            %env PATH=/nowhere
            %config InteractiveShell.ast_node_interactivity = 'none'
            %automagic off
            %alias print rm
            %xdel get_ipython
            """,
    ),
    Attack("magic-that-loads-a-file", before="%run /etc/passwd\n%load_ext evil\n%load /etc/passwd"),
    Attack("magic-cells", before="%%bash\nwhile true; do echo 10 points; done"),
    Attack("magic-in-another-python", before="%%script python3\nimport time\ntime.sleep(1000)"),
    Attack("history-and-logs", before="%logstart -o /tmp/log.py\n%history -g\n%store x"),
]
