"""A class graded by the command: what is graded again, what ends it, and what it leaves."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import psutil
import pytest
from support import ROOT

from shardwise_grading.__main__ import main
from shardwise_grading.class_run import run
from shardwise_grading.class_run.lock import lock
from shardwise_grading.class_run.pool import processes
from shardwise_grading.class_run.worker import Answer
from shardwise_grading.gradebook.course import Course

ASSIGNMENT = "distributed-training"
FILE = "2-stage-2-memory.ipynb"
MADE = ("autograded", "results", "gradebook.db", "feedback")
CLASS = {"all-right", "asks-the-library", "broken-json", "partly-right", "untouched"}


@pytest.fixture
def course(graded, tmp_path):
    """The sample class, graded already."""
    shutil.copytree(graded.course, tmp_path / "course")
    return tmp_path / "course"


@pytest.fixture
def ungraded(course):
    """The sample class, handed in and no more."""
    for name in MADE:
        path = course / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return course


def arguments(course, *options):
    return ["autograde", ASSIGNMENT, f"--course={course}", *options]


def results(course, name="results.json"):
    return (course / "results" / ASSIGNMENT / name).read_text(encoding="utf-8")


def records(course):
    """What grading found, without how long it took."""
    folder = course / "results" / ASSIGNMENT / "submissions"
    found = {path.stem: json.loads(path.read_text()) for path in folder.iterdir()}
    for record in found.values():
        for notebook in record["notebooks"]:
            for cell in notebook["cells"]:
                del cell["seconds"]
    return found


def students(course):
    return {row["student"]: row for row in json.loads(results(course))["students"]}


def points(course, student):
    return students(course)[student]["points"]


def hand_in_again(course, student, giver):
    """Let a student hand in what another has."""
    work = course / "submitted"
    shutil.copy2(work / giver / ASSIGNMENT / FILE, work / student / ASSIGNMENT / FILE)


class TestAgain:
    def test_what_is_unchanged_is_not_graded(self, graded, course, capsys):
        assert main(arguments(course)) == 1
        said = capsys.readouterr().out
        assert "0 submissions graded, 5 unchanged" in said
        assert "1 submission needs a human:\n  broken-json: 2-stage-2-memory: " in said
        for name in ("results.json", "results.csv"):
            assert results(course, name) == results(graded.course, name)

    def test_who_hands_in_again_is_graded_again(self, graded, course, capsys):
        hand_in_again(course, "partly-right", "all-right")
        assert main(arguments(course)) == 1
        assert "1 submission graded, 4 unchanged" in capsys.readouterr().out
        before, after = points(graded.course, "partly-right"), points(course, "partly-right")
        assert after == before | {"2-stage-2-memory": 10.0}

    def test_only_the_students_that_are_named(self, graded, course, capsys):
        hand_in_again(course, "partly-right", "all-right")
        hand_in_again(course, "untouched", "all-right")
        assert main(arguments(course, "--student=untouched", "--student=all-right")) == 0
        said = capsys.readouterr().out
        assert "1 submission graded, 1 unchanged" in said
        assert "broken-json" not in said
        assert points(course, "untouched")["2-stage-2-memory"] == 10
        assert points(course, "partly-right") == points(graded.course, "partly-right")

    @pytest.mark.parametrize("jobs", [1, 3])
    def test_the_number_of_jobs_changes_nothing(self, graded, course, jobs):
        assert main(arguments(course, "--force", f"--jobs={jobs}")) == 1
        assert students(course) == students(graded.course)
        found, before = records(course), records(graded.course)
        for record in (*found.values(), *before.values()):
            del record["digest"]  # of the limits and the grader's own text as well
        assert found == before

    def test_another_seed_is_another_digest(self, course, monkeypatch):
        monkeypatch.setenv("SHARDWISE_SEED", "23")  # is put back afterwards
        before = records(course)["all-right"]["digest"]
        assert main(arguments(course, "--student=all-right", "--seed=a new year")) == 0
        assert records(course)["all-right"]["digest"] != before
        assert sum(points(course, "all-right").values()) == 50

    def test_limits_are_kept(self, course):
        path = course / "submitted" / "untouched" / ASSIGNMENT / FILE
        notebook = nbformat.read(path, as_version=4)
        notebook.cells.append(nbformat.v4.new_code_cell("while True:\n    pass"))
        nbformat.write(notebook, path)
        assert main(arguments(course, "--student=untouched", "--cell-seconds=0.5")) == 0
        (record,) = (n for n in records(course)["untouched"]["notebooks"] if n["name"] in FILE)
        (own,) = (cell for cell in record["cells"] if cell["step"]["role"] == "own")
        assert "0.5" in own["outputs"][-1]["text"]


class TestEnds:
    def test_all_fine_is_0(self, course):
        shutil.rmtree(course / "submitted" / "broken-json")
        assert main(arguments(course)) == 0

    @pytest.mark.parametrize(
        ("change", "options", "words"),
        [
            (None, ["--course=no-such-course"], "nbgrader_config.py"),
            (None, ["--student=nobody"], "--student nobody has not handed in"),
            (None, ["--scheduler=tcp://127.0.0.1:9"], "add --backend dask"),
            (None, ["--db=nonsense"], "names no database"),
            ("submitted", [], "nobody has handed in distributed-training"),
            ("source", [], "distributed-training"),
        ],
        ids=["course", "student", "scheduler", "gradebook", "nobody", "assignment"],
    )
    def test_nothing_to_grade_is_2_and_says_why(self, course, change, options, words, capsys):
        if change:
            shutil.rmtree(course / change)
        assert main(arguments(course, *options)) == 2
        assert words in capsys.readouterr().err
        assert not Path("no-such-course").exists()

    def test_a_course_that_another_run_has_is_2(self, course, capsys):
        with lock(course / "results" / ".lock"):
            assert main(arguments(course)) == 2
        assert f"process {os.getpid()} on " in capsys.readouterr().err

    @pytest.mark.parametrize("option", ["--jobs=0", "--memory=-1", "--cell-seconds=nan"])
    def test_odd_options_are_refused(self, option, capsys):
        with pytest.raises(SystemExit) as end:
            main(arguments("x", option))
        assert end.value.code == 2
        assert "above 0" in capsys.readouterr().err

    def test_help_says_what_the_exit_status_means(self, capsys):
        with pytest.raises(SystemExit):
            main(["autograde", "--help"])
        said = capsys.readouterr().out
        assert "need a human" in said
        assert "130" in said

    def test_no_protection_is_refused(self):
        answer = Answer("", None, "ProtectionError: use --no-sandbox")
        bare = SimpleNamespace(answers=lambda *_, **__: iter([answer]))
        with pytest.raises(RuntimeError, match="--no-sandbox"):
            run._protection(bare)

    def test_no_protection_is_named(self, course, capsys):
        options = ("--student=all-right", "--force", "--no-sandbox")
        assert main(arguments(course, *options)) == 0
        assert "all-right: 50 of 50" in capsys.readouterr().err
        assert records(course)["all-right"]["protection"] == "none"


class TestStrangers:
    def test_a_hostile_name_reaches_neither_terminal_nor_spreadsheet(self, course, capsys):
        (course / "submitted" / "=1+1\x1b[2J" / ASSIGNMENT).mkdir(parents=True)
        (course / "submitted" / "mallory").mkdir()
        (course / "submitted" / "mallory" / ASSIGNMENT).symlink_to(course / "hidden")
        assert main(arguments(course)) == 1
        said = capsys.readouterr()
        assert "\x1b" not in said.out + said.err
        assert "3 submissions need a human" in said.out
        (line,) = (line for line in results(course, "results.csv").splitlines() if "1+1" in line)
        assert line.startswith("'=1+1")

    def test_a_fault_of_ours_is_said_and_tried_again(self, course, capsys, monkeypatch):
        monkeypatch.setattr(run, "grade", os.abort)  # called with an argument, it is a fault
        assert main(arguments(course, "--student=all-right", "--force")) == 1
        assert "all-right: could not be graded: TypeError" in capsys.readouterr().out
        monkeypatch.undo()
        assert main(arguments(course)) == 1
        assert "1 submission graded, 4 unchanged" in capsys.readouterr().out
        assert sum(points(course, "all-right").values()) == 50

    def test_a_result_that_cannot_be_saved_costs_nobody_else(self, course, capsys, monkeypatch):
        save = Course.save

        def refuse(self, record, submission):
            if submission.student == "all-right" and not record.problem:
                raise ValueError("it is too odd")
            save(self, record, submission)

        monkeypatch.setattr(Course, "save", refuse)
        assert main(arguments(course, "--force")) == 1
        assert "all-right: could not be graded: its result" in capsys.readouterr().out
        monkeypatch.undo()
        assert main(arguments(course)) == 1
        assert "1 submission graded, 4 unchanged" in capsys.readouterr().out
        assert sum(points(course, "all-right").values()) == 50


class TestStopped:
    def start(self, course):
        """Start grading as a terminal would, and wait until two submissions are saved."""
        process = subprocess.Popen(
            [sys.executable, "-m", "shardwise_grading", *arguments(course, "--jobs=2")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            start_new_session=True,
        )
        said = ""
        while "2/5" not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        return process, psutil.Process(process.pid).children(recursive=True)

    def goes_on(self, graded, course, capsys):
        for folder in (course / "autograded").glob(f"*/{ASSIGNMENT}"):
            files = list(folder.glob("*.ipynb"))
            assert len(files) in {4, 5}
            for file in files:
                nbformat.validate(nbformat.read(file, as_version=4))
        before = len(records(course))
        assert 2 <= before < 5
        assert main(arguments(course)) == 1
        said = capsys.readouterr().out
        assert int(re.search(r"(\d) submissions? graded", said)[1]) <= 5 - 2
        assert students(course) == students(graded.course)
        assert set(records(course)) == CLASS

    def test_a_killed_run_leaves_nothing_running_and_goes_on(self, graded, ungraded, capsys):
        process, children = self.start(ungraded)
        process.kill()
        process.communicate()
        assert psutil.wait_procs(children, timeout=10)[1] == []
        self.goes_on(graded, ungraded, capsys)

    def test_ctrl_c_is_130_without_a_traceback(self, graded, ungraded, capsys):
        process, children = self.start(ungraded)
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate(timeout=30)[1]
        assert process.returncode == 130
        assert "Traceback" not in said
        assert said.endswith("stopped; the same command goes on where it was\n")
        assert psutil.wait_procs(children, timeout=10)[1] == []
        self.goes_on(graded, ungraded, capsys)


@pytest.mark.long
class TestDask:
    def test_a_local_cluster_of_two_workers_gives_the_same(self, graded, ungraded):
        assert main(arguments(ungraded, "--backend=dask", "--jobs=2")) == 1
        assert students(ungraded) == students(graded.course)

    def test_so_does_a_scheduler_with_workers_of_several_threads(self, graded, ungraded):
        distributed = pytest.importorskip("distributed")
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address="127.0.0.1:0"
        ) as cluster:
            options = ("--backend=dask", f"--scheduler={cluster.scheduler_address}")
            assert main(arguments(ungraded, *options)) == 1
        assert students(ungraded) == students(graded.course)


def test_workers_import_neither_gradebook_nor_rich(course):
    code = (
        "[__import__('shardwise_grading.checking.grade'), sorted({'nbgrader', 'sqlalchemy', "
        "'rich', 'nbformat'} & __import__('sys').modules.keys())][1]"
    )
    with processes(1, 60) as pool:
        (answer,) = pool.answers(eval, [("", code)], alone=True)
    assert answer.value == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["no-such-assignment"], "assignment='no-such-assignment'"),
        ([ASSIGNMENT, "--student=nobody"], "student='nobody' has not handed in"),
        ([ASSIGNMENT, "--db=nonsense"], "names no database"),
    ],
)
def test_feedback_of_nobody_is_2_and_says_why(course, options, words, capsys):
    assert main(["feedback", f"--course={course}", *options]) == 2
    assert words in capsys.readouterr().err
