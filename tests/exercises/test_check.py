"""The student's check: what it says of right, wrong and strange notebooks, and how it ends."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from student_notebook import RIGHT, SOURCE, TABLE, code, write
from support import ROOT, wait_until

from shardwise_grading.check import ask, place
from shardwise_grading.check.command import main
from shardwise_grading.check.magic import magic
from shardwise_grading.check.page import DARK, LIGHT

WIDGETS = ROOT / "widgets" / "shardwise_widgets"

UNSTOPPABLE = """import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
while True: pass"""
STUB = 'def stage2_bytes(psi, n):\n    """Bytes."""\n    # 1. Refuse.\n    # Your code here.'
PASSES = "stage2_bytes passes the checks that you can see."


def process_of(runtime):
    """The warm process that listens in a folder, or None."""
    locks = sorted(runtime.rglob("*.lock"), key=lambda lock: lock.stat().st_mtime_ns)
    return int(locks[-1].read_text()) if locks else None


def is_alive(process):
    """Whether it still does anything; one that nobody waits for stays listed."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture(scope="module")
def runtime():
    """A short path, as sockets need one, without what the user's own checks left there."""
    with tempfile.TemporaryDirectory(prefix="sw") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        name = place.key()  # the same for the whole module, also while somebody edits the package
        patch.setattr(place, "key", lambda: name)
        yield Path(folder)
        if process := process_of(Path(folder)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)


@pytest.fixture
def say(runtime, capsys):
    """Check a notebook; the exit status and what was said."""

    def said(path, *options):
        status = main([str(path), *options])
        captured = capsys.readouterr()
        return status, " ".join((captured.out + captured.err).split())

    return said


class TestWords:
    @pytest.mark.parametrize("options", [[], ["--cold"]])
    def test_are_those_of_the_notebook(self, say, tmp_path, options):
        status, text = say(write(tmp_path), *options)
        assert status == 0
        assert f"passed stage2_bytes {PASSES}" in text
        assert "passed partition Every row of the table has a word." in text
        assert "passes its visible checks" in text

    @pytest.mark.parametrize("options", [[], ["--cold"]])
    def test_of_a_wrong_answer_are_the_message_of_the_check(self, say, tmp_path, options):
        status, text = say(write(tmp_path, "def stage2_bytes(psi, n): return 16 * psi"), *options)
        assert status == 1
        assert "failed stage2_bytes the number above: what does stage 2 cut" in text
        assert "passed partition" in text
        assert "1 of 2 passed." in text

    @pytest.mark.parametrize("path", sorted(SOURCE.glob("*.ipynb")), ids=lambda path: path.stem)
    def test_of_every_exercise_with_its_solution(self, say, path):
        status, text = say(path)
        assert status == 0, text

    @pytest.mark.usefixtures("runtime")
    def test_of_several_notebooks_stand_apart(self, tmp_path, capsys):
        path = str(write(tmp_path))
        main([path, path, str(tmp_path / "no.ipynb"), path])
        assert capsys.readouterr().out.count("\n\n2-stage-2-memory.ipynb, saved") == 2

    def test_name_the_stub(self, say, tmp_path):
        status, text = say(write(tmp_path, STUB))
        assert status == 1
        assert (
            "failed stage2_bytes The saved file has only the stub: write your answer, and save."
            in text
        )

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            ("def stage2_bytes(psi, n:\n    pass", "SyntaxError: '(' was never closed (line 1)"),
            (
                "def stage2_bytes(psi, n):\n    return psi / nn",
                "NameError: name 'nn' is not defined (line 2 of the cell, in stage2_bytes)",
            ),
            (
                "stage2 = 1",
                "failed stage2_bytes stage2_bytes is not defined: your cell for it defines stage2.",
            ),
            (
                "import torch\ndef stage_2_bytes(psi, n): return 0\nclass B: pass",
                "stage2_bytes is not defined: your cell for it defines stage_2_bytes, B.",
            ),
            ("", "stage2_bytes is not defined: your cell for it defines nothing."),
            ("# later", "stage2_bytes is not defined: your cell for it defines nothing."),
            (
                "def stage2_bytes(psi, n)\n    return 1",
                (
                    "failed stage2_bytes Your cell with stage2_bytes stops: "
                    "SyntaxError: expected ':' (line 1) passed"
                ),
            ),
            (
                "import torchh\n" + RIGHT,
                (
                    "failed stage2_bytes Your cell with stage2_bytes stops: "
                    "ModuleNotFoundError: No module named 'torchh' (line 1) passed"
                ),
            ),
            (
                f"{RIGHT}\nstage2_bytes = lambda psi, n: 0\n1 / 0",
                (
                    "Your cell with stage2_bytes stops: "
                    "ZeroDivisionError: division by zero (line 6) one device has nobody"
                ),
            ),
            (
                "def stage2_bytes(psi, n):\n    2 * psi + 14 * psi / n",
                "failed stage2_bytes stage2_bytes returned None; is there a return?",
            ),
            (
                "stage2_bytes(1)\n" + RIGHT.replace("return", "retrun"),
                "Your cell with stage2_bytes stops: SyntaxError: invalid syntax (line 5)",
            ),
            (
                "def stage2_bytes(psi):\n    return 1",
                "takes 1 positional argument but 2 were given (line 1 of the check)",
            ),
            (
                "def stage2_bytes(psi, n):\n    return input('?')",
                "graded notebook can't use input()",
            ),
            (
                "def stage2_bytes(psi, n):\n    exit()",
                "stage2_bytes SystemExit: exit() ends a notebook, and return ends a function",
            ),
            ("import sys\nsys.exit('enough')", "stops: SystemExit: enough"),
            ("assert 1 == 2", "stops: this does not hold: assert 1 == 2"),
            ("print('x' * 10**7)\n" + RIGHT, PASSES),
            ("import os, sys\nos.close(1)\nsys.stdout = None\n" + RIGHT, PASSES),
            ("%matplotlib inline\n" + RIGHT, PASSES),
            ("assert False, 'half a letter: \\ud800'", "stops: half a letter: \\ud800"),
        ],
    )
    def test_of_what_goes_wrong(self, say, tmp_path, answer, words):
        status, text = say(write(tmp_path, answer))
        assert words in text
        assert status == (0 if words is PASSES else 1)

    def test_of_a_loop_without_an_end(self, say, tmp_path, monkeypatch):
        monkeypatch.setattr(ask, "CELL_SECONDS", 0.5)
        status, text = say(write(tmp_path, "while True:\n    pass"))
        assert status == 1
        assert "stops: did not return within 0.5 s; is there a loop without an end?" in text
        assert "passed partition" in text

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            ("import os\nos._exit(3)", "ended the process of the notebook with exit code 3"),
            ("import os\nos._exit(0)", "ended the process of the notebook"),
            ("import ctypes\nctypes.string_at(0)", "crashed the process"),
            (
                UNSTOPPABLE,
                "did not end in time and could not be interrupted",
            ),
        ],
    )
    @pytest.mark.parametrize("options", [[], ["--cold"]])
    def test_of_a_process_that_is_gone(self, say, tmp_path, monkeypatch, answer, words, options):
        monkeypatch.setattr(ask, "CELL_SECONDS", 0.5)
        monkeypatch.setattr(ask, "GRACE", 0.5)
        status, text = say(write(tmp_path, answer), *options)
        assert status == 1
        who = f"your cell that starts with '{answer.splitlines()[0]}'"
        assert f"failed stage2_bytes not checked: {who} {words}" in text
        assert f"failed partition not checked: {who} {words}" in text

    def test_of_an_answer_that_ends_the_process(self, say, tmp_path):
        text = say(write(tmp_path, "def stage2_bytes(psi, n):\n    import os; os._exit(3)"))[1]
        words = "stage2_bytes ended the process of the notebook with exit code 3"
        assert f"failed stage2_bytes {words}" in text
        assert f"failed partition not checked: {words}" in text

    def test_name_a_cell_of_ones_own_that_stops(self, say, tmp_path):
        status, text = say(write(tmp_path, own="1 / 0"))
        assert status == 0
        assert "Your cell that starts with '1 / 0' stops: ZeroDivisionError: division by" in text

    def test_name_an_answer_that_stops_after_it_is_there(self, say, tmp_path):
        status, text = say(write(tmp_path, RIGHT + "\nprint(stage2_bytes(1, 1) + nn)"))
        assert status == 0
        assert "Your cell with stage2_bytes stops: NameError: name 'nn' is not defined" in text

    def test_of_an_answer_in_a_cell_of_ones_own(self, say, tmp_path):
        text = say(write(tmp_path, "", own=RIGHT.replace("n < 1:", "n < 1")))[1]
        assert "failed stage2_bytes Your cell with stage2_bytes stops: SyntaxError" in text
        assert say(write(tmp_path, "", own=RIGHT))[0] == 0

    def test_of_an_answer_whose_cell_is_gone(self, say, tmp_path):
        path = write(tmp_path)
        content = json.loads(path.read_text())
        gone = ("stage2-bytes", "partition-table")
        content["cells"] = [cell for cell in content["cells"] if cell["id"] not in gone]
        path.write_text(json.dumps(content))
        text = say(path)[1]
        for name in ("stage2_bytes", "partition"):
            assert f"failed {name} {name} is not defined, and the cell for it is gone" in text

    def test_call_a_check_by_one_name(self, say, tmp_path):
        """Whatever goes wrong: no cell's number or id, which no notebook shows."""
        for answer in ("", STUB, "1 / 0", "def f(", "x = 1", "import os; os._exit(1)", RIGHT):
            for table in ("", TABLE):
                text = say(write(tmp_path, answer, table=table))[1]
                assert re.findall(r"(?:passed|failed) (\S+) ", text)[:1] == ["stage2_bytes"]
                assert re.search(r"(passed|failed) partition ", text)
                assert not re.search(r"stage2-bytes|partition-table|[Cc]ell \d", text)

    def test_speak_of_a_fresh_run(self, say, tmp_path):
        """Nothing of one check is there in the next."""
        assert say(write(tmp_path, f"import builtins\nbuiltins.left = 1\n{RIGHT}"))[0] == 0
        status, text = say(write(tmp_path, "left\n" + RIGHT))
        assert "NameError: name 'left'" in text
        assert status == 1

    def test_come_from_a_cell_that_runs_where_the_notebook_is(self, say, tmp_path):
        (tmp_path / "helper.py").write_text("bytes_of = lambda psi, n: 2 * psi + 14 * psi / n")
        answer = RIGHT.replace("return 2 * psi + 14 * psi / n", "return bytes_of(psi, n)")
        assert say(write(tmp_path, f"from helper import bytes_of\n{answer}"))[0] == 0

    def test_of_check_itself_are_one_line(self, say, tmp_path):
        own = "%load_ext shardwise_grading\n%check"
        status, text = say(write(tmp_path, own=own))
        assert status == 0
        assert "your own" not in text


class TestCannotCheck:
    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"", "is no notebook: there is no JSON in it"),
            (b'{"cells": [', "is no notebook"),
            (b"\xff\xfe", "is no notebook"),
            (b"[" * 100_000, "is no notebook"),
            (b"[1]", "it has no list of cells"),
            (b'{"nbformat": 4, "cells": [1]}', "it has no list of cells"),
            (b'{"nbformat": 3, "worksheets": []}', "is in notebook format 3"),
            (b'{"nbformat": 4, "cells": []}', "has no visible checks"),
            (json.dumps({"nbformat": 4, "cells": [code("1")]}).encode(), "has no visible checks"),
        ],
    )
    def test_says_why(self, say, tmp_path, content, words):
        path = tmp_path / "a.ipynb"
        path.write_bytes(content)
        status, text = say(path)
        assert status == 2
        assert words in text

    def test_names_the_notebooks_that_are_there(self, say, tmp_path):
        write(tmp_path)
        status, text = say(tmp_path / "2.ipynb")
        assert status == 2
        assert "does not exist; there are 2-stage-2-memory.ipynb" in text
        assert "is a folder" in say(tmp_path)[1]

    def test_needs_a_python_that_can_run_cells(self, say, tmp_path, monkeypatch):
        monkeypatch.setattr(ask, "PYTHON", (shutil.which("false"),))
        status, text = say(write(tmp_path), "--cold")
        assert status == 2
        assert "does 'import torch, IPython' work there" in text


class TestWarmProcess:
    def test_stays_and_is_the_users_alone(self, say, tmp_path, runtime):
        say(write(tmp_path))
        process = process_of(runtime)
        (socket,) = runtime.rglob("*.sock")
        assert socket.stat().st_mode & 0o777 == 0o600
        assert socket.parent.stat().st_mode & 0o777 == 0o700
        say(write(tmp_path))
        assert process_of(runtime) == process

    def test_ends_what_a_check_left_running(self, say, tmp_path):
        left = "import subprocess\nprint(subprocess.Popen(['sleep', '60']).pid)\n"
        keep = "open('pid', 'w').write(str(subprocess.Popen(['sleep', '60']).pid))\n"
        say(write(tmp_path, left + keep + RIGHT))
        process = int((tmp_path / "pid").read_text())
        wait_until(lambda: not is_alive(process))

    def test_is_replaced_when_it_was_killed(self, say, tmp_path, runtime):
        say(write(tmp_path))
        before = process_of(runtime)
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: not is_alive(before))
        assert say(write(tmp_path))[0] == 0
        assert process_of(runtime) != before

    def test_is_not_used_where_others_could_reach_it(self, say, tmp_path, monkeypatch):
        open_to_all = tmp_path / f"shardwise-{os.getuid()}"
        open_to_all.mkdir(mode=0o755)
        assert not place._is_private(open_to_all)
        monkeypatch.setattr(place, "address", lambda _: None)
        assert say(write(tmp_path))[0] == 0

    def test_ends_when_its_socket_or_its_environment_is_gone(self):
        with tempfile.TemporaryDirectory(prefix="sw") as folder:
            path = Path(folder) / "x.sock"
            command = (
                "import sys, pathlib\n"
                "from shardwise_grading.check import warm\n"
                "warm.LOOK = 0.1\n"
                "warm.main(pathlib.Path(sys.argv[1]), 'another environment')"
            )
            subprocess.run([sys.executable, "-c", command, path], timeout=60, check=True)
            wait_until(lambda: not path.exists())


@pytest.mark.usefixtures("runtime")
class TestMagic:
    @pytest.fixture
    def shell(self, monkeypatch):
        """What a notebook's IPython offers to a magic."""
        for name in ("JPY_SESSION_NAME", "NBGRADER_EXECUTION", "SHARDWISE_CHECKING"):
            monkeypatch.delenv(name, raising=False)
        history = SimpleNamespace(input_hist_raw=[""])
        return SimpleNamespace(user_ns={}, history_manager=history)

    def test_checks_the_file_that_the_server_names(self, shell, tmp_path, monkeypatch):
        monkeypatch.setenv("JPY_SESSION_NAME", str(write(tmp_path)))
        assert f"passed  stage2_bytes\n          {PASSES}" in repr(magic(shell, ""))

    def test_checks_the_file_that_vs_code_names(self, shell, tmp_path):
        shell.user_ns["__vsc_ipynb_file__"] = str(write(tmp_path))
        assert PASSES in repr(magic(shell, ""))

    def test_checks_the_file_that_the_line_names(self, shell, tmp_path, monkeypatch):
        monkeypatch.chdir(write(tmp_path).parent)
        assert PASSES in repr(magic(shell, " 2-stage-2-memory.ipynb "))

    @pytest.mark.parametrize("session", [None, "6f1c2d3e"])
    def test_says_when_it_knows_no_file(self, shell, capsys, monkeypatch, session):
        if session:
            monkeypatch.setenv("JPY_SESSION_NAME", session)
        assert magic(shell, "") is None
        assert capsys.readouterr().out.startswith("%check does not know which file")

    def test_says_when_the_file_is_gone(self, shell, capsys, tmp_path):
        assert magic(shell, str(tmp_path / "x.ipynb")) is None
        assert "does not exist" in capsys.readouterr().out

    @pytest.mark.parametrize("name", ["NBGRADER_EXECUTION", "SHARDWISE_CHECKING"])
    def test_does_nothing_while_a_notebook_is_graded(self, shell, capsys, monkeypatch, name):
        monkeypatch.setenv(name, "autograde")
        assert magic(shell, "") is None
        assert capsys.readouterr().out.count("\n") == 1

    def test_warns_of_what_ran_and_is_not_saved(self, shell, tmp_path):
        path = write(tmp_path)
        history = shell.history_manager.input_hist_raw
        history += ["def stage2_bytes(psi, n):\n    return 0", RIGHT, "stage2_bytes(1, 1)"]
        assert "Save first" not in repr(magic(shell, str(path)))
        history += [RIGHT.replace("14", "15")]
        warning = "Save first: the stage2_bytes that you ran last is not the one in the file."
        shown = magic(shell, str(path))
        assert repr(shown).startswith(warning)
        assert warning in shown._repr_html_()

    def test_shows_nothing_of_a_students_words_as_markup(self, shell, tmp_path):
        answer = "def stage2_bytes(psi, n):\n    raise KeyError('<img src=x onerror=alert(1)>')"
        page = magic(shell, str(write(tmp_path, answer)))._repr_html_()
        assert "&lt;img src=x" in page
        assert "<img" not in page

    def test_has_the_colours_of_the_house(self):
        look = json.loads((WIDGETS / "look.json").read_text(encoding="utf-8"))
        for theme, line in (("light", LIGHT), ("dark", DARK)):
            for role in ("optimizer", "gradients"):
                colours = look[role][theme]
                assert {colours["fill"], colours["on"]} <= set(re.findall(r"#\w+", line))


@pytest.mark.long
def test_answers_in_a_quarter_of_the_time_of_validate(runtime, tmp_path):
    """Whole commands; each is the best of three, because a busy machine makes both slower."""
    path = write(tmp_path, table=TABLE)
    commands = {
        "check": ["-m", "shardwise_grading", "check", path],
        "validate": ["-W", "ignore", "-m", "nbgrader", "validate", path],
    }
    seconds = {name: [] for name in commands}
    for _ in range(3):
        for name, command in commands.items():
            start = time.monotonic()
            subprocess.run([sys.executable, *command], check=True, capture_output=True)
            seconds[name].append(time.monotonic() - start)
    assert min(seconds["check"]) <= min(seconds["validate"]) / 4, seconds


def test_the_command_imports_neither_torch_nor_ipython():
    code = (
        "import sys\n"
        "from shardwise_grading.__main__ import main\n"
        "assert main(['check', 'missing.ipynb']) == 2\n"
        "assert not sys.modules.keys() & {'torch', 'IPython', 'nbformat', 'nbgrader', 'numpy'}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
