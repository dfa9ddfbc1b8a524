"""What the grader writes into folders and gradebook, and what it keeps of a human's work."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta

import nbformat
import pytest
from exercises.gradebook.small_course import (
    ASSIGNMENT,
    POINTS,
    RIGHT,
    WRONG,
    add_cells,
    by_hand,
    hand_in,
)
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory

from shardwise_grading.feedback import write_feedback
from shardwise_grading.gradebook.course import Course
from shardwise_grading.records import NotebookRecord, Output

NONE = "def twice(x):\n    # Your code here."


def gradebook(small):
    return Gradebook(f"sqlite:///{small.root / 'gradebook.db'}", "small")


def change_grade(small, student, cell, **values):
    """What a human does in formgrader."""
    notebook = f"{1 if cell.startswith('twice') else 2}-{cell.partition('-')[0]}"
    with gradebook(small) as book:
        grade = book.find_grade(cell, notebook, ASSIGNMENT, student)
        for name, value in values.items():
            setattr(grade, name, value)
        book.db.commit()


def set_duedate(small, duedate):
    with gradebook(small) as book:
        book.update_or_create_assignment(ASSIGNMENT, duedate=duedate)


def scores(small, student):
    marks = small.course.marks(student, ASSIGNMENT)
    return {name: mark.score for name, mark in marks.items()}


class TestOpen:
    def test_reads_what_the_course_says(self, small):
        assert small.course.root == small.root
        assert small.course.hidden_folders == (small.root / "hidden",)
        assert small.course.seed == "7"
        assert set(small.course.layouts(ASSIGNMENT)) == set(POINTS)
        assert list(small.course.hidden_sources(ASSIGNMENT)) == ["numbers"]

    def test_leaves_the_environment_alone(self, blank, monkeypatch):
        monkeypatch.setenv("SHARDWISE_SEED", "from outside")
        before = dict(os.environ)
        with Course.open(blank) as course:
            assert course.seed == "from outside"
        assert dict(os.environ) == before

    def test_needs_no_torch(self, blank):
        code = (
            "import sys; from pathlib import Path\n"
            "from shardwise_grading.gradebook.course import Course\n"
            "course = Course.open(Path(sys.argv[1])); course.ensure_assignment(sys.argv[2])\n"
            "assert 'torch' not in sys.modules"
        )
        subprocess.run([sys.executable, "-W", "ignore", "-c", code, blank, ASSIGNMENT], check=True)

    def test_names_the_missing_configuration(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="holds no nbgrader_config"):
            Course.open(tmp_path)

    def test_names_a_gradebook_that_cannot_be_opened_without_its_password(self, blank):
        url = "postgresql+psycopg://me:secret@127.0.0.1:9/none"
        with pytest.raises(ValueError, match=r"db_url=.*can't be opened") as caught:
            Course.open(blank, url)
        assert "secret" not in str(caught.value).partition("can't")[0]

    def test_names_no_password_of_a_url_that_is_none(self, blank):
        with pytest.raises(ValueError, match="db_url names no database") as caught:
            Course.open(blank, "postgresql:/me:secret@host")
        assert "secret" not in str(caught.value)

    def test_a_relative_sqlite_file_counts_from_the_course(self, small, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with Course.open(small.root, "sqlite:///gradebook.db") as course:
            course.ensure_assignment(ASSIGNMENT)
        assert not (tmp_path / "gradebook.db").exists()


class TestAssignment:
    def test_is_in_the_gradebook_as_nbgrader_leaves_it(self, small):
        with gradebook(small) as book:
            assignment = book.find_assignment(ASSIGNMENT)
            assert assignment.max_score == sum(POINTS.values())
            assert {notebook.name for notebook in assignment.notebooks} == set(POINTS)
            hidden = book.find_source_cell("twice-hidden", "1-twice", ASSIGNMENT)
            assert "report.score" in hidden.source
            stub = book.find_source_cell("twice", "1-twice", ASSIGNMENT)
            assert stub.source == NONE
        assert not (small.root / "release").exists()

    def test_follows_a_change_of_the_source(self, small):
        path = small.root / "source" / ASSIGNMENT / "1-twice.ipynb"
        path.write_text(path.read_text().replace("twice(8) == 16", "twice(9) == 18"))
        with Course.open(small.root) as course:
            course.ensure_assignment(ASSIGNMENT)
        with gradebook(small) as book:
            cell = book.find_source_cell("twice-visible", "1-twice", ASSIGNMENT)
            assert "twice(9)" in cell.source

    def test_says_when_nbgrader_cannot_follow(self, small):
        hand_in(small.root, "ada")
        small.grade("ada")
        (small.root / "source" / ASSIGNMENT / "2-half.ipynb").unlink()
        with (
            Course.open(small.root) as course,
            pytest.raises(ValueError, match="generate_assignment arithmetic --force"),
        ):
            course.ensure_assignment(ASSIGNMENT)

    @pytest.mark.parametrize("name", ["nothing", "../source/arithmetic", ""])
    def test_says_when_there_is_none(self, small, name):
        with pytest.raises(FileNotFoundError, match="has no notebook"):
            small.course.ensure_assignment(name)

    def test_says_when_hidden_checks_are_missing(self, small):
        (small.root / "hidden" / "numbers.py").unlink()
        with pytest.raises(FileNotFoundError, match="SHARDWISE_HIDDEN"):
            small.course.ensure_assignment(ASSIGNMENT)


class TestSave:
    def test_an_honest_submission(self, small):
        hand_in(small.root, "ada", RIGHT)
        hand_in(small.root, "bob", WRONG)
        for student in ("ada", "bob"):
            small.grade(student)
        ada, bob = (small.standing(name) for name in ("ada", "bob"))
        assert (ada.points, ada.total) == ({"1-twice": 3, "2-half": 2}, 5)
        assert (bob.points, bob.max_points) == ({"1-twice": 2, "2-half": 0}, POINTS)
        assert not ada.needs_manual
        assert not bob.needs_manual

    def test_the_notebook_is_what_nbgrader_expects(self, small):
        hand_in(small.root, "bob", WRONG)
        small.grade("bob")
        notebook = small.graded("bob", "1-twice")
        nbformat.validate(notebook)
        by_name = {cell.id: cell for cell in notebook.cells}
        hidden = by_name["twice-hidden"]
        assert hidden.outputs[0].text.startswith("Hidden checks: 2 of 3 points")
        assert hidden.outputs[1].data["text/plain"] == "2.0"
        assert hidden.metadata.nbgrader.points == 3
        assert "report.score" in hidden.source
        assert by_name["twice"].source == WRONG["1-twice"]
        assert notebook.metadata.kernelspec.name == "python3"
        path = small.course.autograded_folder("bob", ASSIGNMENT) / "1-twice.ipynb"
        assert stat.S_IMODE(path.stat().st_mode) == 0o444

    def test_an_answer_that_is_the_stub_gets_nbgraders_comment(self, small):
        hand_in(small.root, "ada", {**RIGHT, "1-twice": f"{NONE}\n    return 0"})
        hand_in(small.root, "bob", {**RIGHT, "1-twice": NONE})
        record = small.record(small.submission("ada"))
        small.course.save(record, small.submission("ada"))
        bob = small.submission("bob")
        twice = replace(
            record.notebooks[0],
            cells=tuple(
                replace(c, step=replace(c.step, source=NONE)) if c.step.role == "solution" else c
                for c in record.notebooks[0].cells
            ),
        )
        small.course.save(replace(record, notebooks=(twice, record.notebooks[1])), bob)
        with gradebook(small) as book:
            comments = [
                book.find_comment("twice", "1-twice", ASSIGNMENT, student).comment
                for student in ("ada", "bob")
            ]
        assert comments == [None, "No response."]
        assert small.course.marks("bob", ASSIGNMENT)["1-twice"].cells["twice"].comment == ""

    def test_other_files_follow_and_the_instructors_win(self, small):
        (small.root / "source" / ASSIGNMENT / "data.csv").write_text("the instructor's")
        hand_in(small.root, "ada", **{"data.csv": "mine", "own.txt": "own"})
        (small.root / "submitted/ada" / ASSIGNMENT / "sub").mkdir()
        (small.root / "submitted/ada" / ASSIGNMENT / "sub" / "deep.txt").write_text("deep")
        small.grade("ada")
        folder = small.course.autograded_folder("ada", ASSIGNMENT)
        assert (folder / "data.csv").read_text() == "the instructor's"
        assert (folder / "own.txt").read_text() == "own"
        assert (folder / "sub" / "deep.txt").read_text() == "deep"

    def test_a_folder_in_the_place_of_a_file_is_left_behind(self, small):
        (small.root / "source" / ASSIGNMENT / "data.csv").write_text("the instructor's")
        folder = hand_in(small.root, "ada")
        (folder / "data.csv").mkdir()
        (folder / "data.csv" / "x").write_text("x")
        small.grade("ada")
        copy = small.course.autograded_folder("ada", ASSIGNMENT) / "data.csv"
        assert copy.read_text() == "the instructor's"

    def test_nobody_else_is_touched(self, small):
        for student in ("ada", "bob"):
            hand_in(small.root, student)
            small.grade(student)
        before = scores(small, "ada"), small.course.is_current(small.submission("ada"))
        hand_in(small.root, "bob", WRONG)
        small.grade("bob")
        assert (scores(small, "ada"), small.course.is_current(small.submission("ada"))) == before

    def test_saving_twice_changes_nothing(self, small):
        hand_in(small.root, "ada")
        record = small.grade("ada")
        folder = small.course.autograded_folder("ada", ASSIGNMENT)
        first = {path.name: path.read_bytes() for path in folder.iterdir()}
        marks = small.course.marks("ada", ASSIGNMENT)
        small.course.save(record, small.submission("ada"))
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == first
        assert small.course.marks("ada", ASSIGNMENT) == marks
        assert small.course.record("ada", ASSIGNMENT) == record


class TestSettings:
    """What the course's own nbgrader_config.py says of grading."""

    def reopen(self, small, *lines):
        with (small.root / "nbgrader_config.py").open("a") as file:
            file.writelines(f"{line}\n" for line in lines)
        small.course = Course.open(small.root)
        return small.course

    def test_a_course_may_add_no_students_by_itself(self, small):
        with self.reopen(small, "c.Autograde.create_student = False"):
            hand_in(small.root, "ada")
            submission = small.submission("ada")
            assert submission.problem.startswith("the gradebook has no such student")
            small.course.save(small.record(submission), submission)
            assert small.standing("ada") is None
            with gradebook(small) as book:
                book.add_student("ada")
            assert not small.course.is_current(small.submission("ada"))
            small.grade("ada")
            assert small.standing("ada").total == 5

    def test_files_that_are_the_students_own_stay(self, small):
        for name in ("data.csv", "own.py"):
            (small.root / "source" / ASSIGNMENT / name).write_text("the instructor's")
        setting = f"c.Autograde.exclude_overwriting = {{'{ASSIGNMENT}': ['own.py']}}"
        with self.reopen(small, setting, "c.CourseDirectory.groupshared = True"):
            hand_in(small.root, "ada", **{"data.csv": "mine", "own.py": "mine"})
            small.grade("ada")
            folder = small.course.autograded_folder("ada", ASSIGNMENT)
            assert (folder / "data.csv").read_text() == "the instructor's"
            assert (folder / "own.py").read_text() == "mine"
            assert stat.S_IMODE((folder / "own.py").stat().st_mode) == 0o664
            assert stat.S_IMODE(folder.stat().st_mode) & 0o2770 == 0o2770

    def test_folders_may_have_other_names_and_another_order(self, small):
        structure = "{nbgrader_step}/{assignment_id}/{student_id}"
        with self.reopen(small, f"c.CourseDirectory.directory_structure = '{structure}'"):
            hand_in(small.root, "ada")
            (small.root / "submitted" / "ada").rename(small.root / "submitted" / "moved")
            (small.root / "submitted" / ASSIGNMENT).mkdir()
            moved = small.root / "submitted" / "moved" / ASSIGNMENT
            moved.rename(small.root / "submitted" / ASSIGNMENT / "ada")
            small.grade("ada")
            assert small.standing("ada").total == 5
            assert (small.root / "autograded" / ASSIGNMENT / "ada" / "1-twice.ipynb").is_file()

    def test_a_pattern_of_noise_on_stderr_is_dropped(self, small):
        lines = ("c.IgnorePattern.enabled = True", "c.IgnorePattern.pattern = 'Downloading'")
        with self.reopen(small, *lines):
            hand_in(small.root, "ada")
            submission = small.submission("ada")
            record = small.record(submission)
            noise = (Output("stderr", "Downloading weights"), Output("stdout", "kept"))
            cells = tuple(replace(cell, outputs=noise) for cell in record.notebooks[0].cells)
            noisy = replace(record.notebooks[0], cells=cells)
            small.course.save(replace(record, notebooks=(noisy,)), submission)
            (shown,) = small.graded("ada", "1-twice").cells[1].outputs
            assert shown.text == "kept"


class TestHuman:
    def test_scores_credit_and_comments_survive(self, small):
        hand_in(small.root, "bob", WRONG)
        small.grade("bob")
        change_grade(small, "bob", "twice-hidden", manual_score=1.5, needs_manual_grade=False)
        change_grade(small, "bob", "half-hidden", extra_credit=0.5)
        with gradebook(small) as book:
            book.find_comment("twice", "1-twice", ASSIGNMENT, "bob").manual_comment = "Well tried"
            book.db.commit()
        assert small.course.is_current(small.submission("bob"))
        hand_in(small.root, "bob", RIGHT, timestamp="2026-02-02 10:00:00 UTC")
        assert not small.course.is_current(small.submission("bob"))
        small.grade("bob")
        marks = small.course.marks("bob", ASSIGNMENT)
        twice = marks["1-twice"].cells["twice-hidden"]
        assert (twice.auto_score, twice.manual_score, twice.score) == (3, 1.5, 1.5)
        assert twice.needs_manual  # a human decided on other work, as nbgrader says as well
        assert marks["1-twice"].cells["twice"].comment == "Well tried"
        assert marks["2-half"].score == 2.5
        assert not marks["2-half"].cells["half-hidden"].needs_manual

    def test_nobody_who_has_decided_is_asked_again_about_the_same_work(self, small):
        hand_in(small.root, "bob", WRONG)
        small.grade("bob")
        change_grade(small, "bob", "twice-hidden", manual_score=1.5, needs_manual_grade=False)
        small.grade("bob")  # as --force does
        marks = small.course.marks("bob", ASSIGNMENT)["1-twice"].cells["twice-hidden"]
        assert (marks.manual_score, marks.needs_manual) == (1.5, False)
        change_grade(small, "bob", "twice-hidden", needs_manual_grade=True)
        small.grade("bob")
        assert small.standing("bob").needs_manual  # whoever was asked still is


class TestLate:
    DUE = datetime.fromisoformat("2026-01-01T12:00")

    def penalize(self, small):
        """The same course with a penalty of a point for each hour, by a plugin of its own."""
        (small.root / "late.py").write_text(
            "from nbgrader.plugins import BasePlugin\n"
            "class Late(BasePlugin):\n"
            "    def late_submission_penalty(self, student_id, score, total_seconds_late):\n"
            "        return total_seconds_late / 3600\n"
        )
        with (small.root / "nbgrader_config.py").open("a") as file:
            file.write("import sys\nsys.path.insert(0, str(COURSE))\nfrom late import Late\n")
            file.write("sys.path.pop(0), sys.modules.pop('late')\n")
            file.write("c.AssignLatePenalties.plugin_class = Late\n")
        small.course = Course.open(small.root)

    def test_the_courses_plugin_decides(self, small):
        self.penalize(small)
        set_duedate(small, self.DUE)
        for hours, student in ((0, "on-time"), (1, "late"), (50, "very-late")):
            when = (self.DUE + timedelta(hours=hours)).isoformat(sep=" ")
            hand_in(small.root, student, timestamp=f"{when} UTC")
            small.grade(student)
        late = {
            student: small.standing(student).late_penalty
            for student in ("on-time", "late", "very-late")
        }
        # never more than the score of a notebook
        assert late == {"on-time": 0, "late": 2, "very-late": 5}
        assert small.standing("very-late").total == 0
        small.course.__exit__()

    def test_an_extension_counts_and_a_zone_too(self, small):
        self.penalize(small)
        set_duedate(small, self.DUE)
        hand_in(small.root, "ada", timestamp="2026-01-01T14:30:00+01:00")
        record = small.grade("ada")
        assert small.standing("ada").late_penalty == 3
        with gradebook(small) as book:
            book.grant_extension(ASSIGNMENT, "ada", hours=1)
        self.settle(small, record, 1)
        set_duedate(small, None)
        self.settle(small, record, 0)
        set_duedate(small, self.DUE)
        self.settle(small, record, 1)
        small.course.__exit__()

    def test_points_of_a_human_change_a_penalty_that_depends_on_them(self, small):
        self.penalize(small)
        set_duedate(small, self.DUE)
        hand_in(small.root, "ada", timestamp="2026-01-02 12:00:00 UTC")
        record = small.grade("ada")
        assert small.standing("ada").late_penalty == 5
        change_grade(small, "ada", "twice-hidden", manual_score=1, needs_manual_grade=False)
        self.settle(small, record, 3)
        assert not small.standing("ada").needs_manual
        small.course.__exit__()

    def settle(self, small, record, penalty):
        """Save what was graded already, as autograde does where only the penalty is another."""
        submission = small.submission("ada")
        assert not small.course.is_current(submission)
        assert record.digest == small.course.digest(submission)
        small.course.save(record, submission)
        assert small.course.is_current(submission)
        assert small.standing("ada").late_penalty == penalty

    def test_a_newer_timestamp_needs_saving_but_no_grading(self, small):
        hand_in(small.root, "ada", timestamp="2026-01-01 10:00:00 UTC")
        record = small.grade("ada")
        assert small.course.is_current(small.submission("ada"))
        hand_in(small.root, "ada", timestamp="2026-01-03 10:00:00 UTC")
        submission = small.submission("ada")
        assert submission.timestamp == datetime.fromisoformat("2026-01-03T10:00")
        assert small.course.digest(submission) == record.digest
        assert not small.course.is_current(submission)
        small.course.save(record, submission)
        assert small.course.is_current(submission)
        with gradebook(small) as book:
            assert book.find_submission(ASSIGNMENT, "ada").timestamp == submission.timestamp
        copy = small.course.autograded_folder("ada", ASSIGNMENT) / "timestamp.txt"
        assert copy.read_text() == "2026-01-03 10:00:00 UTC"


class TestDamage:
    def test_a_missing_notebook_gets_no_points_and_the_rest_counts(self, small):
        hand_in(small.root, "ada", {"1-twice": RIGHT["1-twice"]})
        small.grade("ada")
        standing = small.standing("ada")
        assert standing.points == {"1-twice": 3, "2-half": 0}
        assert not standing.needs_manual
        folder = small.course.autograded_folder("ada", ASSIGNMENT)
        assert {path.name for path in folder.iterdir()} == {"1-twice.ipynb"}
        assert small.course.is_current(small.submission("ada"))

    def test_where_all_are_missing_a_human_has_to_look(self, small):
        hand_in(small.root, "ada", {}, **{"copy.txt": "all of it"})
        small.grade("ada")
        marks = small.course.marks("ada", ASSIGNMENT)
        assert [mark.score for mark in marks.values()] == [0, 0]
        assert marks["1-twice"].cells["twice-hidden"].score is None
        assert small.standing("ada").needs_manual
        assert small.course.is_current(small.submission("ada"))

    def test_a_notebook_that_cannot_be_read_is_marked(self, small):
        folder = hand_in(small.root, "ada")
        (folder / "1-twice.ipynb").write_bytes(b'{"cells": [')
        small.grade("ada")
        marks = small.course.marks("ada", ASSIGNMENT)
        assert marks["2-half"].score == 2
        broken = marks["1-twice"].cells["twice-hidden"]
        assert (broken.score, broken.needs_manual) == (None, True)
        notebook = small.graded("ada", "1-twice")
        nbformat.validate(notebook)
        assert "A human has to look" in notebook.cells[0].source
        assert small.course.is_current(small.submission("ada"))

    def test_a_human_who_has_looked_is_not_asked_again(self, small):
        folder = hand_in(small.root, "ada")
        (folder / "1-twice.ipynb").write_bytes(b"{")
        small.grade("ada")
        change_grade(small, "ada", "twice-hidden", manual_score=2, needs_manual_grade=False)
        assert small.course.is_current(small.submission("ada"))
        assert small.standing("ada").total == 4
        assert not small.standing("ada").needs_manual

    def test_points_of_a_notebook_with_a_problem_count_and_are_marked(self, small):
        hand_in(small.root, "ada")
        submission = small.submission("ada")
        record = small.record(submission)
        half = replace(record.notebooks[1], problem="held more than 1 GiB of memory")
        small.course.save(replace(record, notebooks=(record.notebooks[0], half)), submission)
        marks = small.course.marks("ada", ASSIGNMENT)
        assert (marks["2-half"].score, marks["1-twice"].score) == (2, 3)
        # nbgrader's own feedback shows the cell to the student
        assert "1 GiB" not in small.graded("ada", "2-half").cells[0].source
        assert marks["2-half"].cells["half-hidden"].needs_manual
        assert not marks["1-twice"].cells["twice-hidden"].needs_manual

    def test_a_record_without_notebooks_marks_them_all(self, small):
        hand_in(small.root, "ada")
        submission = small.submission("ada")
        record = replace(small.record(submission), notebooks=(), problem="the worker was lost")
        small.course.save(record, submission)
        marks = small.course.marks("ada", ASSIGNMENT)
        assert all(
            marks[name].cells[f"{name[2:]}-hidden"].score is None for name in ("1-twice", "2-half")
        )
        said = small.graded("ada", "1-twice").cells[0].source
        assert "it was not graded; the results of grading say why" in said

    def test_a_hidden_cell_without_results_never_gets_points(self, small):
        hand_in(small.root, "ada")
        submission = small.submission("ada")
        record = small.record(submission)
        cut = tuple(
            replace(n, cells=tuple(replace(c, results=(), ran=False) for c in n.cells))
            for n in record.notebooks
        )
        small.course.save(replace(record, notebooks=cut), submission)
        assert scores(small, "ada") == {"1-twice": 0, "2-half": 0}
        hidden = small.graded("ada", "1-twice").cells[3]
        assert hidden.outputs[0].output_type == "error"

    def test_a_penalty_of_work_that_is_gone_goes_too(self, small):
        hand_in(small.root, "ada")
        small.grade("ada")
        with gradebook(small) as book:
            entry = book.find_submission_notebook("2-half", ASSIGNMENT, "ada")
            entry.late_submission_penalty = 2
            book.db.commit()
        (small.root / "submitted/ada" / ASSIGNMENT / "2-half.ipynb").unlink()
        small.grade("ada")
        assert small.standing("ada").late_penalty == 0


def test_a_folder_that_is_no_students_keeps_nobody_from_their_feedback(small):
    for student in ("ada", "two\nlines", "z" * 200):
        hand_in(small.root, student)
    for submission in small.course.submissions(ASSIGNMENT):
        small.course.save(small.record(submission), submission)
    pages = write_feedback(small.course, ASSIGNMENT)
    assert {page.parent.parent.name for page in pages} == {"ada"}
    assert len(pages) == 3


class TestByHand:
    """Cells that only a human marks."""

    @pytest.fixture
    def prose(self, small):
        """The same course with an answer in prose and a task, both in the second notebook."""
        path = small.root / "source" / ASSIGNMENT / "2-half.ipynb"
        add_cells(path, by_hand("essay"), by_hand("task", task=True))
        with Course.open(small.root) as small.course:
            small.course.ensure_assignment(ASSIGNMENT)
            yield small

    def hand_in(self, small, student, answer):
        folder = hand_in(small.root, student)
        add_cells(folder / "2-half.ipynb", by_hand("essay", answer), by_hand("task", task=True))

    def test_wait_for_one_and_keep_what_it_says(self, prose):
        self.hand_in(prose, "ada", "Because.")
        prose.grade("ada")
        marks = prose.course.marks("ada", ASSIGNMENT)["2-half"]
        assert (marks.score, marks.max_score) == (2, 10)
        for name in ("essay", "task"):
            assert (marks.cells[name].score, marks.cells[name].needs_manual) == (None, True)
        with gradebook(prose) as book:
            for name in ("essay", "task"):
                grade = book.find_grade(name, "2-half", ASSIGNMENT, "ada")
                grade.manual_score, grade.needs_manual_grade = 3, False
            book.db.commit()
        assert prose.course.is_current(prose.submission("ada"))
        for answer, asked in (("Because.", False), ("Because of another thing.", True)):
            self.hand_in(prose, "ada", answer)
            prose.grade("ada")
            marks = prose.course.marks("ada", ASSIGNMENT)["2-half"]
            assert marks.score == 8
            # as after nbgrader autograde: an answer has changed, a task is never touched
            assert marks.cells["essay"].needs_manual is asked
            assert not marks.cells["task"].needs_manual
            assert prose.course.is_current(prose.submission("ada"))

    def test_get_nothing_where_the_answer_is_the_stub(self, prose):
        self.hand_in(prose, "bob", "YOUR ANSWER HERE")
        prose.grade("bob")
        essay = prose.course.marks("bob", ASSIGNMENT)["2-half"].cells["essay"]
        assert (essay.score, essay.needs_manual) == (0, False)

    def test_get_nothing_where_the_notebook_is_missing(self, prose):
        hand_in(prose.root, "eve", {"1-twice": RIGHT["1-twice"]})
        prose.grade("eve")
        assert prose.standing("eve").total == 3
        assert not prose.standing("eve").needs_manual
        assert prose.course.is_current(prose.submission("eve"))


class TestFormgrader:
    def test_reads_what_was_saved(self, small):
        hand_in(small.root, "ada", RIGHT, timestamp="2026-01-01 10:00:00 UTC")
        hand_in(small.root, "bob", WRONG)
        (hand_in(small.root, "eve") / "1-twice.ipynb").write_bytes(b"{")
        for student in ("ada", "bob", "eve"):
            small.grade(student)
        directory = CourseDirectory(
            root=str(small.root),
            db_url=f"sqlite:///{small.root / 'gradebook.db'}",
            course_id="small",
        )
        api = NbGraderAPI(directory)
        rows = {row["student"]: row for row in api.get_submissions(ASSIGNMENT)}
        assert {name: row["score"] for name, row in rows.items()} == {"ada": 5, "bob": 2, "eve": 2}
        assert {name: row["autograded"] for name, row in rows.items()} == dict.fromkeys(rows, True)
        manual = {name: row["needs_manual_grade"] for name, row in rows.items()}
        assert manual == {"ada": False, "bob": False, "eve": True}
        notebooks = {
            row["student"]: row for row in api.get_notebook_submissions(ASSIGNMENT, "1-twice")
        }
        failed = {name: row["failed_tests"] for name, row in notebooks.items()}
        assert failed == {"ada": False, "bob": True, "eve": False}
        assert {row["id"] for row in api.get_students()} == {"ada", "bob", "eve"}


class TestCurrent:
    def test_only_after_saving(self, small):
        hand_in(small.root, "ada")
        assert not small.course.is_current(small.submission("ada"))
        small.grade("ada")
        assert small.course.is_current(small.submission("ada"))

    @pytest.mark.parametrize("part", ["notebook", "gradebook", "record", "extra", "entry"])
    def test_not_when_somebody_changed_what_was_saved(self, small, part):
        hand_in(small.root, "ada")
        small.grade("ada")
        folder = small.course.autograded_folder("ada", ASSIGNMENT)
        if part == "notebook":
            (folder / "1-twice.ipynb").unlink()
        elif part == "extra":
            (folder / "3-more.ipynb").write_text("{}")
        elif part == "gradebook":
            change_grade(small, "ada", "twice-hidden", auto_score=0.5)
        elif part == "record":
            (small.root / "results" / ASSIGNMENT / "submissions" / "ada.json").write_text(
                '{"a": 1}'
            )
        else:
            with gradebook(small) as book:
                book.remove_submission(ASSIGNMENT, "ada")
        assert not small.course.is_current(small.submission("ada"))

    def digest(self, small, **settings):
        with Course.open(small.root, **settings) as course:
            return course.digest(course.submissions(ASSIGNMENT)[0])

    def test_the_digest_names_all_that_counts(self, small, monkeypatch):
        folder = hand_in(small.root, "ada")
        seen = [self.digest(small), self.digest(small, settings="30 seconds")]
        hidden = small.root / "hidden" / "numbers.py"
        hidden.write_text(hidden.read_text() + "\n# stricter")
        seen.append(self.digest(small))
        monkeypatch.setenv("SHARDWISE_SEED", "8")
        seen.append(self.digest(small))
        (folder / "1-twice.ipynb").write_text((folder / "1-twice.ipynb").read_text() + " ")
        seen.append(self.digest(small))
        (folder / "2-half.ipynb").unlink()
        seen.append(self.digest(small))
        (folder / "beside.txt").write_text("what code may open")
        seen.append(self.digest(small))
        source = small.root / "source" / ASSIGNMENT / "1-twice.ipynb"
        source.write_text(source.read_text().replace("twice(8) == 16", "twice(9) == 18"))
        seen.append(self.digest(small))
        name = "shardwise_grading.gradebook.digest.grader_version"
        monkeypatch.setattr(name, lambda: "another")
        seen.append(self.digest(small))
        assert len(set(seen)) == len(seen)

    def test_the_digest_names_nothing_else(self, small):
        folder = hand_in(small.root, "ada", timestamp="2026-01-01 10:00:00 UTC")
        first = self.digest(small)
        (folder / "timestamp.txt").write_text("2026-01-02 10:00:00 UTC")
        hand_in(small.root, "bob")
        (small.root / "hidden" / "unrelated.py").write_text("CHECKS = {}")
        assert self.digest(small) == first


def test_an_unknown_notebook_of_a_record_is_left_out(small):
    hand_in(small.root, "ada")
    submission = small.submission("ada")
    record = small.record(submission)
    more = (*record.notebooks, NotebookRecord("9-own"))
    small.course.save(replace(record, notebooks=more), submission)
    assert scores(small, "ada") == POINTS
