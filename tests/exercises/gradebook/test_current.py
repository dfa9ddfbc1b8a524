"""Whether anything is left to do, and what formgrader reads of what was done."""

from __future__ import annotations

import pytest
from exercises.gradebook.small_course import (
    ASSIGNMENT,
    RIGHT,
    WRONG,
    change_grade,
    gradebook,
    hand_in,
)
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory

from shardwise_grading.gradebook.course import Course


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
