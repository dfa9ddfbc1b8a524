"""The instructor's notebook as a layout: what nbgrader releases, and what can't be graded."""

from __future__ import annotations

import copy
import json

import nbformat
import pytest
from exercises.handed_in import LAYOUTS, NAMES, SOURCE, called

from shardwise_grading.records import Ask
from shardwise_grading.submission import layouts, read_layout, read_script
from shardwise_grading.submission.match import released
from shardwise_grading.submission.text import defined_names

NAME = "2-stage-2-memory"


@pytest.fixture
def source():
    return json.loads((SOURCE / f"{NAME}.ipynb").read_text(encoding="utf-8"))


@pytest.fixture
def write(tmp_path):
    def write(notebook):
        path = tmp_path / f"{NAME}.ipynb"
        path.write_text(json.dumps(notebook), encoding="utf-8")
        return path

    return write


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_students_get_what_the_layout_says(name):
    from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions

    notebook = nbformat.read(SOURCE / f"{name}.ipynb", as_version=4)
    stub = ClearSolutions(code_stub={"python": "# Your code here."})
    for clear in (stub, ClearHiddenTests()):
        notebook, _ = clear.preprocess(notebook, {})
    assert [cell.source for cell in notebook.cells] == [
        released(step) for step in LAYOUTS[name].steps
    ]


def test_says_what_each_cell_is_for():
    layout = LAYOUTS[NAME]
    roles = [(step.role, step.grade_id) for step in layout.steps if step.role != "text"]
    assert roles == [
        ("solution", "stage2-bytes"),
        ("visible", "stage2-bytes-visible"),
        ("solution", "partition-table"),
        ("visible", "partition-table-visible"),
        ("hidden", "stage2-bytes-hidden"),
        ("hidden", "partition-table-hidden"),
    ]
    assert [step.ask for step in layout.steps if step.ask] == [
        Ask("stage_2_memory", "stage2_bytes", "stage2_bytes", 8),
        Ask("stage_2_memory", "partition_table", "partition", 2),
    ]
    assert layout.defines == {"stage2-bytes": ("stage2_bytes",), "partition-table": ("partition",)}


def test_a_folder_is_read_by_name():
    assert layouts(SOURCE) == LAYOUTS
    assert sorted(LAYOUTS) == sorted(path.stem for path in SOURCE.glob("*.ipynb"))


def test_a_folder_without_notebooks_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no notebook; name the folder"):
        layouts(tmp_path)


def test_code_that_nbgrader_does_not_know_is_the_students(source, write):
    source["cells"].insert(3, copy.deepcopy(called(source, "stage2-bytes")) | {"metadata": {}})
    assert read_layout(write(source)).steps == LAYOUTS[NAME].steps


def test_an_answer_without_a_region_is_a_stub(source, write):
    called(source, "stage2-bytes")["source"] = "def stage2_bytes(psi, n):\n    return 1"
    called(source, HIDDEN)["metadata"]["nbgrader"]["points"] = 0
    called(source, HIDDEN)["source"] = "assert True"
    layout = read_layout(write(source), code_stub="# answer")
    assert layout.steps[3].source == "# answer"


HIDDEN = "stage2-bytes-hidden"
THREE = (
    "from shardwise_grading import grade\n"
    'report = grade("stage_2_memory", "stage2_bytes", {name}, points={points})\n'
    "report.score"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("assert stage2_bytes(1, 1) == 16", "worth 8 points and no hidden cell; write the three"),
        ("if:", "no hidden cell; write the three lines"),
        (THREE.format(name="stage2_bytes", points=7), "says points=7 and its metadata 8"),
        (THREE.format(name="stage2_bytes", points=-8), "no hidden cell"),
        (THREE.format(name="partition[0]", points=8), "no hidden cell"),
        (THREE.format(name="other", points=8), "asks for other, which no answer's stub defines"),
        (f"{THREE.format(name='stage2_bytes', points=8)}\nmore()", "no hidden cell"),
        (
            f"### BEGIN HIDDEN TESTS\n{THREE.format(name='x', points=8)}",
            "a region has no end; write a line with END",
        ),
    ],
)
def test_a_cell_with_points_has_to_be_a_hidden_cell(source, write, text, message):
    called(source, HIDDEN)["source"] = text
    path = write(source)
    with pytest.raises(ValueError, match=message) as refused:
        read_layout(path)
    assert str(refused.value).startswith(f"{path}: {HIDDEN}: ")


def test_hidden_text_without_points_would_reach_the_student(source, write):
    called(source, HIDDEN)["metadata"]["nbgrader"]["points"] = 0
    with pytest.raises(ValueError, match="says points=8 and its metadata 0"):
        read_layout(write(source))
    called(source, HIDDEN)["source"] = "### BEGIN HIDDEN TESTS\nx\n### END HIDDEN TESTS"
    with pytest.raises(ValueError, match="no hidden cell; write the three lines"):
        read_layout(write(source))


@pytest.fixture
def marked_by_hand(source, write):
    """A notebook with an answer in prose and a task, which a human marks, and a locked text."""
    places = {
        "why": {"grade": True, "solution": True, "locked": False, "points": 3},
        "draw": {"grade": False, "solution": False, "locked": True, "points": 5, "task": True},
        "rules": {"grade": False, "solution": False, "locked": True},
    }
    for name, settings in places.items():
        metadata = {"nbgrader": {"schema_version": 3, "task": False, "grade_id": name} | settings}
        text = {"why": "Why?\n### BEGIN SOLUTION\nx = 1\n### END SOLUTION"}.get(
            name, f"The {name}."
        )
        cell = {"cell_type": "markdown", "id": name, "metadata": metadata, "source": text}
        source["cells"].append(cell)
    return source


def test_what_a_human_marks_is_kept_apart(marked_by_hand, write):
    layout = read_layout(write(marked_by_hand))
    assert layout.by_hand == {"why": 3.0, "draw": 5.0}
    assert [(step.kind, step.role, step.grade_id) for step in layout.steps[-3:]] == [
        ("markdown", "solution", "why"),
        ("markdown", "text", "draw"),
        ("markdown", "text", "rules"),
    ]
    assert layout.steps[-3].source == "Why?\nYOUR ANSWER HERE"
    assert layout.defines["why"] == ()
    assert LAYOUTS[NAME].by_hand == {}


def test_answers_that_a_human_marks_reach_the_script(marked_by_hand, write):
    layout = read_layout(write(marked_by_hand))
    called(marked_by_hand, "why")["source"] = "stage2_bytes = my words"
    called(marked_by_hand, "draw")["source"] = "The draw. And mine."
    called(marked_by_hand, "rules")["source"] = "No rules."
    script = read_script(layout, json.dumps(marked_by_hand).encode())
    assert [(step.role, step.source) for step in script.steps[-5:]] == [
        ("solution", "stage2_bytes = my words"),
        ("text", "The draw."),
        ("own", "The draw. And mine."),
        ("text", "The rules."),
        ("own", "No rules."),
    ]
    assert "why" not in " ".join(script.notes)


def test_a_source_of_another_format_is_refused(source, write):
    with pytest.raises(ValueError, match="has the format 3; save it in format 4"):
        read_layout(write({"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": []}))
    path = write(source)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"2-stage-2-memory\.ipynb is no notebook"):
        read_layout(path)


def test_reading_twice_gives_the_same(source, write):
    for cell in source["cells"][:5]:
        del cell["id"]
    source["cells"][6]["id"] = source["cells"][7]["id"]
    assert read_layout(write(source)) == read_layout(write(source))


def test_two_cells_of_one_name_are_refused(source, write):
    called(source, "partition-table")["metadata"]["nbgrader"]["grade_id"] = "stage2-bytes"
    with pytest.raises(ValueError, match="2 cells are named 'stage2-bytes'; rename one"):
        read_layout(write(source))


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("async def f():\n    def g(): pass", ("f",)),
        ("class A:\n    x = 1\n    def f(self): pass", ("A",)),
        ("a = 1; b = 2\na = 3", ("a",)),
        ("rows: dict[str, int] = {}\ntotal += 1\nx == 1", ("rows",)),
        ('"""\ndef f(): pass\n"""', ()),
        ("'''\ndef f(): pass\n''' + \"\"\"\nb = 1\n\"\"\"\ndef g(): pass", ("g",)),
        ("# def f(): pass", ()),
        ("x = '''unclosed\ndef f(): pass", ("x",)),
        ("s = 'it\\'s \"'\ndef f(): pass", ("s", "f")),
        ('%%time\ndef f(x=\'"""\'):\n    return x', ("f",)),
        ("def größe(): pass", ("größe",)),
        ("if True:\n    def f(): pass", ()),
    ],
)
def test_names_are_read_from_the_lines(source, names):
    assert defined_names(source) == names
