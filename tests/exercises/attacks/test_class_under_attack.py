"""A class full of attackers through the command line: everybody gets what was solved."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from exercises.attacks import class_under_attack as hostile
from exercises.attacks import course, fence, places
from support import ROOT

from shardwise_grading.sample import copy_course

pytestmark = pytest.mark.long

LIMITS = ["--cell-seconds", "2", "--notebook-seconds", "20", "--memory", "512", "--processes", "48"]
STUDENTS = [pytest.param(*each, id=each[0]) for each in hostile.attackers()]
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class Graded:
    """The course after `autograde`, and what the command printed the first and second time."""

    folder: Path
    status: int
    printed: str
    again: str
    rows: dict
    before: dict

    def state(self) -> dict:
        return state(self.folder)


def state(folder: Path) -> dict[str, str]:
    """What is in the parts of a course that grading must leave alone."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for part in ("submitted", "source", "hidden")
        for path in sorted((folder / part).rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


@pytest.fixture(scope="module")
def graded(tmp_path_factory, protection):
    folder = tmp_path_factory.mktemp("a class") / "course"
    copy_course(ROOT / "exercises", folder)
    hostile.hand_in(folder)
    before = state(folder)
    command = [sys.executable, "-m", "shardwise_grading", "autograde", hostile.ASSIGNMENT]
    command += ["--course", str(folder), "--jobs", "2", "--seed", places.SEED, *LIMITS]
    status, printed = fence.run(command, tmp_path_factory.mktemp("home"), patience=900)
    _, again = fence.run(command, tmp_path_factory.mktemp("home"), patience=300)
    command = [sys.executable, "-m", "shardwise_grading", "feedback", hostile.ASSIGNMENT]
    command += ["--course", str(folder)]
    assert fence.run(command, tmp_path_factory.mktemp("home"), patience=100)[0] == 0
    found = next((folder / "results").rglob("results.json"))
    rows = {row["student"]: row for row in json.loads(found.read_text())["students"]}
    return Graded(folder, status, printed, again, rows, before)


def test_everybody_has_a_row_and_the_command_asks_for_a_human(graded):
    assert graded.status == 1
    names = {path.name for path in (graded.folder / "submitted").iterdir()}
    assert graded.rows.keys() == names


@pytest.mark.parametrize("student", hostile.HONEST)
def test_an_honest_student_gets_everything(graded, student):
    assert graded.rows[student]["total"] == 50
    assert graded.rows[student]["problem"] == ""
    assert graded.rows[student]["notes"] == []


@pytest.mark.parametrize(("student", "attack", "number"), STUDENTS)
def test_an_attacker_gets_what_was_solved(graded, student, attack, number):
    row = graded.rows[student]
    least, most = attack.points(number)
    assert 40 + least <= row["total"] <= 40 + most
    if attack.human is not None:
        assert bool(row["problem"]) == attack.human


@pytest.mark.parametrize(
    "student", ["links-to-ada", "pipe-for-a-notebook", "folder-for-a-notebook"]
)
def test_what_is_no_file_is_not_read(graded, student):
    assert graded.rows[student]["total"] == 40
    assert course.ALL[0].name in graded.rows[student]["problem"]


def test_files_beside_a_notebook_shadow_nothing(graded):
    assert graded.rows["shadows-modules"]["total"] == 50


def test_nothing_outside_the_results_has_changed(graded):
    assert graded.state() == graded.before


def test_no_secret_is_in_what_students_may_see(graded):
    texts = [
        path.read_text(encoding="utf-8", errors="replace")
        for part in ("autograded", "results", "feedback")
        for path in (graded.folder / part).rglob("*")
        if path.is_file() and path.suffix in (".ipynb", ".json", ".csv", ".html")
    ]
    assert len(texts) > 50
    for secret in places.secrets():
        assert not any(secret in text for text in texts), secret


def test_no_markup_of_a_student_is_markup_in_a_feedback_page(graded):
    pages = list((graded.folder / "feedback").rglob("*.html"))
    assert len(pages) > 50
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "<script>alert" not in text, page
        assert "<img src=x" not in text, page
        assert '="javascript:' not in text, page
    assert any("&lt;script&gt;alert" in page.read_text(encoding="utf-8") for page in pages)


def test_nothing_hostile_reaches_the_terminal(graded):
    assert not CONTROL.search(graded.printed.replace("\r", "").replace("\x1b[2K", ""))
    assert "<script>" not in graded.printed


def test_nobody_is_graded_again(graded):
    assert re.search(rf"^0 .*\b{len(graded.rows)} unchanged", graded.again, re.MULTILINE)


def test_the_gradebook_holds_the_same_points(graded):
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{graded.folder / 'gradebook.db'}") as gradebook:
        for student, row in graded.rows.items():
            score = gradebook.find_submission(hostile.ASSIGNMENT, student).score
            assert score == pytest.approx(row["total"]), student
