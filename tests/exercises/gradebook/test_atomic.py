"""A run that is killed leaves the old state or the new one, and the next run comes to the new."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys

import pytest
from exercises.gradebook.small_course import ASSIGNMENT, POINTS, RIGHT, WRONG, Small, hand_in

from shardwise_grading.gradebook.course import Course
from shardwise_grading.gradebook.swap import Swap

SAVE_GRADES = "shardwise_grading.gradebook.course.save_grades"
OLD = {"1-twice": 2, "2-half": 0}
NEW = POINTS
KILLED = """
import os, sys
from pathlib import Path
from shardwise_grading.gradebook.course import Course
from shardwise_grading.records import submission_from_json
import json
import sqlalchemy

left = int(sys.argv[2])

def watch(event, arguments):
    global left
    if event in ("os.rename", "shutil.rmtree", "os.mkdir", "os.chmod", "commit") or (
        event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT
    ):
        left -= 1
        if left < 0:
            os._exit(9)

with Course.open(Path(sys.argv[1])) as course:
    (submission,) = course.submissions("arithmetic")
    record = submission_from_json(json.loads(Path(sys.argv[3]).read_text()))
    course._outcome(record, submission)
    sys.addaudithook(watch)
    sqlalchemy.event.listen(course._gradebook.engine, "commit", lambda _: watch("commit", ()))
    course.save(record, submission)
"""


@pytest.fixture
def graded(small, tmp_path):
    """A graded submission, handed in again, and the record of the new one."""
    hand_in(small.root, "ada", WRONG)
    small.grade("ada")
    hand_in(small.root, "ada", RIGHT)
    again = tmp_path / "again"
    shutil.copytree(small.root, again)
    with Course.open(again) as course:
        record = Small(again, course).grade("ada")
        shutil.copy(again / "results" / ASSIGNMENT / "submissions" / "ada.json", tmp_path / "new")
    return small, record, tmp_path / "new"


def state(root):
    """What folder and gradebook say, read without any of our code."""
    texts = [
        path.read_text() for path in sorted((root / "autograded/ada" / ASSIGNMENT).glob("*.ipynb"))
    ]
    folder = {"1-twice": 2, "2-half": 0}
    if texts:
        shown = [3.0 if '"3.0"' in texts[0] else 2.0, 2.0 if '"2.0"' in texts[1] else 0.0]
        folder = dict(zip(POINTS, shown, strict=True))
    with sqlite3.connect(root / "gradebook.db") as database:
        rows = database.execute(
            "select notebook.name, sum(grade.auto_score) from grade "
            "join submitted_notebook on grade.notebook_id = submitted_notebook.id "
            "join notebook on submitted_notebook.notebook_id = notebook.id group by notebook.name"
        ).fetchall()
    database.close()
    return len(texts), folder, dict(rows)


@pytest.mark.long
def test_killed_at_any_file_operation(graded, tmp_path):
    small, record, new = graded
    seen, finished, step = set(), False, 0
    while not finished:
        root = tmp_path / f"killed-{step}"
        shutil.copytree(small.root, root)
        command = [sys.executable, "-W", "ignore", "-c", KILLED, str(root), str(step), str(new)]
        finished = subprocess.run(command, check=False).returncode == 0
        count, folder, database = state(root)
        assert count in (0, 2)
        assert folder in (OLD, NEW)
        assert database in (OLD, NEW)
        seen.add((count, tuple(folder.values()), tuple(database.values())))
        with Course.open(root) as course:
            again = Small(root, course)
            submission = again.submission("ada")
            assert course.is_current(submission) == (course.record("ada", ASSIGNMENT) == record)
            assert state(root)[0] == 2
            course.save(record, submission)
            assert course.is_current(submission)
        assert state(root) == (2, NEW, NEW)
        assert {path.name for path in (root / "autograded/ada").iterdir()} == {ASSIGNMENT}
        step += 1
    assert step > 8
    assert {(2, (2, 0), (2, 0)), (2, (3, 2), (3, 2))} <= seen


class TestFailure:
    @pytest.mark.parametrize("where", ["put", "finish_of_transaction", "grades"])
    def test_of_saving_leaves_everything_as_it_was(self, graded, monkeypatch, where):
        small, record, _ = graded
        before = state(small.root)

        def fail(*_, **__):
            raise OSError("no space left")

        if where == "put":
            monkeypatch.setattr(Swap, "put", fail)
        elif where == "grades":
            monkeypatch.setattr(SAVE_GRADES, fail)
        else:
            name = "shardwise_grading.gradebook.transaction.scoped_session.remove"
            monkeypatch.setattr(name, fail)
        with pytest.raises(OSError, match="no space left"):
            small.course.save(record, small.submission("ada"))
        monkeypatch.undo()
        assert state(small.root) == before
        assert {path.name for path in (small.root / "autograded/ada").iterdir()} == {ASSIGNMENT}
        assert not small.course.is_current(small.submission("ada"))
        small.course.save(record, small.submission("ada"))
        assert state(small.root) == (2, NEW, NEW)

    def test_of_the_first_saving_leaves_nothing(self, small, monkeypatch):
        hand_in(small.root, "ada")
        record = small.record(small.submission("ada"))

        def fail(*_, **__):
            raise OSError("no space left")

        monkeypatch.setattr(SAVE_GRADES, fail)
        with pytest.raises(OSError, match="no space left"):
            small.course.save(record, small.submission("ada"))
        assert list((small.root / "autograded/ada").iterdir()) == []
        assert small.standing("ada") is None
        assert small.course.record("ada", ASSIGNMENT) is None


def names(path):
    return [entry.name for entry in path.iterdir()]


def folder_of(path, text):
    path.mkdir()
    (path / "file").write_text(text)


class TestSwap:
    def put(self, target, text):
        swap = Swap(target)
        (swap.begin() / "file").write_text(text)
        swap.put()
        return swap

    def test_replaces_a_folder(self, tmp_path):
        target = tmp_path / "a"
        self.put(target, "one").finish()
        self.put(target, "two").finish()
        assert (target / "file").read_text() == "two"
        assert names(tmp_path) == ["a"]

    def test_can_be_undone(self, tmp_path):
        target = tmp_path / "a"
        self.put(target, "one").undo()
        assert names(tmp_path) == []
        self.put(target, "one").finish()
        self.put(target, "two").undo()
        assert (target / "file").read_text() == "one"
        assert names(tmp_path) == ["a"]

    @pytest.mark.parametrize(
        ("there", "kept"),
        [
            ({".a.new": "new", "a": "old"}, "old"),
            ({".a.new": "new", ".a.old": "old"}, "old"),
            ({".a.old": "old", "a": "new"}, "new"),
        ],
    )
    def test_recovers_from_a_kill(self, tmp_path, there, kept):
        for name, text in there.items():
            folder_of(tmp_path / name, text)
        Swap(tmp_path / "a").recover()
        assert names(tmp_path) == ["a"]
        assert (tmp_path / "a" / "file").read_text() == kept
