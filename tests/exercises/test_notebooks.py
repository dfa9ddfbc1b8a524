"""The notebooks of the course, as files: what nbgrader and a reader rely on."""

from __future__ import annotations

import ast
import re
import sys

import nbformat
import pytest
from support import ROOT

from shardwise_grading.check.notebook import used
from shardwise_grading.mutants import read_known
from shardwise_grading.runner import load
from shardwise_grading.sample import read_class

SOURCE = ROOT / "exercises" / "source" / "distributed-training"
NOTEBOOKS = sorted(SOURCE.glob("*.ipynb"))
READMES = {
    path: path.read_text(encoding="utf-8") for path in (ROOT / "README.md", SOURCE / "README.md")
}
KNOWN = [
    known
    for path in sorted((ROOT / "tests" / "exercises" / "known").glob("*.py"))
    for known in read_known(path)
]
ALL_RIGHT = next(
    student
    for student in read_class(ROOT / "tests" / "sample_class").students
    if student.id == "all-right"
)


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


def settings(cell):
    return cell.metadata.get("nbgrader", {})


def graded(notebook):
    return [cell for cell in notebook.cells if settings(cell).get("grade")]


def hidden_cells(notebook):
    return [cell for cell in notebook.cells if "BEGIN HIDDEN TESTS" in cell.source]


def text_of(notebook):
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def test_there_is_a_notebook():
    assert NOTEBOOKS


def test_is_valid_and_clean(notebook):
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


def test_nbgrader_knows_every_code_cell(notebook):
    names = [settings(cell)["grade_id"] for cell in notebook.cells if cell.cell_type == "code"]
    assert len(set(names)) == len(names)
    for cell in notebook.cells:
        if cell.cell_type != "code":
            assert not settings(cell)
            continue
        assert settings(cell)["schema_version"] == 3
        solution, test = "BEGIN SOLUTION" in cell.source, settings(cell)["grade"]
        assert settings(cell)["solution"] is solution
        assert settings(cell)["locked"] is test
        assert solution != test


def test_points_add_up_to_ten_and_only_hidden_cells_have_them(notebook):
    assert sum(settings(cell)["points"] for cell in graded(notebook)) == 10
    for cell in graded(notebook):
        assert bool(settings(cell)["points"]) is (cell in hidden_cells(notebook))


def test_a_hidden_cell_is_three_lines_and_ends_in_the_score(notebook, hidden_folder):
    for cell in hidden_cells(notebook):
        inside = re.search(
            r"### BEGIN HIDDEN TESTS\n(.*)\n### END HIDDEN TESTS", cell.source, re.DOTALL
        )
        load_line, run_line, score_line = ast.parse(inside[1]).body
        assert inside[1].count("\n") == 2
        assert ast.unparse(load_line) == "from shardwise_grading import grade"
        assert ast.unparse(score_line) == "report.score"
        call = run_line.value
        exercise, part = (argument.value for argument in call.args[:2])
        assert part in load(exercise).CHECKS
        assert call.keywords[0].value.value == settings(cell)["points"]


def test_two_to_four_visible_checks_follow_the_stub(notebook):
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    stub, visible = cells[:2]
    assert settings(stub)["solution"]
    tree = ast.parse(visible.source)
    checks = [node for node in tree.body if isinstance(node, (ast.Assert, ast.Try))]
    assert 2 <= len(checks) <= 4
    goals = re.findall(r"^ +# \d\.", stub.source, re.MULTILINE)
    assert 2 <= len(goals) <= 3


def visible_checks(notebook):
    """What each visible check runs, by the name that it asks the student for."""
    checks = [cell.source for cell in graded(notebook) if not settings(cell)["points"]]
    return {used(source)[0]: source for source in checks}


def test_a_visible_check_needs_the_answer_and_nothing_else_of_the_students(notebook):
    assert notebook.cells
    for name, source in visible_checks(notebook).items():
        assert used(source) == [name]
        assert any(f"{name} = " in c.source or f"def {name}(" in c.source for c in notebook.cells)


def asked_for(notebook):
    """What each part of the hidden checks asks for."""
    return {
        call.args[1].value: call.args[2].id
        for cell in hidden_cells(notebook)
        for call in ast.walk(ast.parse(cell.source))
        if isinstance(call, ast.Call)
    }


def test_visible_checks_pass_for_every_right_solution(notebook):
    asked, checks = asked_for(notebook), visible_checks(notebook)
    for name in checks:
        rights = [known.right for known in KNOWN if asked.get(known.part) == name]
        in_all_parts = set.intersection(*(set(right) for right in rights))
        assert in_all_parts
        for solution in in_all_parts:
            exec(checks[name], {name: rights[0][solution]})


def test_visible_checks_pass_for_the_sample_class(request, notebook, capsys):
    name = request.node.callspec.id
    space = {}
    for source in ALL_RIGHT.cells[name].values():
        exec(source, space)
    for source in visible_checks(notebook).values():
        exec(source, space)
    assert capsys.readouterr().out


def test_visible_checks_ask_for_the_return_that_was_forgotten(notebook):
    for name, source in visible_checks(notebook).items():
        nothing = None if name == "partition" else lambda *_: None
        words = "must be a dictionary" if name == "partition" else f"^{name} returned None.*return?"
        with pytest.raises(AssertionError, match=words):
            exec(source, {name: nothing})


@pytest.mark.parametrize("thing", [0, "text", [None] * 2, {"none"}, object()])
def test_visible_checks_answer_in_words_whatever_comes_back(notebook, thing):
    for name, source in visible_checks(notebook).items():
        with pytest.raises(AssertionError, match=r"\w+ \w+ \w+"):
            exec(source, {name: thing if name == "partition" else lambda *_: thing})


def test_says_what_a_student_wants_to_know(notebook):
    text = text_of(notebook)
    assert re.search(r"^\| \d+ \| [1-5] / 5 \| [1-5] / 5 \|$", text, re.MULTILINE)
    assert "**You will be able to**" in text
    assert "raises" in text
    assert text.count("<details>") == text.count("</details>") == 3
    assert text.count("not graded") == 2


def test_the_link_to_the_section_leads_somewhere(notebook):
    links = re.findall(r"http://localhost:4200/(chapter/[\w-]+)\.html#([\w-]+)", text_of(notebook))
    assert links
    for chapter, section in links:
        assert f"{{#{section}}}" in (ROOT / f"{chapter}.qmd").read_text(encoding="utf-8")


def test_needs_only_what_the_release_installs(notebook):
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
    others = {name.partition(".")[0] for name in found} - sys.stdlib_module_names
    assert others <= {"torch", "shardwise", "shardwise_grading"}


def test_says_where_the_book_is_to_one_who_has_only_the_release(notebook):
    """No sentence takes the repository for granted."""
    assert "in the book's chapter" in text_of(notebook)
    assert "follows the address of the book" in text_of(notebook)
    assert "gives you the address of the book" in READMES[SOURCE / "README.md"]


def test_the_extension_is_loaded_in_a_cell_of_its_own(notebook):
    """Loaded again it makes IPython say so, before every answer."""
    for text in (text_of(notebook), *READMES.values()):
        assert re.search(r"%load_ext shardwise_grading` once|once[^`]*```python\n%load_ext", text)
        assert "%load_ext shardwise_grading\n%check" not in text
        assert "as often as you like" in text
