"""The results of a class: rows, files, the table, and lists."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from shardwise_grading.class_run.files import as_csv, write_results
from shardwise_grading.class_run.progress import progress
from shardwise_grading.class_run.rows import Row, make_row
from shardwise_grading.class_run.summary import human_list, note_list, results_table
from shardwise_grading.class_run.text import printable
from shardwise_grading.gradebook.marks import CellMark, NotebookMark
from shardwise_grading.records import NotebookRecord, SubmissionRecord

NAMES = [f"{number}-exercise" for number in range(1, 6)]
EVIL = "\x1b]0;owned\x07\x1b[31mred\u202e\r\n=1+1"


def row(student="ada", points=7.0, **more):
    return Row(student, dict.fromkeys(NAMES, points), dict.fromkeys(NAMES, 10.0), **more)


def mark(score, max_score, late=0.0, **more):
    graded = CellMark(score=score, max_score=max_score, **more)
    return NotebookMark({"graded": graded, "comment": CellMark(comment="well done")}, late)


def drawn(table, width=80, **options):
    console = Console(file=io.StringIO(), width=width, **options)
    console.print(table)
    return console.file.getvalue()


class TestRow:
    def record(self, problem="", notes=()):
        notebooks = (NotebookRecord("1-a", notes=notes, problem=problem), NotebookRecord("2-b"))
        return SubmissionRecord("ada", "hw", "d", notebooks)

    def test_points_are_the_gradebooks(self):
        marks = {"1-a": mark(7.5, 10, late=1.0), "2-b": mark(3, 5, late=0.5)}
        made = make_row("ada", self.record(notes=("a cell was renamed",)), marks)
        assert made.points == {"1-a": 7.5, "2-b": 3.0}
        assert made.max_points == {"1-a": 10.0, "2-b": 5.0}
        assert (made.late_penalty, made.total, made.status) == (1.5, 9.0, "graded")
        assert made.notes == ("1-a: a cell was renamed",)

    def test_a_penalty_never_makes_points_negative(self):
        assert row(points=1.0, late_penalty=20.0).total == 0

    def test_what_nobody_graded_has_no_points(self):
        marks = {"1-a": mark(None, 10), "2-b": mark(3, 5)}
        made = make_row("ada", self.record("is no JSON"), marks)
        assert made.points == {"2-b": 3.0}
        assert (made.status, made.problem) == ("needs a human", "1-a: is no JSON")
        assert make_row("ada", self.record(), marks).problem == "waits for points by hand: 1-a"

    def test_points_by_hand_settle_a_problem(self):
        by_hand = mark(4, 10, manual_score=4)
        made = make_row("ada", self.record("is no JSON"), {"1-a": by_hand})
        assert (made.status, made.points) == ("graded", {"1-a": 4.0})
        again = mark(4, 10, manual_score=4, needs_manual=True)
        assert make_row("ada", self.record("is no JSON"), {"1-a": again}).problem

    def test_points_by_hand_for_older_work_need_a_human(self):
        again = mark(4.5, 7, auto_score=7.0, manual_score=4.5, needs_manual=True)
        made = make_row("ada", self.record(), {"1-a": again})
        assert made.problem == (
            "1-a: points set by hand (4.5 of 7) are of older work; the checks now give 7"
        )

    def test_a_student_that_the_gradebook_cannot_hold_has_the_points_of_the_grader(self):
        made = make_row("ada", self.record(), {}, "rename the folder")
        assert made.points == {"1-a": 0.0, "2-b": 0.0}
        assert made.status == "needs a human"

    def test_a_problem_of_the_folder_is_said_once(self):
        record = SubmissionRecord("ada", "hw", "d", problem="x is a link")
        assert make_row("ada", record, {}, "x is a link").problem == "x is a link"
        assert make_row("ada", None, {}, "no folder").status == "needs a human"


class TestFiles:
    def test_json_and_csv_say_the_same(self, tmp_path):
        rows = [row("ada", 7.5, late_penalty=2.5), Row("bob", problem="is no JSON")]
        write_results(tmp_path / "new", "hw", rows)
        assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
            "results.csv",
            "results.json",
        ]
        content = json.loads((tmp_path / "new" / "results.json").read_text())
        ada, bob = content["students"]
        assert (ada["total"], ada["status"], bob["problem"]) == (35.0, "graded", "is no JSON")
        with (tmp_path / "new" / "results.csv").open() as file:
            lines = list(csv.DictReader(file))
        assert (lines[0]["total"], lines[0]["total max"], lines[0]["late penalty"]) == (
            "35",
            "50",
            "2.5",
        )
        assert (lines[0]["1-exercise"], lines[0]["1-exercise max"]) == ("7.5", "10")
        assert (lines[1]["1-exercise"], lines[1]["status"]) == ("", "needs a human")

    @pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\r=", " ="])
    def test_no_cell_is_a_formula(self, start):
        student = f'{start}HYPERLINK("http://x","y")'
        (line,) = csv.DictReader(io.StringIO(as_csv([row(student, problem=student)])))
        for name in ("student", "problem"):
            assert line[name].lstrip()[0] == "'"

    def test_the_names_of_notebooks_are_no_formulas_either(self):
        text = as_csv([Row("ada", {"=1": 1.0}, {"=1": 2.0})])
        assert text.startswith("student,'=1,'=1 max,")

    def test_a_failed_write_leaves_the_old_file_and_no_other(self, tmp_path, monkeypatch):
        write_results(tmp_path, "hw", [row()])
        before = (tmp_path / "results.json").read_text()
        monkeypatch.setattr("pathlib.Path.replace", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_results(tmp_path, "hw", [row("bob")])
        assert (tmp_path / "results.json").read_text() == before
        assert len(list(tmp_path.iterdir())) == 2


class TestTable:
    def test_fits_eighty_columns_with_whole_headings(self):
        rows = [
            row("a-student-with-a-rather-long-name", 10.0, late_penalty=12.5),
            Row("bob", problem="torn", max_points=dict.fromkeys(NAMES, 10.0)),
        ]
        text = drawn(results_table("hw: 2 students", rows))
        lines = text.splitlines()
        assert max(map(len, lines)) <= 80
        assert "…" in text  # only the long name is cut
        above, below = (line.split() for line in lines[1:3])
        assert above == ["1", "2", "3", "4", "5", "total"]
        assert below == ["student", "status", *["of", "10"] * 5, "late", "of", "50"]
        (bob,) = (line for line in lines if "bob" in line)
        assert bob.split() == ["bob", "needs", "a", "human", "-", "-", "-", "-", "-", "-"]

    def test_many_exercises_leave_the_total(self):
        names = [f"{number}-x" for number in range(12)]
        rows = [Row("ada", dict.fromkeys(names, 1.0), dict.fromkeys(names, 1.0))]
        text = drawn(results_table("hw", rows))
        assert max(map(len, text.splitlines())) <= 80
        assert "of 12" in text

    def test_no_name_reaches_the_terminal(self):
        rows = [row(EVIL, problem=EVIL, notes=(EVIL,)), row("[red]bob[/red]")]
        shown = drawn(results_table("hw", rows))
        shown += "\n".join([*human_list(rows, Path("course/submitted"), "hw"), *note_list(rows)])
        assert not set(shown) & {"\x1b", "\x07", "\r", "\u202e"}
        assert "[red]bob[/red]" in shown


class TestLists:
    def test_who_needs_a_human_why_and_what_to_do(self):
        rows = [row(), row("bob", problem="1-a: is no JSON")]
        lines = human_list(rows, Path("course/submitted"), "hw")
        assert lines[:2] == ["1 submission needs a human:", "  bob: 1-a: is no JSON"]
        assert any("course/submitted/STUDENT/hw" in line for line in lines)
        assert human_list([row()], Path(), "hw") == []

    def test_many_notes_are_cut(self):
        rows = [row(f"s{number}", notes=("late cell",)) for number in range(100)]
        lines = note_list(rows)
        assert lines[0] == "Notes:"
        assert "60 more" in lines[-1]
        assert note_list([row()]) == []


class TestProgress:
    def test_plain_lines_where_there_is_no_terminal(self):
        console = Console(file=io.StringIO(), width=40)
        with progress(console, 10) as tell:
            tell("ada", "7 of 10")
            tell(EVIL, "[bold]needs a human[/bold]" + "x" * 60)
        first, second = console.file.getvalue().splitlines()
        assert first == " 1/10  ada: 7 of 10"
        assert second.startswith(" 2/10  ")
        assert "\x1b" not in second

    def test_a_bar_on_a_terminal(self):
        console = Console(file=io.StringIO(), width=80, force_terminal=True)
        with progress(console, 2) as tell:
            tell("[red]ada", "7 of 10")
            tell("bob", "8 of 10")
        text = console.file.getvalue()
        assert "2/2" in text
        assert "bob: 8 of 10" in text


def test_printable_keeps_letters_of_every_language():
    assert printable("Žofie 李 ñ") == "Žofie 李 ñ"
    assert printable("a\ud800b") == "a\\ud800b"
    assert len(printable("x" * 1000)) == 300
