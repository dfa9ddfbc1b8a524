"""A small course of two notebooks, and records of what grading might find in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.api import Gradebook

from shardwise_grading.gradebook.course import Course
from shardwise_grading.records import CellRecord, NotebookRecord, Output, SubmissionRecord
from shardwise_grading.results import Result
from shardwise_grading.submission.read import read_script
from shardwise_grading.world import LocalWorld

ASSIGNMENT = "arithmetic"
CONFIG = """
import os
from pathlib import Path
COURSE = Path(__file__).absolute().parent
os.environ.setdefault("SHARDWISE_HIDDEN", str(COURSE / "hidden"))
os.environ.setdefault("SHARDWISE_SEED", "7")
c = get_config()
c.CourseDirectory.root = str(COURSE)
c.CourseDirectory.course_id = "small"
c.ClearSolutions.code_stub = {"python": "# Your code here."}
"""
HIDDEN = """
from shardwise_grading import Result

LOCKED = ()


def twice(solution, world):
    for name, x, points in (("small", 3, 2), ("negative", -3, 1)):
        right = world.call(solution, x).value == 2 * x
        yield Result(f"of {name} numbers", right, points, "" if right else f"f({x})")


def half(solution, world):
    yield Result("of even numbers", world.call(solution, 4).value == 2, 2)


CHECKS = {"twice": twice, "half": half}
"""
RIGHT = {"1-twice": "def twice(x):\n    return 2 * x", "2-half": "def half(x):\n    return x / 2"}
WRONG = {"1-twice": "def twice(x):\n    return abs(2 * x)", "2-half": "def half(x):\n    return x"}
STUB = "def twice(x):\n    # Your code here."
POINTS = {"1-twice": 3, "2-half": 2}


def source_notebook(name):
    """The instructor's notebook for one function."""
    function, points = name[2:], POINTS[name]
    head, body = RIGHT[name].split("\n")
    solution = f"{head}\n    ### BEGIN SOLUTION\n{body}\n    ### END SOLUTION"
    test = f"assert {function}(8) == {16 if function == 'twice' else 4}"
    hidden = (
        f"# {points} points: hidden checks run here.\n### BEGIN HIDDEN TESTS\n"
        "from shardwise_grading import grade\n"
        f'report = grade("numbers", "{function}", {function}, points={points})\nreport.score\n'
        "### END HIDDEN TESTS"
    )
    cells = [
        new_markdown_cell(f"# {function}", id="header"),
        _cell(function, solution, solution=True),
        _cell(f"{function}-visible", test, grade=True, points=0),
        _cell(f"{function}-hidden", hidden, grade=True, points=points),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def _cell(name, source, solution=False, grade=False, points=None):
    settings = {"grade_id": name, "solution": solution, "grade": grade, "locked": not solution}
    settings |= {"schema_version": 3, "task": False} | ({"points": points} if grade else {})
    return new_code_cell(source, id=name, metadata={"nbgrader": settings})


def by_hand(name, source="Why?", points=4, *, task=False):
    """A cell in prose that only a human marks: an answer, or a task."""
    settings = {"grade_id": name, "points": points, "locked": task, "schema_version": 3}
    settings |= {"solution": not task, "grade": not task, "task": task}
    return new_markdown_cell(source, id=name, metadata={"nbgrader": settings})


def add_cells(path, *cells):
    """Append cells to a notebook's file."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells += cells
    nbformat.write(notebook, path)


def write_course(root):
    """Write everything that an instructor writes."""
    (root / "source" / ASSIGNMENT).mkdir(parents=True)
    (root / "hidden").mkdir()
    (root / "hidden" / "numbers.py").write_text(HIDDEN)
    (root / "nbgrader_config.py").write_text(CONFIG)
    for name in POINTS:
        nbformat.write(source_notebook(name), root / "source" / ASSIGNMENT / f"{name}.ipynb")
    return root


def hand_in(root, student, answers=RIGHT, timestamp=None, **files):
    """Hand in the instructor's notebooks with other answers."""
    folder = root / "submitted" / student / ASSIGNMENT
    folder.mkdir(parents=True, exist_ok=True)
    for name, answer in answers.items():
        notebook = source_notebook(name)
        notebook.cells[1].source = answer
        notebook.cells[3].source = notebook.cells[3].source.split("\n")[0]
        nbformat.write(notebook, folder / f"{name}.ipynb")
    if timestamp:
        (folder / "timestamp.txt").write_text(timestamp)
    for name, content in files.items():
        (folder / name).write_text(content)
    return folder


def judge_notebook(script, hidden):
    """Run a script of this course as it stands: no process of its own, no stubs."""
    names: dict = {}
    cells = []
    for step in script.steps:
        outputs, results = (), ()
        if step.kind == "code" and step.ask:
            results = judge_part(step.ask, names, hidden)
        elif step.kind == "code":
            try:
                exec(step.source, names)
            except Exception as error:  # noqa: BLE001
                outputs = (Output("error", "no", name=type(error).__name__),)
        cells.append(CellRecord(step, outputs, results, ran=step.kind == "code"))
    return NotebookRecord(script.name, tuple(cells), script.notes, script.problem)


def judge_part(ask, names, hidden):
    """The results of one hidden cell."""
    if ask.solution not in names:
        return (Result(f"there is {ask.solution}", False, ask.points),)
    solution = names[ask.solution]
    with LocalWorld("7") as world:
        return tuple(hidden["CHECKS"][ask.part](solution, world))


@dataclass(frozen=True)
class Standing:
    """What one student has in the small course."""

    points: dict
    max_points: dict
    late_penalty: float
    needs_manual: bool

    @property
    def total(self):
        return sum(self.points.values()) - self.late_penalty


@dataclass
class Small:
    """A small course, open."""

    root: Path
    course: Course

    def submission(self, student):
        (found,) = self.course.submissions(ASSIGNMENT, [student])
        return found

    def record(self, submission):
        """What honest grading finds in a submission."""
        hidden: dict = {}
        exec(self.course.hidden_sources(ASSIGNMENT)["numbers"], hidden)
        layouts, contents = self.course.layouts(ASSIGNMENT), self.course.contents(submission)
        notebooks = tuple(
            judge_notebook(read_script(layout, contents[name]), hidden)
            for name, layout in layouts.items()
        )
        digest = self.course.digest(submission)
        return SubmissionRecord(submission.student, ASSIGNMENT, digest, notebooks, "none")

    def grade(self, student):
        """Grade a submission and save it."""
        submission = self.submission(student)
        record = self.record(submission)
        self.course.save(record, submission)
        return record

    def standing(self, student):
        """The gradebook's marks in short; None where it has no entry."""
        marks = self.course.marks(student, ASSIGNMENT)
        return (
            Standing(
                {name: mark.score for name, mark in marks.items()},
                {name: mark.max_score for name, mark in marks.items()},
                sum(mark.late_penalty for mark in marks.values()),
                any(cell.needs_manual for mark in marks.values() for cell in mark.cells.values()),
            )
            if marks
            else None
        )

    def graded(self, student, name):
        path = self.root / "autograded" / student / ASSIGNMENT / f"{name}.ipynb"
        return nbformat.read(path, as_version=4)


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
