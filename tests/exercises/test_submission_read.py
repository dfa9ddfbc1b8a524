"""What is said where nothing was handed in, or where more is wrong than anybody wants to read."""

from __future__ import annotations

import pytest
from exercises.handed_in import LAYOUTS, NAMES, as_bytes, called, of_role, solved

from shardwise_grading.records import Script
from shardwise_grading.submission import missing, read_script
from shardwise_grading.submission.read import MAX_NOTES


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_file_is_a_problem_of_its_own(name):
    script = read_script(LAYOUTS[name], None)
    assert script == Script(name, problem=f"there is no {name}.ipynb")


def test_a_file_that_may_be_the_missing_one_is_named():
    assert missing("2-memory", ["1-mean", "2_memory"]).endswith(
        "; '2_memory.ipynb' may be it: rename it"
    )
    assert missing("2-memory", ["2-memory (1)", "notes"]).count("'2-memory (1).ipynb'") == 1
    assert missing("2-memory", ["thesis"]) == "there is no 2-memory.ipynb"


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
