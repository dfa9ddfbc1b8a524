"""Units of work on workers that fail, die, hang and are killed, and a course for one run only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from shardwise_grading.class_run.cluster import dask
from shardwise_grading.class_run.interrupts import uninterrupted
from shardwise_grading.class_run.lock import CourseBusyError, lock
from shardwise_grading.class_run.pool import processes
from shardwise_grading.class_run.spread import spread
from shardwise_grading.class_run.worker import attempt, whereabouts

DIE = "__import__('os').kill(__import__('os').getpid(), 9)"
SLEEP = "__import__('time').sleep(3600)"
PROCESS = "__import__('os').getpid()"

# `eval` can be imported everywhere; a unit of work is then an expression.


def answers(pool, units):
    return {answer.key: answer for answer in spread(eval, units.items(), pool)}


def squares(count):
    return {f"s{number}": f"{number} ** 2" for number in range(count)}


class TestSpread:
    @pytest.mark.parametrize("jobs", [1, 2])
    def test_every_unit_is_answered_once(self, jobs):
        with processes(jobs, 60) as pool:
            found = list(spread(eval, squares(9).items(), pool))
        assert sorted((a.key, a.value) for a in found) == [(f"s{n}", n**2) for n in range(9)]
        assert not any(answer.error for answer in found)

    def test_runs_in_other_processes_even_with_one_job(self):
        with processes(1, 60) as pool:
            assert answers(pool, {"a": PROCESS})["a"].value != os.getpid()

    def test_never_runs_here_whatever_joblib_prefers(self):
        assert "no other process" in attempt(eval, "a", "1", whereabouts()).error
        assert attempt(eval, "a", "1", "elsewhere").value == 1

    def test_a_fault_of_one_unit_is_an_answer(self):
        with processes(2, 60) as pool:
            found = answers(pool, {**squares(3), "bad": "1 / 0"})
        assert found["bad"].error == "ZeroDivisionError: division by zero"
        assert sum(not answer.error for answer in found.values()) == 3

    @pytest.mark.parametrize("jobs", [1, 3])
    def test_a_dead_worker_costs_the_unit_it_had(self, jobs):
        units = {"first": "1", "dies": DIE, **squares(12), "dies-too": DIE, "last": "2"}
        with processes(jobs, 60) as pool:
            found = answers(pool, units)
        assert found.keys() == units.keys()
        assert {key for key, answer in found.items() if answer.error} == {"dies", "dies-too"}
        assert "ended the process that graded it" in found["dies"].error
        assert "\n" not in found["dies"].error

    def test_a_unit_whose_worker_died_once_is_tried_again(self, tmp_path):
        mark = tmp_path / "tried"
        once = (
            f"{DIE} if not __import__('os').path.exists({str(mark)!r}) and "
            f"not open({str(mark)!r}, 'w').close() else 'in the end'"
        )
        with processes(2, 60) as pool:
            found = answers(pool, {**squares(3), "once": once})
        assert found["once"].value == "in the end"

    def test_a_worker_that_says_nothing_is_given_up(self):
        with processes(2, 1.0) as pool:
            found = answers(pool, {"hangs": SLEEP, "fine": "1"})
        assert "did not answer in time" in found["hangs"].error
        assert found["fine"].value == 1

    def test_units_are_made_as_they_are_asked_for(self):
        made = []

        def units():
            for number in range(40):
                made.append(number)
                yield f"s{number}", "__import__('time').sleep(0.01)"

        with processes(2, 60) as pool:
            for count, _ in enumerate(spread(eval, units(), pool), start=1):
                assert len(made) <= count + 12

    def test_work_that_cannot_start_at_all_is_an_error(self):
        with processes(2, 60) as pool, pytest.raises(RuntimeError, match="no units"):
            list(spread(eval, broken_units(), pool))


def broken_units():
    raise RuntimeError("no units")
    yield


class TestDask:
    @pytest.mark.long
    def test_two_workers_answer_and_a_dead_one_costs_its_unit(self):
        units = {**squares(8), "where-1": PROCESS, "dies": DIE, "last": "2", "bad": "1 / 0"}
        with dask(2, 300.0) as pool:
            found = answers(pool, units)
        assert {key for key, answer in found.items() if answer.error} == {"dies", "bad"}
        assert [found[f"s{number}"].value for number in range(8)] == [n**2 for n in range(8)]
        assert found["where-1"].value != os.getpid()

    @pytest.mark.long
    def test_a_single_worker_is_another_process_too(self):
        with dask(1, 300.0) as pool:
            found = answers(pool, {"where": PROCESS, "dies": DIE})
        assert found["where"].value != os.getpid()
        assert found["dies"].error

    @pytest.mark.long
    def test_a_scheduler_that_is_not_there_is_named(self):
        with (
            pytest.raises(RuntimeError, match=r"127\.0\.0\.1:9"),
            dask(1, 5.0, "tcp://127.0.0.1:9"),
        ):
            pass


ENDLESS = f"""
import sys
from shardwise_grading.class_run.pool import processes
from shardwise_grading.class_run.spread import spread
if __name__ == "__main__":
    with processes(2, 600) as pool:
        try:
            for answer in spread(eval, [("a", "1"), ("b", "2"), ("c", {SLEEP!r})], pool):
                print(answer.value, flush=True)
        except KeyboardInterrupt:
            sys.exit(130)
"""


class TestEnd:
    @pytest.fixture
    def running(self, tmp_path):
        """A run that never ends, in a process group of its own, as a terminal starts it."""
        script = tmp_path / "endless.py"
        script.write_text(ENDLESS)
        process = subprocess.Popen(
            [sys.executable, script],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert [process.stdout.readline() for _ in range(2)] == ["1\n", "2\n"]
        yield process
        process.kill()
        process.communicate()

    def all_gone(self, processes, seconds=10.0):
        _, alive = psutil.wait_procs(processes, timeout=seconds)
        return not alive

    def test_workers_end_with_a_killed_main(self, running):
        children = psutil.Process(running.pid).children(recursive=True)
        assert len(children) >= 2
        running.kill()
        assert self.all_gone(children)

    def test_ctrl_c_ends_all_without_a_traceback(self, running):
        children = psutil.Process(running.pid).children(recursive=True)
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait(timeout=20) == 130
        assert self.all_gone(children)
        assert running.stderr.read() == ""


class TestUninterrupted:
    def test_ctrl_c_waits_whichever_thread_hears_it(self):
        threading.Thread(target=time.sleep, args=(0.5,)).start()
        done = []

        def work():
            with uninterrupted():
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.05)
                done.append(1)
            done.append(2)

        with pytest.raises(KeyboardInterrupt):
            work()
        assert done == [1]

    def test_an_error_comes_through(self):
        with pytest.raises(ZeroDivisionError), uninterrupted():
            _ = 1 / 0
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


HOLD = """
import sys, time
from pathlib import Path
from shardwise_grading.class_run.lock import lock
with lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(3600)
"""


class TestLock:
    def test_says_who_holds_it_and_ends_with_the_holder(self, tmp_path):
        path = tmp_path / "results" / ".lock"
        with subprocess.Popen(
            [sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE, text=True
        ) as holder:
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(CourseBusyError, match=f"process {holder.pid} on "), lock(path):
                pass
            holder.kill()
        begin = time.monotonic()
        with lock(path):
            assert path.read_text().startswith(f"process {os.getpid()} ")
        with lock(path):
            assert time.monotonic() - begin < 1
