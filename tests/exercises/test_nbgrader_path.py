"""A class through nbgrader's own commands: release, validate, collect, autograde, feedback, export."""

from __future__ import annotations

import ast
import csv
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from support import ROOT

from shardwise_grading.__main__ import main
from shardwise_grading.course import Row, nbgrader
from shardwise_grading.sample import SampleClass, Student, read_class, results_table

ASSIGNMENT = "distributed-training"
FILE = "2-stage-2-memory.ipynb"
GRADED = {"all-right": 10.0, "partly-right": 4.0, "asks-the-library": 1.0, "untouched": 0.0}
HIDDEN = ROOT / "exercises" / "hidden"
SOURCE = ROOT / "exercises" / "source" / ASSIGNMENT


def hidden_code():
    """Lines of the hidden checks that no message, release or package has a reason to hold."""
    lines = set()
    for path in HIDDEN.glob("*.py"):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.Assign) and node.col_offset == 0:
                lines |= {line.strip() for line in ast.unparse(node).splitlines()[1:]}
                lines |= {line.strip() for line in ast.get_source_segment(source, node).split("\n")}
    return {line for line in lines if len(line) > 25}


def solution_code():
    """Lines between the solution marks of the source notebooks."""
    lines = set()
    for path in SOURCE.glob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            for region in re.findall(r"BEGIN SOLUTION\n(.*?)### END", cell.source, re.DOTALL):
                lines |= {line.strip() for line in region.splitlines()}
    return {line for line in lines if len(line) > 15}


def outputs(notebook, grade_id):
    (cell,) = (
        cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id
    )
    return cell.outputs


def autograded(graded, student):
    return nbformat.read(graded.course / "autograded" / student / ASSIGNMENT / FILE, as_version=4)


def feedback_text(graded, student):
    page = graded.course / "feedback" / student / ASSIGNMENT / FILE.replace("ipynb", "html")
    return BeautifulSoup(page.read_text(encoding="utf-8"), "lxml").get_text()


class TestSampleClass:
    def test_ends_as_the_class_expects(self, graded):
        assert graded.status == 0, graded.table

    def test_the_table_has_a_row_for_everybody(self, graded):
        rows = {line.split()[1]: line for line in graded.table.splitlines() if "│" in line}
        for student, points in GRADED.items():
            assert re.search(rf"graded\W+{points:g}\W+{points:g}\W", rows[student])
        assert "needs a human" in rows["broken-json"]
        assert "is no JSON" in graded.table

    def test_export_holds_the_scores(self, graded):
        with (graded.course / "grades.csv").open(encoding="utf-8") as file:
            rows = {row["student_id"]: row for row in csv.DictReader(file)}
        assert {student: float(rows[student]["score"]) for student in GRADED} == GRADED
        assert {float(row["max_score"]) for row in rows.values()} == {10.0}

    def test_a_hidden_cell_shows_one_float_and_keeps_stderr_to_itself(self, graded):
        notebook = autograded(graded, "partly-right")
        for name, score in (("stage2-bytes-hidden", "3.0"), ("partition-table-hidden", "1.0")):
            report, result = outputs(notebook, name)
            assert (report.output_type, report.name) == ("stream", "stdout")
            assert result.output_type == "execute_result"
            assert result.data["text/plain"] == score
        visible = outputs(notebook, "stage2-bytes-visible")
        assert any(output.get("name") == "stderr" for output in visible)

    def test_the_library_did_not_answer(self, graded):
        report = outputs(autograded(graded, "asks-the-library"), "stage2-bytes-hidden")[0].text
        assert "zero_memory_per_device is locked" in report

    def test_everybody_who_was_graded_gets_feedback(self, graded):
        assert {path.name for path in (graded.course / "feedback").iterdir()} == set(GRADED)
        text = feedback_text(graded, "partly-right")
        assert "stage2_bytes(1, 3) returned 6; expected 20/3" in text
        assert "return 2 * psi + 14 * psi // n" in text

    @pytest.mark.parametrize("student", GRADED)
    def test_feedback_holds_no_hidden_check_and_no_solution(self, graded, student):
        text = feedback_text(graded, student)
        handed_in = (graded.course / "submitted" / student / ASSIGNMENT / FILE).read_text()
        forbidden = hidden_code() | {line for line in solution_code() if line not in handed_in}
        assert len(forbidden) > 40
        assert not [line for line in forbidden if line in text]


class TestRelease:
    def test_is_the_notebooks_and_nothing_else(self, graded):
        released = graded.course / "release" / ASSIGNMENT
        files = {path.relative_to(released) for path in released.rglob("*") if path.is_file()}
        assert files == {Path(path.name) for path in SOURCE.glob("*.ipynb")}

    def test_holds_neither_checks_nor_solutions(self, graded):
        for path in (graded.course / "release").rglob("*.ipynb"):
            notebook = nbformat.read(path, as_version=4)
            text = "\n".join(cell.source for cell in notebook.cells)
            forbidden = hidden_code() | solution_code()
            assert not [line for line in forbidden if line in text]
            for word in ("BEGIN", "report.score", "shardwise_grading", "SHARDWISE_HIDDEN"):
                assert word not in text
            assert "# Your code here." in text

    def test_the_stub_is_python_and_fails_the_visible_checks(self, graded, capfd):
        path = graded.course / "release" / ASSIGNMENT / FILE
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code":
                ast.parse(cell.source)
        lines = []
        nbgrader(graded.course, "validate", str(path), on_line=lines.append)
        assert "VALIDATION FAILED ON 2 CELL(S)" in "".join(lines)

    def test_a_solved_one_validates(self, graded):
        lines = []
        path = graded.course / "submitted" / "all-right" / ASSIGNMENT / FILE
        nbgrader(graded.course, "validate", str(path), on_line=lines.append)
        assert "Success! Your notebook passes all the tests." in "".join(lines)

    def test_the_source_validates_with_its_hidden_cells(self, graded):
        lines = []
        path = graded.course / "source" / ASSIGNMENT / FILE
        nbgrader(graded.course, "validate", str(path), on_line=lines.append)
        assert "Success! Your notebook passes all the tests." in "".join(lines)


def test_submissions_are_collected_from_an_exchange(graded, tmp_path):
    course = tmp_path / "course"
    for name in ("nbgrader_config.py", "source", "release", "gradebook.db"):
        copy = shutil.copytree if (graded.course / name).is_dir() else shutil.copy2
        copy(graded.course / name, (course.mkdir(exist_ok=True), course / name)[1])
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
    (collected,) = (course / "submitted").rglob("*.ipynb")
    assert collected.read_text() == (student / ASSIGNMENT / FILE).read_text()


def test_plain_commands_need_no_settings(graded, tmp_path):
    """As the README says it: from the course folder, with nothing but nbgrader itself."""
    course = tmp_path / "course"
    course.mkdir()
    for name in ("nbgrader_config.py", "source", "hidden"):
        (course / name).symlink_to(ROOT / "exercises" / name)
    target = course / "submitted" / "all-right"
    shutil.copytree(graded.course / "submitted" / "all-right", target)
    tool = Path(sys.executable).parent / "nbgrader"
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    for command in ("generate_assignment", "autograde"):
        subprocess.run(
            [tool, command, ASSIGNMENT], cwd=course, env=environment, check=True, capture_output=True
        )
    assert (course / "gradebook.db").is_file()
    assert (course / "autograded" / "all-right" / ASSIGNMENT / FILE).is_file()
