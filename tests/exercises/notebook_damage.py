"""Every kind of damage to a notebook, with the right outcome of each.

A `Damage` changes a solved notebook. What it must not do is said with it: which answers are lost,
and what the instructor reads. Whatever is not named there has to be as if nothing had happened.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exercises.handed_in import (
    NAMES,
    as_bytes,
    called,
    grade_id,
    of_role,
    released,
    shuffled,
    solved,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from shardwise_grading.submission import Layout

DAMAGES: list[Damage] = []


@dataclass(frozen=True)
class Damage:
    """One way in which a notebook is damaged.

    Args:
        name: what happened.
        apply: changes a solved notebook, or returns another file.
        notes: a regular expression for each note, in order; ``{a}`` is the first answer's name,
            ``{h}`` and ``{v}`` those of the first hidden and visible test; one with ``{each}``
            stands for as many notes as there are answers.
        lost: ``"nothing"``, ``"first"`` (the first answer's points) or ``"all"`` of the points.
        problem: a regular expression for the reason why a human must look.
        answers: how many answers a notebook needs for it.
    """

    name: str
    apply: Callable[[dict, Layout], bytes | dict | None]
    notes: tuple[str, ...] = ()
    lost: str = "nothing"
    problem: str = ""
    answers: int = 1


def damage(*notes, lost="nothing", problem="", answers=1):
    lost = "all" if problem else lost

    def keep(apply):
        DAMAGES.append(Damage(apply.__name__, apply, notes, lost, problem, answers))
        return apply

    return keep


def first(notebook, layout, role="solution"):
    return called(notebook, of_role(layout, role)[0])


def beside(notebook, cell, *new, after=True):
    place = notebook["cells"].index(cell) + after
    notebook["cells"][place:place] = copy.deepcopy(list(new))


# Duplicated -------------------------------------------------------------------------------------

TWICE = "^{a} is there 2 times; the first that was worked on is the answer"


@damage(TWICE)
def an_answer_is_there_twice(notebook, layout):
    beside(notebook, first(notebook, layout), first(notebook, layout))


@damage(TWICE)
def the_stub_follows_an_answer(notebook, layout):
    beside(notebook, first(notebook, layout), first(released(layout.name), layout))


@damage(TWICE)
def the_stub_stands_before_an_answer(notebook, layout):
    beside(notebook, first(notebook, layout), first(released(layout.name), layout), after=False)


@damage(TWICE, lost="first")
def another_try_follows_an_answer(notebook, layout):
    names = layout.defines[of_role(layout, "solution")[0]]
    answer = first(notebook, layout)
    beside(notebook, answer, answer | {"source": [f"{name} = None\n" for name in names]})


@damage("^{a} is there 41 times")
def an_answer_is_there_forty_one_times(notebook, layout):
    beside(notebook, first(notebook, layout), *[first(notebook, layout)] * 40)


@damage()
def tests_are_there_three_times(notebook, layout):
    for role in ("visible", "hidden"):
        test = first(notebook, layout, role)
        beside(notebook, test, test, test)


@damage("^{v} has a changed copy, which ran as the student's own")
def a_changed_copy_of_a_test(notebook, layout):
    test = first(notebook, layout, "visible")
    beside(notebook, test, test | {"source": ["print('all is well')"]})


@damage("^{each} is there 2 times")
def all_cells_are_there_twice(notebook, layout):
    notebook["cells"] += copy.deepcopy(notebook["cells"])


# Renamed ----------------------------------------------------------------------------------------


@damage("^{a} is called 'mine'; its id told which it is")
def an_answer_is_renamed(notebook, layout):
    first(notebook, layout)["metadata"]["nbgrader"]["grade_id"] = "mine"


@damage("^{a} is called 'mine'; what it defines told")
def an_answer_is_renamed_and_has_another_id(notebook, layout):
    answer = first(notebook, layout)
    answer["metadata"]["nbgrader"]["grade_id"] = answer["id"] = "mine"


@damage("^{a} is called '{h}'")
def an_answer_has_the_name_of_a_hidden_test(notebook, layout):
    first(notebook, layout)["metadata"]["nbgrader"]["grade_id"] = of_role(layout, "hidden")[0]


@damage("^{a} is called '{v}'")
def an_answer_has_the_name_of_a_visible_test(notebook, layout):
    first(notebook, layout)["metadata"]["nbgrader"]["grade_id"] = of_role(layout, "visible")[0]


@damage("^{each} is called .*; its id told", answers=2)
def answers_have_each_others_names(notebook, layout):
    answers = [called(notebook, name) for name in of_role(layout, "solution")]
    names = [answer["metadata"]["nbgrader"] for answer in answers]
    for answer, name in zip(answers, reversed(names), strict=True):
        answer["metadata"]["nbgrader"] = name


@damage("^{each} is called .*; what it defines told", answers=2)
def answers_have_each_others_names_and_no_ids(notebook, layout):
    for cell in notebook["cells"]:
        del cell["id"]
    answers_have_each_others_names(notebook, layout)


@damage("^{a} is there 2 times", "^{h} is missing; the instructor's ran")
def a_hidden_test_has_the_name_of_an_answer(notebook, layout):
    test = first(notebook, layout, "hidden")
    test["metadata"]["nbgrader"]["grade_id"] = of_role(layout, "solution")[0]


@damage("^{h} is called '<script>")
def a_test_has_a_hostile_name(notebook, layout):
    test = first(notebook, layout, "hidden")
    test["metadata"]["nbgrader"]["grade_id"] = "<script>\x1b[2J\ud800" + "x" * 500


@damage("^{a} has lost its name; its id told which it is")
def an_answers_name_is_a_list(notebook, layout):
    first(notebook, layout)["metadata"]["nbgrader"]["grade_id"] = ["a", {"b": None}]


@damage("^{a} has lost its name; its id told which it is")
def an_answers_name_is_a_huge_number(notebook, layout):
    first(notebook, layout)["metadata"]["nbgrader"]["grade_id"] = "HUGE"
    return as_bytes(notebook).replace(b'"HUGE"', b"9" * 900)


# Deleted ----------------------------------------------------------------------------------------


@damage("^{a} is missing; the answer counts as empty", lost="first")
def an_answer_is_deleted(notebook, layout):
    notebook["cells"].remove(first(notebook, layout))


@damage("^{v} is missing; the instructor's ran")
def a_visible_test_is_deleted(notebook, layout):
    notebook["cells"].remove(first(notebook, layout, "visible"))


@damage("^{h} is missing; the instructor's ran")
def a_hidden_test_is_deleted(notebook, layout):
    notebook["cells"].remove(first(notebook, layout, "hidden"))


@damage()
def all_texts_are_deleted(notebook, layout):
    notebook["cells"] = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


@damage(problem="^the file holds no cell of this notebook$")
def all_cells_are_deleted(notebook, layout):
    notebook["cells"] = []


@damage(problem="^the file holds no cell of this notebook$")
def another_notebook_has_this_name(notebook, layout):
    return solved(NAMES[NAMES.index(layout.name) - 1])


# Moved ------------------------------------------------------------------------------------------

BEHIND = "^{a} stood behind cells that follow it"
EACH_BEHIND = "^{each} stood behind cells that follow it"


@damage(BEHIND)
def an_answer_is_moved_to_the_end(notebook, layout):
    answer = first(notebook, layout)
    notebook["cells"].remove(answer)
    notebook["cells"].append(answer)


@damage(BEHIND)
def an_answer_and_a_helper_are_moved_to_the_end(notebook, layout):
    answer = first(notebook, layout)
    notebook["cells"].remove(answer)
    helper = copy.deepcopy(answer) | {"id": "helper", "metadata": {}, "source": "helper = 1"}
    answer["source"] = ["helper\n", *answer["source"]]
    notebook["cells"] += [helper, answer]


@damage()
def an_answer_is_moved_to_the_top(notebook, layout):
    answer = first(notebook, layout)
    notebook["cells"].remove(answer)
    notebook["cells"].insert(0, answer)


@damage(EACH_BEHIND)
def a_hidden_test_is_moved_to_the_top(notebook, layout):
    test = first(notebook, layout, "hidden")
    notebook["cells"].remove(test)
    notebook["cells"].insert(0, test)


@damage(EACH_BEHIND)
def all_cells_are_reversed(notebook, layout):
    notebook["cells"].reverse()


@damage(EACH_BEHIND)
def all_cells_are_shuffled(notebook, layout):
    notebook["cells"] = shuffled(notebook["cells"])


# Retyped ----------------------------------------------------------------------------------------


@damage("^{a} is a markdown cell; it was taken as code")
def an_answer_is_markdown(notebook, layout):
    first(notebook, layout)["cell_type"] = "markdown"


@damage("^{a} is a raw cell; it was taken as code")
def an_answer_is_raw(notebook, layout):
    first(notebook, layout)["cell_type"] = "raw"


@damage("^cell 4 has the type 'sql', which is none", "^{a} is a raw cell; it was taken as code")
def an_answer_has_an_unknown_type(notebook, layout):
    first(notebook, layout)["cell_type"] = "sql"


@damage("^cell 4 has the type nothing", "^{a} is a raw cell")
def an_answer_has_no_type(notebook, layout):
    del first(notebook, layout)["cell_type"]


@damage("^{a} has lost its name; what it defines told", "^{a} is a markdown cell")
def an_answer_is_markdown_without_a_name(notebook, layout):
    answer = first(notebook, layout)
    answer |= {"cell_type": "markdown", "id": "x", "metadata": {}}


@damage()
def tests_are_markdown_and_texts_are_code(notebook, layout):
    for cell in notebook["cells"]:
        if grade_id(cell) not in of_role(layout, "solution"):
            cell["cell_type"] = "markdown" if cell["cell_type"] == "code" else "code"


# Tags and metadata ------------------------------------------------------------------------------


@damage("^{h} has the tag skip-execution, which has no effect")
def a_test_is_tagged_to_be_skipped(notebook, layout):
    first(notebook, layout, "hidden")["metadata"]["tags"] = ["skip-execution", "mine"]


@damage("^{v} has the tag raises-exception, which has no effect")
def a_test_is_tagged_to_raise(notebook, layout):
    first(notebook, layout, "visible")["metadata"]["tags"] = ["raises-exception"]


@damage()
def tags_are_no_list(notebook, layout):
    for cell, tags in zip(notebook["cells"], [None, 1, "x", {}, [[]], [1]] * 3, strict=False):
        cell["metadata"]["tags"] = tags


@damage("^{each} has lost its name; its id told")
def all_metadata_are_gone(notebook, layout):
    for cell in notebook["cells"]:
        cell["metadata"] = {}


@damage("^{each} has lost its name; what it defines told")
def all_metadata_and_ids_are_gone(notebook, layout):
    for cell in notebook["cells"]:
        del cell["metadata"], cell["id"]


@damage("^{each} has lost its name; its id told")
def all_metadata_are_null(notebook, layout):
    for cell in notebook["cells"]:
        cell["metadata"] = None


@damage("^{h} says points = 1000; the instructor's .* counts")
def a_test_claims_more_points(notebook, layout):
    first(notebook, layout, "hidden")["metadata"]["nbgrader"]["points"] = 1000


@damage("^{a} says grade = True; the instructor's False counts", "^{h} says grade = False")
def an_answer_claims_to_be_a_test(notebook, layout):
    first(notebook, layout)["metadata"]["nbgrader"] |= {"grade": True, "points": 50}
    first(notebook, layout, "hidden")["metadata"]["nbgrader"]["grade"] = False


@damage("^no cell of this notebook is called 'bonus'; it's the student's$")
def a_forged_test_is_added(notebook, layout):
    forged = copy.deepcopy(first(notebook, layout, "hidden")) | {"id": "bonus", "source": "100.0"}
    forged["metadata"]["nbgrader"] |= {"grade_id": "bonus", "points": 100}
    notebook["cells"].append(forged)


@damage("^{v} was changed; the instructor's ran")
def a_test_is_emptied(notebook, layout):
    first(notebook, layout, "visible")["source"] = []


@damage("^{h} was changed; the instructor's ran")
def a_hidden_test_shows_full_marks(notebook, layout):
    test = first(notebook, layout, "hidden")
    test["source"] = ["10.0"]
    result = {"data": {"text/plain": ["10.0"]}, "metadata": {}, "output_type": "execute_result"}
    test["outputs"] = [result | {"execution_count": 1}]


@damage()
def the_notebooks_metadata_are_nonsense(notebook, layout):
    notebook["metadata"] = {"kernelspec": {"name": "bash", "language": [1]}, "language_info": None}


@damage()
def a_schema_of_the_future(notebook, layout):
    for cell in notebook["cells"]:
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"] |= {"schema_version": 99, "checksum": ["?"], "new": {}}


# Ids --------------------------------------------------------------------------------------------


@damage()
def all_ids_are_one(notebook, layout):
    for cell in notebook["cells"]:
        cell["id"] = "same"


@damage()
def ids_are_no_text(notebook, layout):
    for number, cell in enumerate(notebook["cells"]):
        cell["id"] = [number, None, {"a": 1}, [], True, "i" * 9000][number % 6]


@damage()
def ids_are_those_of_other_cells(notebook, layout):
    ids = [cell["id"] for cell in notebook["cells"]]
    for cell, other in zip(notebook["cells"], [*ids[1:], ids[0]], strict=True):
        cell["id"] = other


# Attachments and outputs ------------------------------------------------------------------------


@damage()
def attachments_of_all_kinds(notebook, layout):
    kinds = [{"a.png": {"image/png": "x" * 1_000_000}}, [], None, "x", {"a": {"b": {"c": []}}}]
    for cell, kind in zip(notebook["cells"], kinds, strict=False):
        cell["attachments"] = kind


@damage()
def outputs_of_all_kinds(notebook, layout):
    kinds = [None, "x", [1], [[]], {"output_type": "error"}, [{"text": "x" * 5_000_000}]]
    for cell, kind in zip(notebook["cells"], kinds, strict=False):
        cell["outputs"] = kind
