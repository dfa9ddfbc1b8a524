"""What a human does in the gradebook: points, comments, due dates, work marked by hand."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from exercises.gradebook.small_course import (
    ASSIGNMENT,
    RIGHT,
    WRONG,
    add_cells,
    by_hand,
    change_grade,
    gradebook,
    hand_in,
    set_duedate,
)

from shardwise_grading.gradebook.course import Course


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
        assert twice.is_outdated  # a human decided on other work, as nbgrader says as well
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
