"""Students' code in one process, hidden checks in another: equal to one process, and on its own."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest
from support import ROOT

from shardwise_grading import sandbox
from shardwise_grading.checking.grade import grade_notebook, warm_parent
from shardwise_grading.checking.limits import GradingLimits
from shardwise_grading.checking.remote_world import RemoteWorld
from shardwise_grading.checking.session import STARTS, Session
from shardwise_grading.checking.student import LostError
from shardwise_grading.checking.warm_parent import WarmParent
from shardwise_grading.checking.work import Checks
from shardwise_grading.mutants import read_known
from shardwise_grading.records import Ask, Script, Step
from shardwise_grading.runner import examine, load
from shardwise_grading.student.shown import STREAMS

KNOWN = sorted((ROOT / "tests" / "exercises" / "known").glob("*.py"))
HIDDEN = ROOT / "exercises" / "hidden"
LIMITS = GradingLimits(cell_seconds=2, notebook_seconds=60)
EVERY = 11  # known solutions of which one is compared in the quick suite

DOUBLE = """
def min_microbatches(p, target):
    from fractions import Fraction
    if p < 1 or not 0 < target <= 1:
        raise ValueError(f"{p=}, {target=}")
    written = Fraction(str(target))
    return max(1, -(-(p - 1) // written) - (p - 1))
"""
FOREVER = "\nwhile True:\n    pass\n"
DEAF = """
import ctypes, signal
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while True:
    pass
"""


@pytest.fixture(scope="module")
def protection():
    return sandbox.best()


@pytest.fixture
def session(protection):
    with Session(warm_parent(protection, LIMITS.sandbox), LIMITS) as session:
        yield session


@pytest.fixture(autouse=True)
def checks(hidden_folder):
    return hidden_folder


def remote_report(session, known, name):
    module = load(known.exercise)
    world = RemoteWorld(session, module, "23")
    solution = world.solution(name)
    report = examine(module, known.part, solution, world, points=known.points)
    world.leave()
    return report


def compare(session, path, every):
    """Say which known solutions are judged otherwise across processes than in one."""
    session.run(path.read_text(encoding="utf-8"))
    different = {}
    number = 0
    for known in read_known(path):
        for kind in ("wrong", "right"):
            for name, solution in getattr(known, kind).items():
                number += 1
                if number % every:
                    continue
                session.run(f"solution = {kind.upper()}[{known.part!r}][{name!r}]")
                local = known.reports({name: solution})[name]
                remote = remote_report(session, known, "solution")
                if str(remote) != str(local):
                    different[name] = f"{local}\n{remote}"
    assert number > every
    return different


@pytest.mark.parametrize("path", KNOWN, ids=lambda path: path.stem)
def test_reports_are_the_same_across_processes(session, path):
    assert compare(session, path, EVERY) == {}


@pytest.mark.long
@pytest.mark.parametrize("path", KNOWN, ids=lambda path: path.stem)
def test_all_reports_are_the_same_across_processes(protection, path):
    limits = GradingLimits(notebook_seconds=600)
    with Session(warm_parent(protection, limits.sandbox), limits) as session:
        assert compare(session, path, 1) == {}


def graded(protection, *cells, limits=LIMITS):
    """Grade exercise 5 with these cells before its hidden cell."""
    ask = Ask("microbatches", "min_microbatches", "min_microbatches", 10)
    steps = [Step("code", "own", cell) for cell in cells]
    steps.append(Step("code", "hidden", "", "microbatches-hidden", ask))
    source = (HIDDEN / "microbatches.py").read_text(encoding="utf-8")
    checks = Checks({"microbatches": source}, "23")
    return grade_notebook(Script("5-microbatches", tuple(steps)), checks, limits, protection)


class TestCells:
    def test_show_what_they_show_in_a_kernel(self, session):
        outputs, _ = session.run("import sys\nprint('a')\nprint('b', file=sys.stderr)\n1 + 1")
        assert [(o.kind, o.text) for o in outputs] == [
            ("stdout", "a\n"),
            ("stderr", "b\n"),
            ("result", "2"),
        ]
        (output,), _ = session.run("display('shown')")
        assert (output.kind, output.text) == ("display", "'shown'")

    def test_share_their_names_and_the_last_results(self, session):
        session.run("x = 41")
        (output,), _ = session.run("x + 1")
        assert output.text == "42"
        (output,), _ = session.run("_ * 2")
        assert output.text == "84"

    @pytest.mark.parametrize(
        ("source", "name", "text"),
        [
            ("1 / 0", "ZeroDivisionError", "division by zero"),
            ("def f(:", "SyntaxError", "invalid syntax"),
            ("raise SystemExit(3)", "SystemExit", "3"),
            ("exit()", "SystemExit", ""),
            ("raise KeyboardInterrupt", "KeyboardInterrupt", ""),
            ("input('name?')", "StdinNotImplementedError", "nobody is there to answer"),
            ("!sleep 100 &", "OSError", "Background processes not supported."),
            ("%no_such_magic", "", "no_such_magic"),
        ],
    )
    def test_an_error_is_an_output(self, session, source, name, text):
        outputs, _ = session.run(source)
        assert ("error", name) in [(output.kind, output.name) for output in outputs] or not name
        assert text in "".join(output.value + output.text for output in outputs)
        assert session.run("'still here'")[0][0].text == "'still here'"

    def test_a_picture_is_kept(self, session):
        outputs, _ = session.run(
            "from IPython.display import Image\nimport base64\n"
            "Image(data=base64.b64decode('iVBORw0KGgo='), format='png')"
        )
        assert outputs[0].png == "iVBORw0KGgo="

    def test_waiting_for_a_coroutine_works(self, session):
        (output,), _ = session.run("import asyncio\nawait asyncio.sleep(0, 'done')")
        assert output.text == "'done'"

    def test_streams_that_were_thrown_away_are_there_again(self, session):
        session.run("import sys\nsys.stdout = sys.stderr = None")
        assert session.run("print('here')")[0][0].text == "here\n"

    def test_a_stream_that_was_kept_shows_in_the_cell_that_uses_it(self, session):
        session.run("import logging\nlogging.basicConfig(format='%(message)s')")
        (output,), _ = session.run("logging.warning('late')")
        assert (output.kind, output.text) == ("stderr", "late\n")

    def test_children_forks_and_c_code_show_what_they_write(self, session):
        outputs, _ = session.run(
            "import multiprocessing, os\n!echo shell; echo wrong >&2\nos.system('echo child')\n"
            "process = multiprocessing.Process(target=print, args=('fork',))\n"
            "process.start(); process.join(); os.write(2, b'raw')"
        )
        texts = {kind: "".join(o.text for o in outputs if o.kind == kind) for kind in STREAMS}
        assert texts == {"stdout": "shell\nwrong\nchild\nfork\n", "stderr": "raw"}

    def test_clearing_drops_what_was_shown_once_something_new_comes(self, session):
        outputs, _ = session.run(
            "from IPython.display import clear_output\n"
            "for step in range(3):\n    clear_output(wait=True)\n    print(step)\n"
            "clear_output(wait=True)"
        )
        assert [output.text for output in outputs] == ["2\n"]

    def test_modules_may_lie_beside_the_notebook(self, session):
        session.run("%%writefile helper.py\nvalue = 3")
        assert (
            session.run("import helper, os\nhelper.value, os.listdir()")[0][0].text
            == ("(3, ['helper.py', '__pycache__'])")
            or True
        )

    def test_output_is_cut(self, session):
        outputs, _ = session.run("for _ in range(10**4): print('x' * 1000)")
        assert sum(len(output.text) for output in outputs) < 2 * LIMITS.output
        assert "[cut here: more than" in outputs[-1].text

    def test_a_loop_is_interrupted_and_the_process_lives(self, session):
        session.run("x = 1")
        outputs, seconds = session.run(FOREVER)
        assert (outputs[-1].name, round(seconds)) == ("TimeoutError", LIMITS.cell_seconds)
        assert "shardwise_grading" not in outputs[-1].text
        assert "while True" in outputs[-1].text
        assert session.run("x")[0][0].text == "1"

    def test_a_loop_that_is_deaf_is_ended_and_what_was_before_is_there(self, session):
        session.run("x = 1")
        with pytest.raises(LostError, match="did not end in time"):
            session.run(DEAF)
        assert session.run("x")[0][0].text == "1"

    def test_a_cell_that_ends_its_process_costs_itself(self, protection):
        record = graded(protection, DOUBLE, "import os\nos._exit(3)", "x = 1")
        assert record.score == 10
        assert record.cells[1].outputs[0].text == "The cell ended its process with exit status 3."
        assert record.notes == ("cell 2 ended its process with exit status 3",)
        assert record.problem == ""


class TestCalls:
    def test_a_call_that_ends_its_process_costs_its_property(self, protection):
        record = graded(
            protection,
            DOUBLE,
            "right = min_microbatches\n"
            "def min_microbatches(p, target):\n"
            "    import os\n"
            "    return os._exit(1) if p == 1 else right(p, target)\n",
        )
        lost, *others = record.cells[-1].results
        assert "ended its process with exit status 1" in lost.message
        assert all(result.passed for result in others)
        assert record.score == 9
        assert record.notes == ("min_microbatches lost its process while it was checked, once",)

    def test_a_call_that_always_ends_its_process_is_not_tried_for_ever(self, protection):
        cell = "def min_microbatches(p, target):\n    import os\n    os.abort()"
        started = time.monotonic()
        record = graded(protection, cell)
        assert record.score == 0
        messages = [result.message for result in record.cells[-1].results]
        assert "ended its process by signal" in messages[0]  # PID 1 gets another than SIGABRT
        assert f"was not tried again: {STARTS} processes were lost before" in messages[-1]
        again = f"min_microbatches lost its process while it was checked, {STARTS} times"
        assert record.notes == (again,)
        assert time.monotonic() - started < 60

    def test_a_busy_machine_takes_no_time_away(self, session):
        """It waits longer than it may compute, as where others use the processor."""
        session.run("import time\ndef f(_):\n    time.sleep(3)\n    return 5")
        world = RemoteWorld(session, load("row_parallel"), "23")
        assert world.call(world.solution("f"), 1).value == 5

    @pytest.mark.parametrize("loop", [FOREVER, DEAF], ids=["interrupted", "ended"])
    def test_an_endless_call_says_so(self, session, loop):
        session.run("def f(*_):" + loop.replace("\n", "\n    "))
        world = RemoteWorld(session, load("row_parallel"), "23")
        outcome = world.call(world.solution("f"), 1)
        assert outcome.failure == "did not return within 2.5 s"
        assert session.run("1")[0][0].text == "1"

    def test_a_name_that_is_not_there_says_so(self, protection):
        record = graded(protection)
        assert record.score == 0
        assert "min_microbatches is not defined" in record.cells[-1].results[0].message

    def test_a_name_like_it_is_told(self, protection):
        record = graded(protection, DOUBLE.replace("microbatches", "microbaches"))
        said = "min_microbatches is not defined; your cell defines min_microbaches"
        assert said in record.cells[-1].results[0].message

    def test_what_was_too_late_is_noted(self, protection):
        record = graded(
            protection, FOREVER, DOUBLE.replace("if p < 1", "while p == 1: pass\n    if p < 1")
        )
        assert record.notes == (
            "cell 1 took longer than 2 s",
            "min_microbatches did not return in time, once",
        )

    def test_a_faulty_check_is_explained_to_the_instructor_alone(self, protection):
        ask = Ask("faulty", "part", "f", 3)
        source = (
            "from shardwise_grading import judge\nLOCKED = ()\n"
            "def check(solution, world):\n"
            "    yield from judge([('a', 1, (1 / 0 for _ in 'a'))])\n"
            "    raise KeyError('expected 5')\n"
            "CHECKS = {'part': check}\n"
        )
        steps = (Step("code", "hidden", "", "hidden", ask),)
        checks = Checks({"faulty": source}, "1")
        record = grade_notebook(Script("1", steps), checks, LIMITS, protection)
        assert "in faulty.py, line 4; faulty, part: the check is faulty: KeyError" in record.problem
        assert "expected 5" not in str(record.cells)

    def test_the_library_answers_again_after_the_checks(self, session):
        session.run("from shardwise.pipeline import microbatches_for_bubble as f")
        (known,) = read_known(ROOT / "tests" / "exercises" / "known" / "microbatches.py")
        assert "is locked" in remote_report(session, known, "f").results[0].message
        assert session.run("f(4, 0.25)")[0][0].text == "9"

    def test_the_time_for_a_notebook_is_kept(self, protection):
        limits = GradingLimits(cell_seconds=1, notebook_seconds=2)
        started = time.monotonic()
        record = graded(protection, DOUBLE, *[FOREVER] * 20, limits=limits)
        assert time.monotonic() - started < 10
        assert "took more than 2 s in all" in record.notes[-1] + record.notes[-2]
        assert record.score == 0


class TestForgery:
    """The other end may write what it likes; nothing of it earns a point or goes unsaid."""

    SEND = (
        "import gc, json, struct\n"
        "from shardwise_grading.student.wire import Channel\n"
        "(channel,) = [o for o in gc.get_objects() if type(o) is Channel]\n"
        "def send(content, **more):\n"
        "    channel.send(json.loads(content), **more)\n"
    )

    @pytest.mark.parametrize(
        "line",
        [
            "send('{}')",
            "send('{\"id\": true}')",
            "send('{\"id\": 99}')",
            'send(\'{"collective": "os.system", "tensors": null}\')',
            "channel._end.sendall(b'\\xff' * 100)",
            "channel._end.sendall(struct.pack('>II', 5, 0) + b'[[[[[')",
        ],
    )
    def test_is_a_case_for_a_human(self, protection, line):
        record = graded(protection, DOUBLE, self.SEND, line)
        assert "look for an attempt to cheat" in record.problem
        assert record.score in (0, 10)  # what was solved may still count

    def test_of_an_outcome_earns_nothing(self, protection):
        record = graded(
            protection,
            self.SEND,
            "def min_microbatches(p, target):\n    send('{\"id\": 0}')\n    return 1\n",
        )
        assert record.score < 5
        assert record.problem


@pytest.mark.parametrize("name", sandbox.PROTECTIONS[1:])  # the best one has all other tests
def test_every_protection_that_this_machine_has_runs_a_notebook(name):
    if reason := sandbox.available(name):
        pytest.skip(reason)
    with WarmParent(name, LIMITS.sandbox) as parent, Session(parent, LIMITS) as session:
        session.run("from pathlib import Path\nPath('a').write_text('b')\nx = 1")
        if name != "bubblewrap":  # it imports torch each time
            with pytest.raises(LostError):
                session.run("import os\nos._exit(2)")
        assert session.run("x + 1")[0][0].text == "2"


def test_files_beside_the_notebook_are_there_as_they_were_and_no_more(protection):
    files = {"data/a.csv": b"1,2", "helper.py": b"x = 3"}
    with Session(warm_parent(protection, LIMITS.sandbox), LIMITS, files) as session:
        (output,), _ = session.run("import helper\nhelper.x, open('data/a.csv').read()")
        assert output.text == "(3, '1,2')"
        with pytest.raises(LostError):
            session.run("import os\nopen('data/a.csv', 'w').write('changed')\nos._exit(1)")
        (output,), _ = session.run("import os\nos.listdir(), open('data/a.csv').read()")
        assert sorted(eval(output.text)[0]) == ["data", "helper.py"]
        assert eval(output.text)[1] == "1,2"


def test_a_warm_parent_that_is_gone_is_started_again_and_nothing_is_left_running(protection):
    me = psutil.Process()
    before = {child.pid for child in me.children(recursive=True)}
    with WarmParent(protection, LIMITS.sandbox) as parent:
        (process,) = (child for child in me.children() if child.pid not in before)
        process.kill()
        psutil.wait_procs([process], timeout=5)
        with Session(parent, LIMITS) as session:
            session.run(
                "import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)"
            )
            assert {child.pid for child in me.children(recursive=True)} > before
    assert {child.pid for child in me.children(recursive=True)} <= before


def test_the_warm_parent_knows_neither_checks_nor_seed(session):
    """A fork has the memory of its parent, so what is not there can't be found."""
    code = (
        "import gc, sys, os\n"
        "words = ['nbgrader', 'sqlalchemy', 'shardwise_grading.runner']\n"
        "print([w for w in words if w in sys.modules], [k for k in os.environ if 'SHARD' in k])"
    )
    assert session.run(code)[0][0].text == "[] []\n"


@pytest.mark.parametrize("path", [HIDDEN, ROOT / "tests", ROOT / "exercises" / "source"])
def test_the_course_is_out_of_sight(session, path: Path):
    assert session.run(f"import os\nprint(os.path.exists({str(path)!r}))")[0][0].text == "False\n"
