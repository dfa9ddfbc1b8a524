"""What is said where nothing was handed in, or where more is wrong than anybody wants to read."""

from __future__ import annotations

import pytest
from exercises.handed_in import LAYOUTS, NAMES, as_bytes, called, of_role, solved

from shardwise_grading.records import Script
from shardwise_grading.submission import read_script
from shardwise_grading.submission.read import MAX_NOTES


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_file_is_a_problem_of_its_own(name):
    script = read_script(LAYOUTS[name], None)
    problem = "the notebook was not handed in, under that name"
    assert script == Script(name, problem=problem)


@pytest.mark.parametrize("name", NAMES)
def test_only_the_first_notes_are_kept(name):
    notebook = solved(name)
    for number in range(50):
        cell = called(notebook, of_role(LAYOUTS[name], "hidden")[0])
        metadata = {"nbgrader": {"grade_id": f"extra-{number}"}}
        notebook["cells"].append(cell | {"source": "x", "metadata": metadata})
    script = read_script(LAYOUTS[name], as_bytes(notebook))
    assert len(script.notes) == MAX_NOTES
    assert script.notes[0].startswith("no cell of this notebook is called 'extra-0'")
    assert script.notes[-1] == "and 31 notes more"


def test_the_same_bytes_give_the_same_script():
    content = as_bytes(solved(NAMES[1]))
    assert read_script(LAYOUTS[NAMES[1]], content) == read_script(LAYOUTS[NAMES[1]], content)
