"""What becomes of submissions that are damaged, or of which not all is there."""

from __future__ import annotations

from dataclasses import replace

import nbformat
from exercises.gradebook.small_course import (
    ASSIGNMENT,
    RIGHT,
    change_grade,
    gradebook,
    hand_in,
    scores,
)

from shardwise_grading.feedback import write_feedback


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
