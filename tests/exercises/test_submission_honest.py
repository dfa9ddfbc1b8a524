"""Honest notebooks, as every tool saves them, are read without a note and get all points."""

from __future__ import annotations

import json

import nbformat
import pytest
from exercises.handed_in import (
    LAYOUTS,
    NAMES,
    as_bytes,
    called,
    max_points,
    of_role,
    points,
    released,
    solved,
)

from shardwise_grading.submission import read_script

OWN = "# a try of my own\nprint(sum(range(3)))"
OUTPUT = {"name": "stdout", "output_type": "stream", "text": ["passes\n"]}
PICTURE = {
    "data": {"image/png": "iVBORw0KGgo=\n", "text/plain": ["<Figure>"]},
    "metadata": {},
    "output_type": "display_data",
}


HONEST = []


def honest(change):
    """Mark what an honest student or tool makes of a solved notebook."""
    HONEST.append(change)
    return change


def code_cell(source, **metadata):
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": "my-cell",
        "metadata": metadata,
        "outputs": [],
        "source": source,
    }


@honest
def as_it_is(notebook, layout):
    return notebook


@honest
def cells_added(notebook, layout):
    places = range(len(notebook["cells"]), -1, -1)
    for place in places:
        notebook["cells"].insert(place, code_cell(OWN) | {"id": f"my-{place}"})
    return notebook


@honest
def run_with_outputs(notebook, layout):
    for count, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            cell |= {"execution_count": count, "outputs": [OUTPUT, PICTURE]}
    return notebook


@honest
def saved_by_jupyterlab(notebook, layout):
    run_with_outputs(notebook, layout)
    for number, cell in enumerate(notebook["cells"]):
        cell["id"] = f"{number:08x}-1c0f"
        cell["metadata"] |= {"editable": True, "slideshow": {"slide_type": ""}, "tags": ["mine"]}
    notebook["cells"].append(code_cell([]))
    notebook["metadata"]["widgets"] = {"state": {"a": {"b": [1, {"c": [[]]}]}}}
    return notebook


@honest
def saved_by_vs_code(notebook, layout):
    for number, cell in enumerate(notebook["cells"]):
        cell["id"] = f"{number:08x}"
        cell["metadata"]["vscode"] = {"languageId": "python"}
    notebook["metadata"]["kernelspec"] = {"name": ".venv", "display_name": ".venv (3.12.1)"}
    notebook["metadata"]["language_info"] = {"version": "3.12.1", "nbconvert_exporter": "python"}
    return notebook


@honest
def saved_by_colab(notebook, layout):
    run_with_outputs(notebook, layout)
    for number, cell in enumerate(notebook["cells"]):
        del cell["id"]
        cell["metadata"] |= {
            "id": f"Zx{number}",
            "colab": {"base_uri": "https://localhost:8080/"},
            "outputId": "0b1c",
        }
        cell["source"] = "".join(cell["source"])
    notebook["metadata"] |= {"colab": {"provenance": [], "toc_visible": True}, "accelerator": "GPU"}
    return notebook | {"nbformat_minor": 0}


@honest
def lists_made_strings(notebook, layout):
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
    return notebook


@honest
def without_ids(notebook, layout):
    for cell in notebook["cells"]:
        del cell["id"]
    return notebook | {"nbformat_minor": 4}


@honest
def later_minor_format(notebook, layout):
    return notebook | {"nbformat_minor": 9, "new_in_9": [{}]}


@honest
def crlf_in_the_file(notebook, layout):
    return as_bytes(notebook).replace(b"\n", b"\r\n")


@honest
def crlf_in_the_cells(notebook, layout):
    for cell in notebook["cells"]:
        cell["source"] = [line.replace("\n", "\r\n") for line in cell["source"]]
    return notebook


@honest
def byte_order_mark(notebook, layout):
    return b"\xef\xbb\xbf" + as_bytes(notebook)


@honest
def other_spelling_of_the_json(notebook, layout):
    notebook["cells"][0]["metadata"]["author"] = "Zoë 😀"
    return json.dumps(notebook, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


@honest
def written_by_nbformat(notebook, layout):
    return nbformat.writes(nbformat.from_dict(notebook)).encode()


@honest
def space_at_the_ends(notebook, layout):
    for cell in notebook["cells"]:
        cell["source"] = [line.rstrip("\n") + "  \n" for line in cell["source"]] + ["\n"]
    return notebook


@honest
def written_into_the_reflection(notebook, layout):
    notebook["cells"][-1]["source"].append("\n\nMy answer: it depends.")
    return notebook


@honest
def answered_below_the_stub(notebook, layout):
    for name in of_role(layout, "solution"):
        place = notebook["cells"].index(called(notebook, name))
        source = notebook["cells"][place]["source"]
        notebook["cells"][place] = called(released(layout.name), name)
        notebook["cells"].insert(place + 1, code_cell(source) | {"id": f"{name}-mine"})
    return notebook


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("saved", HONEST, ids=lambda f: f.__name__)
def test_gets_all_points_and_no_note(saved, name, hidden_folder):
    layout = LAYOUTS[name]
    script = read_script(layout, as_bytes(saved(solved(name), layout)))
    assert (script.problem, script.notes) == ("", ())
    assert points(script) == max_points(name)
    theirs = [step for step in script.steps if step.role not in ("own", "solution")]
    assert theirs == [step for step in layout.steps if step.role != "solution"]
    assert not [step for step in script.steps if "\r" in step.source]


@pytest.mark.parametrize("name", NAMES)
def test_cells_of_their_own_stay_where_they_are(name):
    layout = LAYOUTS[name]
    script = read_script(layout, as_bytes(cells_added(solved(name), layout)))
    own = ["own"] * (len(layout.steps) + 1)
    between = [role for step in layout.steps for role in ("own", step.role)]
    assert [step.role for step in script.steps] == [*between, own[0]]
    assert {step.source for step in script.steps if step.role == "own"} == {OWN}


@pytest.mark.parametrize("name", NAMES)
def test_the_release_itself_gets_nothing(name, hidden_folder):
    script = read_script(LAYOUTS[name], as_bytes(released(name)))
    assert (script.problem, script.notes, points(script)) == ("", (), 0.0)
    assert script.steps == LAYOUTS[name].steps


def test_what_was_written_into_a_text_is_kept_beside_it():
    layout = LAYOUTS[NAMES[0]]
    notebook = written_into_the_reflection(solved(NAMES[0]), layout)
    question, answer = read_script(layout, as_bytes(notebook)).steps[-2:]
    assert question == layout.steps[-1]
    assert answer.role == "own"
    assert answer.source.endswith("My answer: it depends.")
