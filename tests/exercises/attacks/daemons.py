"""Processes and threads that want to outlive the cell that started them."""
# ruff: noqa: E501  (hostile code is quoted as somebody would write it)

from __future__ import annotations

from exercises.attacks.attack import Attack

DOUBLE_FORK = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(256):
            try:
                os.close(number)
            except OSError:
                pass
        {body}
    os._exit(0)
"""

ATTACKS = [
    Attack("double-forked-daemon", before=DOUBLE_FORK.format(body="time.sleep(1000)")),
    Attack(
        "double-forked-daemon-that-writes-later",
        before=DOUBLE_FORK.format(
            body="""
        while True:
            time.sleep(0.05)
            try:
                open("{CANARY}/late", "w").write("x")
            except OSError:
                pass""".replace("{CANARY}", "{{CANARY}}")
        ).replace("{{CANARY}}", "{CANARY}"),
    ),
    Attack(
        "daemon-that-ignores-signals",
        before="""
            import os, signal, time
            if os.fork() == 0:
                os.setsid()
                for number in range(1, 65):
                    try:
                        signal.signal(number, signal.SIG_IGN)
                    except (OSError, ValueError):
                        pass
                while True: time.sleep(1)
            """,
    ),
    Attack(
        "daemon-that-holds-every-descriptor",
        before="""
            import os, time
            if os.fork() == 0:
                time.sleep(1000)
            """,
    ),
    Attack(
        "daemon-in-every-call",
        inside="""
            import os, time
            if os.fork() == 0:
                os.setsid()
                time.sleep(1000)
            """,
        outcome="at most half",
        human=None,
    ),
    Attack("program-in-the-background", before="!nohup setsid sleep 1000 > /dev/null 2>&1 &"),
    Attack(
        "program-left-by-subprocess",
        before="import subprocess; subprocess.Popen(['sleep', '1000'], start_new_session=True)",
    ),
    Attack(
        "program-that-keeps-the-pipe",
        before="import subprocess\nprint(subprocess.Popen('sleep 1000 & echo started', shell=True, stdout=subprocess.PIPE).stdout.readline())",
    ),
    Attack(
        "multiprocessing-pool",
        before="""
            import multiprocessing, time
            try:
                pool = multiprocessing.get_context("fork").Pool(4)
                pool.map_async(time.sleep, [1000] * 8)
            except OSError as error:
                print(error)
            """,
    ),
    Attack(
        "talks-after-the-cell",
        before="""
            import threading, time
            def talk():
                while True:
                    print("still here", flush=True)
                    time.sleep(0.001)
            threading.Thread(target=talk, daemon=True).start()
            """,
    ),
    Attack(
        "child-answers-as-well", inside="import os; os.fork()", outcome="at most half", human=None
    ),
    Attack(
        "child-answers-in-place-of-the-parent",
        inside="""
            import os
            if os.fork():
                os.wait()
            """,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "child-runs-the-rest-of-the-notebook",
        before="import os; os.fork()",
        outcome="half",
        human=None,
    ),
    Attack(
        "dies-and-leaves-a-child-to-answer",
        before="""
            import os
            if os.fork():
                os._exit(0)
            """,
        human=None,
    ),
    Attack(
        "cron-and-at",
        before="""
            !echo 'touch {CANARY}/at' | at now
            !(crontab -l; echo '* * * * * touch {CANARY}/cron') | crontab -
            !systemd-run --user touch {CANARY}/systemd
            """,
    ),
    Attack(
        "orphans-of-orphans",
        before="""
            import os, time
            for _ in range(8):
                if os.fork() == 0:
                    os.setsid()
                    if os.fork() == 0:
                        os.setpgid(0, 0)
                        time.sleep(1000)
                    os._exit(0)
            """,
    ),
    Attack(
        "stopped-children",
        before="""
            import os, signal, time
            for _ in range(4):
                if os.fork() == 0:
                    os.kill(os.getpid(), signal.SIGSTOP)
                    time.sleep(1000)
            """,
    ),
    Attack("namespace-of-its-own", before="!unshare -Urpf --mount-proc sleep 1000 &"),
]
