"""The course, other submissions, the gradebook and the machine: read and written."""
# ruff: noqa: E501  (hostile code is quoted as somebody would write it)

from __future__ import annotations

from exercises.attacks.attack import Attack

# {CANARY} is a folder that looks like a course: hidden/, gradebook.db, submitted/neighbour/...
READ_ALL = """
import os
for folder, folders, files in os.walk({where}):
    for name in files:
        try:
            with open(os.path.join(folder, name), "rb") as file:
                print(name, file.read(2000))
        except OSError:
            pass
"""
WRITE = """
import os, pathlib
for path in ({paths}):
    try:
        path = pathlib.Path(path)
        if path.is_dir():
            path = path / "written-by-a-student"
        path.write_text("10 points")
        print("WROTE", path)
    except OSError as error:
        print(path, error)
"""

ATTACKS = [
    Attack("reads-the-course-folder", before=READ_ALL.format(where="'{CANARY}'")),
    Attack("reads-the-hidden-checks", before=READ_ALL.format(where="'{HIDDEN}'")),
    Attack("reads-the-repository", before=READ_ALL.format(where="'{ROOT}/exercises'")),
    Attack("reads-the-course-in-every-call", inside=READ_ALL.format(where="'{CANARY}'")),
    Attack(
        "imports-the-hidden-checks",
        before="import sys\nsys.path[:0] = ['{HIDDEN}', '{ROOT}/exercises', '{ROOT}/tests']\ntry:\n    import row_parallel\n    print('LEAK', row_parallel)\nexcept ImportError as error:\n    print(error)",
        unseen=("LEAK <",),
    ),
    Attack(
        "calls-the-grader-with-hidden-checks",
        before="""
            import os
            os.environ["SHARDWISE_HIDDEN"] = "{HIDDEN}"
            os.environ["SHARDWISE_SEED"] = "1"
            from shardwise_grading import grade
            try:
                print("LEAK", grade("stage_2_memory", "stage2_bytes", print, points=8))
            except Exception as error:
                print(type(error))
            """,
        unseen=("LEAK Hidden",),
    ),
    Attack(
        "writes-into-the-course",
        before=WRITE.format(
            paths="'{CANARY}', '{CANARY}/hidden', '{CANARY}/gradebook.db', '{CANARY}/submitted/neighbour', '{CANARY}/submitted/neighbour/distributed-training/2-stage-2-memory.ipynb', '{CANARY}/results'"
        ),
        unseen=("WROTE",),
    ),
    Attack(
        "writes-into-the-repository",
        before=WRITE.format(
            paths="'{ROOT}', '{HIDDEN}', '{ROOT}/exercises', '{ROOT}/lib/shardwise', '{ROOT}/exercises/shardwise_grading', '{ROOT}/exercises/shardwise_grading/__init__.py', '{ROOT}/tests'"
        ),
        unseen=("WROTE",),
    ),
    Attack(
        "writes-into-the-environment",
        before="import sys, sysconfig\n"
        + WRITE.format(
            paths="sys.prefix, sysconfig.get_path('purelib'), sysconfig.get_path('purelib') + '/torch', sysconfig.get_path('stdlib'), sys.executable"
        ),
        unseen=("WROTE",),
    ),
    Attack(
        "writes-into-the-system",
        before=WRITE.format(
            paths="'/', '/etc', '/etc/passwd', '/usr/bin', '/usr/local', '/root', '/home', '/var', '/var/tmp', '/run', '/dev', '/boot', '/opt', '/proc/sys/kernel', '/sys'"
        ),
        unseen=("WROTE",),
    ),
    Attack(
        "deletes-the-course",
        before="""
            import os, shutil
            for path in ("{CANARY}", "{HIDDEN}/none", "{CANARY}/hidden"):
                shutil.rmtree(path, ignore_errors=True)
            !rm -rf {CANARY}
            """,
    ),
    Attack(
        "writes-the-gradebook",
        before="""
            import sqlite3
            try:
                with sqlite3.connect("{CANARY}/gradebook.db") as book:
                    book.execute("create table grade (score)")
                    print("WROTE")
            except sqlite3.Error as error:
                print(error)
            """,
        unseen=("WROTE",),
    ),
    Attack(
        "changes-rights-and-owners",
        before="""
            import os
            for path in ("{CANARY}", "{CANARY}/gradebook.db", "{HIDDEN}", "/tmp", "/"):
                for deed in (lambda: os.chmod(path, 0o777), lambda: os.chown(path, 0, 0),
                             lambda: os.rename(path, path + "-gone"), lambda: os.utime(path, (0, 0))):
                    try:
                        deed()
                    except OSError as error:
                        print(path, error.errno)
            """,
    ),
    Attack(
        "links-to-the-course",
        before="""
            import os
            for make in (os.symlink, os.link):
                for target in ("{CANARY}/gradebook.db", "{CANARY}/hidden/secret.py", "/etc/shadow", "{CANARY}"):
                    try:
                        make(target, f"/tmp/{make.__name__}-{abs(hash(target))}")
                    except OSError as error:
                        print(error)
            """
        + READ_ALL.format(where="'/tmp', followlinks=True").replace("\n", "\n            "),
    ),
    Attack(
        "leaves-links-in-scratch-folders",
        before="""
            import os
            for folder in ("/tmp", "/var/tmp", "/dev/shm", ".", os.path.expanduser("~")):
                for name in ("2-stage-2-memory.ipynb", "gradebook.db", "results.json", ".ipython"):
                    try:
                        os.symlink("{CANARY}/gradebook.db", os.path.join(folder, name))
                    except OSError as error:
                        print(error)
            """,
    ),
    Attack(
        "reads-passwords",
        before="""
            for path in ("/etc/shadow", "/etc/gshadow", "/root/.ssh/id_rsa", "/etc/ssh/ssh_host_rsa_key", "/root/.bashrc", "/root/.profile"):
                try:
                    with open(path) as file:
                        print("READ", path, len(file.read()))
                except OSError as error:
                    print(error)
            """,
        unseen=("READ",),
    ),
]
