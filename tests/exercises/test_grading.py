"""The parts of the grader: results, plain data, interception and lockdown, the local world."""

from __future__ import annotations

import functools
import inspect
import logging
import math
import os
import signal
import subprocess
import sys
import threading
import time
from fractions import Fraction
from types import SimpleNamespace

import nbformat
import pytest
import torch
from nbclient import NotebookClient
from support import ROOT

import shardwise.distributed
import shardwise.memory
from shardwise.collectives import ring_all_reduce as imported_earlier
from shardwise.memory import budget
from shardwise.memory import zero_memory_per_device as held_by_the_student
from shardwise_grading import (
    CollectiveCall,
    LocalWorld,
    Report,
    Result,
    World,
    first_message,
    grade,
    show,
)
from shardwise_grading.data import Foreign, as_data
from shardwise_grading.interception import find, intercepted
from shardwise_grading.lockdown import LockedError, lockdown
from shardwise_grading.quiet import quiet
from shardwise_grading.runner import load, run

PER_DEVICE = "shardwise.memory.zero_memory_per_device"
RING = "shardwise.collectives.ring_all_reduce"


STUDENT = """
import os, sys, threading, time

def chatter():
    while True:
        print("late", file=sys.stderr, flush=True)
        os.write(2, b"late")
        time.sleep(0.01)

def stage2_bytes(psi, n):
    if threading.active_count() < 40:
        threading.Thread(target=chatter, daemon=True).start()
    if psi < 0 or n < 1:
        raise ValueError
    return 2 * psi + 14 * psi / n
"""
HIDDEN = """
from shardwise_grading import grade
report = grade("stage_2_memory", "stage2_bytes", stage2_bytes, points=8)
time.sleep(0.5)
report.score
"""
GONE = "sys.stdout = sys.stderr = None"


def report(*points_passed, points=8):
    return Report(tuple(Result("p", ok, n) for n, ok in points_passed), points)


class TestScore:
    def test_is_a_builtin_float(self):
        assert type(report((3, True), (5, True)).score) is float
        assert type(report().score) is float

    @pytest.mark.parametrize(
        ("results", "score"),
        [
            ([(3, True), (5, False)], 3.0),
            ([], 0.0),
            ([(7, True), (7, True)], 8.0),
            ([(-2, True)], 0.0),
        ],
    )
    def test_is_clamped_to_the_cell(self, results, score):
        assert report(*results).score == score

    def test_the_report_is_what_the_student_reads(self):
        text = str(Report((Result("not rounded", False, 2, "f(1) returned 2; expected 3/2"),), 2))
        assert "0 of 2 points" in text
        assert "not yet 0/2  not rounded" in text
        assert "f(1) returned 2; expected 3/2" in text


class TestFirstMessage:
    def test_is_the_first_that_says_something(self):
        assert first_message(["", "a", "b"]) == "a"
        assert first_message([]) == ""

    def test_an_error_of_the_check_is_one(self):
        assert "ZeroDivisionError" in first_message(str(1 // n) for n in (0, 1))


class TestShow:
    @pytest.mark.parametrize(
        "value",
        [1 << 20000, Fraction(1 << 20000, 7), [1 << 20000], "x" * 10**6, "a\nb"],
        ids=["int", "fraction", "list", "long", "lines"],
    )
    def test_is_one_short_line(self, value):
        assert len(show(value)) <= 120
        assert "\n" not in show(value)


class TestData:
    @pytest.mark.parametrize(
        "value",
        [None, True, 1 << 400, 0.5, "text", Fraction(1, 3), [1, (2.0,), {"a": [3]}], {1: 2}],
    )
    def test_plain_data_arrives_as_it_is(self, value):
        assert as_data(value) == value
        assert type(as_data(value)) is type(value)

    @pytest.mark.parametrize("base", [int, float, str, list, tuple, dict, Fraction])
    def test_a_subclass_does_not(self, base):
        assert as_data(type("Liar", (base,), {})()) == Foreign("Liar")

    def test_containers_are_copied(self):
        inner = [1]
        copied = as_data({"a": inner})
        inner.append(2)
        assert copied == {"a": [1]}

    def test_a_fraction_of_strange_parts_does_not(self):
        fraction = Fraction(1, 2)
        fraction._numerator = 0.5
        assert isinstance(as_data(fraction), Foreign)

    def test_endless_nesting_ends(self):
        endless = []
        endless.append(endless)
        assert "Foreign" not in repr(as_data([[1]]))
        assert "list" in repr(as_data(endless))

    def test_only_exact_tensors(self):
        tensor = torch.ones(2)
        assert as_data(tensor) is tensor
        assert as_data(torch.nn.Parameter(tensor)) == Foreign("Parameter")

    def test_a_metaclass_is_not_asked(self):
        class Meta(type):
            def __hash__(cls):
                return hash(float)

            def __eq__(cls, other):
                return True

            def __getattribute__(cls, name):
                raise RuntimeError

        assert as_data(Meta("Mine", (), {})()) == Foreign("Mine")

    def test_what_multiplies_is_not_walked_to_its_end(self):
        value = 1
        for _ in range(15):
            value = [value] * 12
        started = time.monotonic()
        assert isinstance(innermost(as_data(value), -1), Foreign)
        assert as_data([0] * 10**6) == Foreign("list")
        assert time.monotonic() - started < 5

    def test_a_large_flat_value_arrives(self):
        assert as_data([[0.5] * 90_000]) == [[0.5] * 90_000]


def innermost(value, index):
    while isinstance(value, list):
        value = value[index]
    return value


class TestLockdown:
    def test_every_name_raises_inside_and_works_afterwards(self):
        copies = [
            held_by_the_student,
            functools.partial(held_by_the_student),
            shardwise.memory.zero_memory_per_device,
            shardwise.distributed.zero_memory_per_device,
        ]
        before = held_by_the_student.__code__
        with lockdown([PER_DEVICE]):
            for copy in copies:
                with pytest.raises(LockedError, match="zero_memory_per_device is locked"):
                    copy(1_000_000, 8, 2)
        assert [copy(1_000_000, 8, 2) for copy in copies] == [3_750_000.0] * 4
        assert held_by_the_student.__code__ is before

    def test_gives_the_library_back_after_an_error(self):
        with pytest.raises(ZeroDivisionError), lockdown([PER_DEVICE]):
            raise ZeroDivisionError
        assert held_by_the_student(1, 1, 0) == 16.0

    def test_can_be_nested(self):
        with lockdown([PER_DEVICE]):
            with lockdown([PER_DEVICE]), pytest.raises(LockedError):
                held_by_the_student(1, 1, 0)
            with pytest.raises(LockedError):
                held_by_the_student(1, 1, 0)
        assert held_by_the_student(1, 1, 0) == 16.0

    def test_the_exercise_locks_all_that_would_solve_it(self, stage_2_checks):
        public = {name for name in budget.__all__ if name != "training_memory_bytes"}
        assert {path.rpartition(".")[2] for path in stage_2_checks.LOCKED} == public
        for path in stage_2_checks.LOCKED:
            assert find(path).__module__ == "shardwise.memory.budget"


class TestInterception:
    def test_the_substitute_may_use_the_original(self):
        with intercepted(RING, lambda original: lambda tensors: [7 * t for t in original(tensors)]):
            assert imported_earlier([torch.ones(1)])[0].item() == 7
        assert imported_earlier([torch.ones(1)])[0].item() == 1

    def test_the_original_keeps_its_defaults(self):
        with intercepted(PER_DEVICE, lambda original: original):
            assert held_by_the_student(100, 2, 1) == 1000.0
            assert held_by_the_student(100, 2, 1, recipe="4+4+8") == 1200.0

    @pytest.mark.parametrize("path", ["shardwise.memory.no_such_function", "math.no_such"])
    def test_an_unknown_path_is_named(self, path):
        with pytest.raises(ValueError, match=path):
            find(path)

    def test_what_is_no_plain_function_is_refused(self):
        with pytest.raises(TypeError, match=r"math\.sqrt"):
            find("math.sqrt")


class TestLocalWorld:
    def test_is_a_world(self):
        world: World = LocalWorld("1")
        for name, member in inspect.getmembers(World, inspect.isfunction):
            if not name.startswith("_"):
                ours = inspect.signature(getattr(LocalWorld, name))
                assert ours.parameters.keys() == inspect.signature(member).parameters.keys()
        assert world.random("x").random() == LocalWorld("1").random("x").random()
        assert world.random("x").random() != LocalWorld("2").random("x").random()
        assert world.random("x").random() != world.random("y").random()

    @pytest.mark.parametrize(
        ("error", "kinds"),
        [
            (ValueError("psi"), {"ValueError", "Exception"}),
            (SystemExit(3), {"SystemExit"}),
            (GeneratorExit(), {"GeneratorExit"}),
        ],
    )
    def test_exceptions_become_outcomes(self, error, kinds):
        def fails():
            raise error

        with LocalWorld("1") as world:
            outcome = world.call(fails)
        assert outcome.error == type(error).__name__
        assert kinds <= set(outcome.kinds)
        assert outcome.detail == str(error)

    def test_an_exception_that_can_not_be_written_is_one_all_the_same(self):
        class UnprintableError(Exception):
            def __str__(self):
                raise RuntimeError

        def fails():
            raise UnprintableError

        with LocalWorld("1") as world:
            assert world.call(fails).error == "UnprintableError"

    def test_an_exception_is_named_without_its_metaclass(self):
        class Meta(type):
            def __getattribute__(cls, name):
                raise RuntimeError

        class MineError(ValueError, metaclass=Meta):
            def __str__(self):
                raise SystemExit

        def fails():
            raise type.__call__(MineError)

        with LocalWorld("1") as world:
            outcome = world.call(fails)
        assert outcome.kinds[:2] == ("MineError", "ValueError")

    def test_half_a_character_in_a_message_can_travel(self):
        def fails():
            raise ValueError("\ud800")

        with LocalWorld("1") as world:
            assert world.call(fails).detail.encode() == rb"\ud800"

    def test_an_interrupt_passes(self):
        def interrupted():
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt), LocalWorld("1") as world:
            world.call(interrupted)

    def test_what_is_no_function_is_an_outcome(self):
        with LocalWorld("1") as world:
            assert world.call(3).error == "TypeError"

    def test_collectives_are_recorded_under_any_name(self):
        def solution(tensors):
            shardwise.distributed.ring_all_reduce(tensors)
            return imported_earlier(tensors)[0]

        with LocalWorld("1", collectives=[RING]) as world:
            outcome = world.call(solution, [torch.ones(2, 3), torch.ones(2, 3)])
            again = world.call(lambda: None)
        call = CollectiveCall("ring_all_reduce", ((2, 3), (2, 3)), 48)
        assert outcome.collectives == (call, call)
        assert torch.equal(outcome.value, torch.full((2, 3), 2.0))
        assert again.collectives == ()

    def test_a_check_may_answer_a_collective(self):
        def mean(tensors):
            return imported_earlier(tensors)[0] / len(tensors)

        tensors = [torch.ones(1), torch.ones(1)]
        with LocalWorld("1", collectives=[RING]) as world:
            with world.answering(RING, lambda tensors: [7 * sum(tensors) for _ in tensors]):
                assert world.call(mean, tensors).value.item() == 7
            assert world.call(mean, tensors).value.item() == 1
            with (
                pytest.raises(ValueError, match=r"shardwise\.x"),
                world.answering("shardwise.x", sum),
            ):
                pass


class TestTimeLimit:
    def call_and_time(self, function):
        handler = signal.getsignal(signal.SIGALRM)
        with LocalWorld("1", seconds=0.1) as world:
            outcome = world.call(function)
            assert world.call(lambda: 3).value == 3
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
        assert signal.getsignal(signal.SIGALRM) is handler
        return outcome

    def test_an_endless_loop_ends(self):
        def endless():
            while True:
                pass

        assert self.call_and_time(endless).failure == "did not return within 0.1 s"

    def test_a_loop_that_catches_once_ends(self):
        def stubborn():
            try:
                time.sleep(60)
            except BaseException:  # noqa: BLE001
                time.sleep(60)

        assert self.call_and_time(stubborn).failure == "did not return within 0.1 s"

    def test_a_message_without_an_end_ends(self):
        class EndlessError(Exception):
            def __str__(self):
                time.sleep(60)
                return ""

        def fails():
            raise EndlessError

        assert self.call_and_time(fails).failure == "did not return within 0.1 s"

    def test_a_timer_that_was_set_goes_on(self):
        before = signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 500)
        try:
            with LocalWorld("1") as world:
                world.call(int)
            assert 400 < signal.getitimer(signal.ITIMER_REAL)[0] <= 500
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def test_outside_the_main_thread_there_is_none(self):
        found = []
        with LocalWorld("1") as world:
            thread = threading.Thread(target=lambda: found.append(world.call(int).value))
            thread.start()
            thread.join()
        assert found == [0]


class TestQuiet:
    def test_nothing_gets_through(self, capfd):
        handler = logging.StreamHandler(sys.stderr)
        logger = logging.getLogger("student")
        logger.addHandler(handler)
        with quiet():
            print("out")
            print("err", file=sys.stderr)
            os.write(2, b"descriptor\n")
            logger.warning("logged")
            subprocess.run([sys.executable, "-c", "print('child')"], check=True)
        logger.removeHandler(handler)
        assert tuple(capfd.readouterr()) == ("", "")
        print("afterwards")
        assert capfd.readouterr().out == "afterwards\n"


class TestGrade:
    @pytest.mark.usefixtures("hidden_folder")
    def test_prints_the_report_and_returns_it(self, capsys):
        graded = grade("stage_2_memory", "stage2_bytes", max, points=8)
        assert capsys.readouterr().out == f"{graded}\n"
        assert 0 <= graded.score < 8

    @pytest.mark.parametrize("earlier", [0, 1, 2])
    def test_a_check_that_raises_is_a_failed_result(self, earlier):
        def check(solution, world):
            for _ in range(earlier):
                yield Result("p", True, 2)
            raise OverflowError

        report = run(SimpleNamespace(CHECKS={"a": check}, LOCKED=()), "a", max, points=4)
        assert report.score == 2 * earlier
        assert sum(result.points for result in report.results) == 4
        assert "OverflowError" in report.results[-1].message

    @pytest.mark.usefixtures("hidden_folder")
    def test_in_a_kernel_shows_the_report_and_a_float_whatever_the_student_did(self):
        """Threads that write to stderr after the checks, and streams that are gone."""
        cells = [nbformat.v4.new_code_cell(source) for source in (STUDENT, HIDDEN, GONE, HIDDEN)]
        notebook = nbformat.v4.new_notebook(cells=cells)
        client = NotebookClient(
            notebook,
            timeout=60,
            kernel_name="python3",
            extra_arguments=["--ext=shardwise_grading.kernel"],
        )
        # A kernel does not watch the descriptors where it sees that it is under test.
        client.execute(env={k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"})
        for cell in (notebook.cells[1], notebook.cells[3]):
            report, result = cell.outputs
            assert (report.name, report.text.splitlines()[0]) == (
                "stdout",
                "Hidden checks: 8 of 8 points",
            )
            assert result.data["text/plain"] == "8.0"

    def test_a_private_folder_comes_first(self, hidden_folder, monkeypatch, tmp_path):
        (tmp_path / "stage_2_memory.py").write_text("CHECKS = {}\nLOCKED = ()\n", encoding="utf-8")
        monkeypatch.setenv("SHARDWISE_HIDDEN", f"{tmp_path}{os.pathsep}{hidden_folder}")
        assert load("stage_2_memory").CHECKS == {}

    def test_says_where_checks_are_looked_for(self, monkeypatch):
        monkeypatch.delenv("SHARDWISE_HIDDEN", raising=False)
        with pytest.raises(FileNotFoundError, match=r"stage_2_memory.*SHARDWISE_HIDDEN"):
            load("stage_2_memory")

    def test_an_unknown_part_is_named(self, stage_2_checks):
        with pytest.raises(ValueError, match="no_such_part"):
            run(stage_2_checks, "no_such_part", math.sqrt, points=1)

    def test_leaves_nothing_behind(self, hidden_folder):
        before = set(sys.modules)
        load("stage_2_memory")
        assert set(sys.modules) == before
        assert not (hidden_folder / "__pycache__").exists()

    def test_importing_the_grader_does_not_cost_a_torch_import(self):
        code = "import shardwise_grading, shardwise.memory, sys; sys.exit('torch' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
