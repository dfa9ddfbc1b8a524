"""What a course says of itself, and what saving puts into folders and gradebook."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from dataclasses import replace

import nbformat
import pytest
from exercises.gradebook.small_course import (
    ASSIGNMENT,
    POINTS,
    RIGHT,
    STUB,
    WRONG,
    gradebook,
    hand_in,
    scores,
)

from shardwise_grading.gradebook.course import Course
from shardwise_grading.records import NotebookRecord, Output


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
            assert stub.source == STUB
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
        with pytest.raises(FileNotFoundError, match=r"has no notebook.*; give one of: arithmetic"):
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
        hand_in(small.root, "ada", {**RIGHT, "1-twice": f"{STUB}\n    return 0"})
        hand_in(small.root, "bob", {**RIGHT, "1-twice": STUB})
        record = small.record(small.submission("ada"))
        small.course.save(record, small.submission("ada"))
        bob = small.submission("bob")
        twice = replace(
            record.notebooks[0],
            cells=tuple(
                replace(c, step=replace(c.step, source=STUB)) if c.step.role == "solution" else c
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


def test_an_unknown_notebook_of_a_record_is_left_out(small):
    hand_in(small.root, "ada")
    submission = small.submission("ada")
    record = small.record(submission)
    more = (*record.notebooks, NotebookRecord("9-own"))
    small.course.save(replace(record, notebooks=more), submission)
    assert scores(small, "ada") == POINTS
