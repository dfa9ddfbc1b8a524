"""A class from release to export, by our grader and by nbgrader's commands, and no leaks."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from leaks import hidden_code, solution_code
from support import ROOT

from shardwise_grading.__main__ import main
from shardwise_grading.class_run.rows import Row
from shardwise_grading.course import find_problem, nbgrader
from shardwise_grading.sample import SampleClass, Student, compare, copy_course, read_class

ASSIGNMENT = "distributed-training"
NOTEBOOK = "2-stage-2-memory"
FILE = f"{NOTEBOOK}.ipynb"
SOURCE = ROOT / "exercises" / "source" / ASSIGNMENT
FILES = sorted(path.name for path in SOURCE.glob("*.ipynb"))
SAMPLE = read_class(ROOT / "tests" / "sample_class")
GRADED = {student.id: student.points for student in SAMPLE.students if not student.needs_human}


def test_the_class_hands_in_every_exercise():
    for points in GRADED.values():
        assert sorted(f"{name}.ipynb" for name in points) == FILES


def outputs(notebook, grade_id):
    (cell,) = (
        cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id
    )
    return cell.outputs


def autograded(graded, student, file=FILE):
    return nbformat.read(graded.course / "autograded" / student / ASSIGNMENT / file, as_version=4)


def feedback_text(graded, student, file=FILE):
    page = graded.course / "feedback" / student / ASSIGNMENT / file.replace("ipynb", "html")
    return BeautifulSoup(page.read_text(encoding="utf-8"), "lxml").get_text()


class TestSampleClass:
    def test_ends_as_the_class_expects(self, graded):
        assert graded.status == 0, graded.table

    def test_the_table_has_a_row_for_everybody(self, graded):
        rows = {line.split()[0]: line for line in graded.table.splitlines() if line.strip()}
        for student, points in GRADED.items():
            earned = [*(points[name] for name in sorted(points)), sum(points.values())]
            assert rows[student].split()[1:] == ["graded", *(f"{number:g}" for number in earned)]
        assert rows["broken-json"].split()[1:6] == ["needs", "a", "human", "0", "-"]
        assert "the file can't be read: it ends in the middle" in graded.table

    def test_export_holds_the_scores(self, graded):
        with (graded.course / "grades.csv").open(encoding="utf-8") as file:
            rows = {row["student_id"]: row for row in csv.DictReader(file)}
        for student, points in GRADED.items():
            assert float(rows[student]["score"]) == sum(points.values())
        assert {float(row["max_score"]) for row in rows.values()} == {10.0 * len(FILES)}

    def test_a_hidden_cell_shows_one_float_and_keeps_stderr_to_itself(self, graded):
        notebook = autograded(graded, "partly-right")
        for name, score in (("stage2-bytes-hidden", "3.0"), ("partition-table-hidden", "1.0")):
            report, result = outputs(notebook, name)
            assert (report.output_type, report.name) == ("stream", "stdout")
            assert result.output_type == "execute_result"
            assert result.data["text/plain"] == score
        visible = outputs(notebook, "stage2-bytes-visible")
        assert any(output.get("name") == "stderr" for output in visible)

    @pytest.mark.parametrize("file", FILES)
    def test_the_library_did_not_answer(self, graded, file):
        notebook = autograded(graded, "asks-the-library", file)
        texts = [
            output.get("text", "")
            for cell in notebook.cells
            if cell.cell_type == "code"
            for output in cell.outputs
        ]
        assert "is locked while your work is graded" in "".join(texts)

    def test_everybody_gets_feedback(self, graded):
        everybody = {student.id for student in SAMPLE.students}
        assert {path.name for path in (graded.course / "feedback").iterdir()} == everybody
        text = feedback_text(graded, "partly-right")
        assert "stage2_bytes(1, 3) returned 6; expected 20/3" in text
        assert "return 2 * psi + 14 * psi // n" in text

    @pytest.mark.parametrize("file", FILES)
    @pytest.mark.parametrize("student", GRADED)
    def test_feedback_holds_no_hidden_check_and_no_solution(self, graded, student, file):
        text = feedback_text(graded, student, file)
        path = graded.course / "submitted" / student / ASSIGNMENT / file
        own = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)
        secret = set().union(*hidden_code().values(), *solution_code().values())
        forbidden = {line for line in secret if line not in own}
        assert len(forbidden) > 40
        assert not [line for line in forbidden if line in text]


@pytest.mark.long
def test_nbgrader_gives_the_class_the_same_points(capsys):
    where = ["--course", str(ROOT / "exercises"), "--class", str(ROOT / "tests" / "sample_class")]
    assert main(["sample", "--with", "nbgrader", *where]) == 0, capsys.readouterr().out


@pytest.mark.long
def test_submissions_are_collected_from_an_exchange(graded, tmp_path):
    course = tmp_path / "course"
    shutil.copytree(graded.course, course, ignore=shutil.ignore_patterns("submitted", "feedback"))
    exchange = tmp_path / "exchange"
    exchange.mkdir()
    exchange.chmod(0o777)
    student = tmp_path / "student"
    shutil.copytree(graded.course / "submitted" / "all-right", student)
    shutil.copy2(course / "nbgrader_config.py", student)
    where = [f"--Exchange.root={exchange}", f"--Exchange.cache={tmp_path / 'cache'}"]
    nbgrader(course, "release_assignment", ASSIGNMENT, *where)
    nbgrader(student, "submit", ASSIGNMENT, "--student=ada", *where)
    nbgrader(course, "collect", ASSIGNMENT, *where)
    collected = sorted((course / "submitted" / "ada").rglob("*.ipynb"))
    assert [path.name for path in collected] == FILES
    for path in collected:
        assert path.read_text() == (student / ASSIGNMENT / path.name).read_text()


@pytest.mark.long
def test_plain_commands_need_nothing_but_the_course_folder(graded, tmp_path):
    """The program by its full path, with neither the environment on PATH nor any setting."""
    course = tmp_path / "course"
    copy_course(ROOT / "exercises", course)
    shutil.copytree(graded.course / "submitted" / "all-right", course / "submitted" / "all-right")
    tool = Path(sys.executable).parent / "nbgrader"
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    for command in ("generate_assignment", "autograde"):
        subprocess.run([tool, command, ASSIGNMENT], cwd=course, env=environment, check=True)
    notebook = nbformat.read(course / "autograded" / "all-right" / ASSIGNMENT / FILE, as_version=4)
    assert outputs(notebook, "stage2-bytes-hidden")[-1].data["text/plain"] == "8.0"


class TestCommand:
    @pytest.mark.parametrize("arguments", [["--help"], ["sample", "--help"]])
    def test_help(self, arguments, capsys):
        with pytest.raises(SystemExit) as end:
            main(arguments)
        assert end.value.code == 0
        assert "sample" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("option", "missing"), [("--course", "nbgrader_config.py"), ("--class", "class.toml")]
    )
    def test_says_what_is_missing(self, option, missing, capsys, tmp_path, monkeypatch):
        monkeypatch.chdir(ROOT)
        assert main(["sample", option, str(tmp_path)]) == 2
        error = capsys.readouterr().err
        assert missing in error
        assert f"give {option}" in error

    def test_does_not_write_into_a_folder_that_exists(self, capsys, tmp_path):
        assert main(["sample", "--keep", str(tmp_path)]) == 2
        assert "exists already" in capsys.readouterr().err

    def test_a_command_that_fails_is_named_with_its_words(self, graded):
        with pytest.raises(RuntimeError, match="nbgrader generate_assignment no-such failed"):
            nbgrader(graded.course, "generate_assignment", "no-such")


def drop_the_hidden_cells(content):
    content["cells"] = [c for c in content["cells"] if not c.get("id", "").endswith("hidden")]


def forget_the_run(content):
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell["execution_count"] = None


class TestProblem:
    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (None, "no notebook was handed in"),
            (b'{"cells": [', "is no JSON"),
            (b"\xff\xfe\x00", "is no readable notebook"),
            (b"[1, 2]", "is no readable notebook"),
            (b"[" * 100_000, "is no readable notebook"),
            (nbformat.writes(nbformat.v4.new_notebook()).encode(), "nbgrader autograde"),
        ],
        ids=["nothing", "truncated", "binary", "list", "nested", "not graded"],
    )
    def test_is_said_in_one_line(self, tmp_path, content, words):
        folder = tmp_path / "submitted" / "x" / ASSIGNMENT
        folder.mkdir(parents=True)
        if content is not None:
            (folder / FILE).write_bytes(content)
        problem = find_problem(tmp_path, "x", ASSIGNMENT)
        assert words in problem
        assert "\n" not in problem
        assert len(problem) < 160

    def course(self, graded, tmp_path, change):
        """A graded submission as a course of its own, changed before the table is drawn."""
        for part in ("release", "submitted/all-right", "autograded/all-right"):
            (tmp_path / part / ASSIGNMENT).mkdir(parents=True)
            shutil.copy2(graded.course / part / ASSIGNMENT / FILE, tmp_path / part / ASSIGNMENT)
        change(tmp_path)
        return find_problem(tmp_path, "all-right", ASSIGNMENT)

    def rewrite(self, course, folder, change):
        path = course / folder / "all-right" / ASSIGNMENT / FILE
        content = json.loads(path.read_text(encoding="utf-8"))
        change(content)
        path.write_text(json.dumps(content), encoding="utf-8")

    def test_there_is_none_in_a_graded_submission(self, graded, tmp_path):
        assert self.course(graded, tmp_path, lambda _: None) == ""

    @pytest.mark.parametrize(
        ("folder", "change", "words"),
        [
            ("submitted", lambda content: content.update(cells=[]), "lacks cells of the release"),
            ("submitted", drop_the_hidden_cells, "lacks cells"),
            ("submitted", lambda content: content.update(nbformat=3), "notebook format 3"),
            ("submitted", lambda content: content.pop("nbformat"), "no readable notebook"),
            (
                "autograded",
                forget_the_run,
                "see what 'nbgrader autograde",
            ),
        ],
        ids=["no cells", "a cell short", "old format", "no format", "no kernel"],
    )
    def test_a_submission_that_nobody_graded_needs_a_human(
        self, graded, tmp_path, folder, change, words
    ):
        problem = self.course(graded, tmp_path, lambda course: self.rewrite(course, folder, change))
        assert words in problem
        assert len(problem) < 200

    def test_a_notebook_under_another_name_needs_a_human(self, graded, tmp_path):
        def rename(course):
            path = course / "submitted" / "all-right" / ASSIGNMENT / FILE
            path.rename(path.with_name("copy.ipynb"))

        assert f"there is no {FILE}" in self.course(graded, tmp_path, rename)


class TestComparison:
    SAMPLE = SampleClass(
        "a", (Student("x", "about x", {"1-one": 3}), Student("y", "about y", needs_human=True))
    )

    def rows(self, points, problem):
        return [Row("x", {"1-one": points}, {"1-one": 5.0}), Row("y", problem=problem)]

    def test_counts_no_surprise_when_all_is_as_expected(self):
        lines, surprises = compare(self.SAMPLE, self.rows(3.0, "torn"))
        assert surprises == 0
        assert lines == ["x: about x", "y: torn"]

    @pytest.mark.parametrize(("points", "problem"), [(4.0, "torn"), (3.0, "")])
    def test_counts_what_differs(self, points, problem):
        assert compare(self.SAMPLE, self.rows(points, problem))[-1] == 1

    def test_counts_who_is_missing(self):
        lines, surprises = compare(self.SAMPLE, self.rows(3.0, "torn")[:1])
        assert (lines[-1], surprises) == ("y: no result", 1)

    def test_the_class_that_ships_has_the_four_kinds_and_a_delegating_one(self):
        assert [student.id for student in SAMPLE.students if student.needs_human] == ["broken-json"]
        totals = {student: sum(points.values()) for student, points in GRADED.items()}
        assert totals["all-right"] == 10 * len(FILES)
        assert 0 < totals["asks-the-library"] < totals["partly-right"] < totals["all-right"]
        assert totals["untouched"] == 0
