"""Damage to a notebook's file: its format, its bytes, its size and its nesting."""

from __future__ import annotations

import json

from exercises.handed_in import as_bytes
from exercises.notebook_damage import DAMAGES, damage, first

__all__ = ["DAMAGES"]  # with those of cells, which it adds to

DEEP = 20_000


def put(notebook, place, value):
    """The file with raw bytes where a string ``"HERE"`` was put."""
    place[0][place[1]] = "HERE"
    return as_bytes(notebook).replace(b'"HERE"', value)


def marked(notebook, layout):
    """The place of an answer's text in the file, as the bytes before and behind it."""
    first(notebook, layout)["source"] = "HERE"
    before, _, behind = as_bytes(notebook).partition(b'"HERE"')
    return before, behind


# Wrong formats ----------------------------------------------------------------------------------


@damage("^the file says that its format is 3; it was read as 4")
def saved_in_format_3(notebook, layout):
    cells = notebook.pop("cells")
    for cell in cells:
        if cell["cell_type"] == "code":
            cell |= {"input": cell.pop("source"), "language": "python", "collapsed": False}
        if "Hints" in "".join(cell.get("source", "")):
            cell |= {"cell_type": "heading", "level": 2}
    sheets = [{"cells": cells[:3], "metadata": {}}, {"cells": cells[3:], "metadata": {}}]
    return notebook | {"nbformat": 3, "nbformat_minor": 0, "worksheets": sheets}


@damage("^the file says that its format is 999; it was read as 4")
def format_999(notebook, layout):
    return notebook | {"nbformat": 999}


@damage("^the file says that its format is '4'")
def format_as_text(notebook, layout):
    return notebook | {"nbformat": "4"}


@damage("^the file says that its format is nothing")
def no_format(notebook, layout):
    del notebook["nbformat"], notebook["nbformat_minor"], notebook["metadata"]


@damage("^the file says that its format is nothing")
def format_as_a_list(notebook, layout):
    return notebook | {"nbformat": [4], "nbformat_minor": {"minor": [5]}}


@damage("^the file says that its format is nothing")
def format_as_a_number_of_a_million_digits(notebook, layout):
    return put(notebook, (notebook, "nbformat"), b"9" * 1_000_000)


@damage("^the file says that its format is inf")
def format_without_an_end(notebook, layout):
    return put(notebook, (notebook, "nbformat"), b"1e99999")


# Broken JSON ------------------------------------------------------------------------------------

BROKEN = "^the file can't be read: it is broken in line "
ENDS = "^the file can't be read: it ends in the middle$"


@damage(problem=ENDS)
def truncated_in_the_middle(notebook, layout):
    content = as_bytes(notebook)
    return content[: len(content) // 2]


@damage(problem=ENDS)
def truncated_before_the_last_byte(notebook, layout):
    return as_bytes(notebook)[:-1]


@damage(problem=ENDS)
def truncated_in_an_answer(notebook, layout):
    before, _ = marked(notebook, layout)
    return before + b'["def f('


@damage(problem=ENDS)
def truncated_in_an_answer_of_one_string(notebook, layout):
    before, _ = marked(notebook, layout)
    return before + b'"def f('


@damage(problem="^the file can't be read: it is empty$")
def empty(notebook, layout):
    return b" \n\n"


@damage(problem="^the file can't be read: it is no notebook, which starts with a brace$")
def a_list_of_cells(notebook, layout):
    return as_bytes(notebook["cells"])


@damage(problem="^the file can't be read: it is no notebook")
def python_in_place_of_a_notebook(notebook, layout):
    return "\n".join("".join(cell["source"]) for cell in notebook["cells"]).encode()


@damage(problem="^the file can't be read: it is no notebook")
def an_archive_in_place_of_a_notebook(notebook, layout):
    return b"PK\x03\x04" + bytes(range(256)) * 40


@damage(problem="^the file can't be read: it has no cells$")
def no_cells(notebook, layout):
    del notebook["cells"]


@damage(problem=BROKEN)
def cells_in_an_object(notebook, layout):
    return notebook | {"cells": {cell["id"]: cell for cell in notebook["cells"]}}


@damage(problem=BROKEN)
def conflict_markers_of_git(notebook, layout):
    return as_bytes(notebook).replace(b"\n  {\n", b"\n<<<<<<< HEAD\n  {\n", 1)


@damage(problem=BROKEN)
def a_comma_is_missing(notebook, layout):
    return as_bytes(notebook).replace(b"  },\n", b"  }\n", 1)


@damage(problem="^the file can't be read: it goes on behind the end of the notebook$")
def two_notebooks_in_one_file(notebook, layout):
    return as_bytes(notebook) * 2


@damage()
def a_comma_too_many_in_the_outputs(notebook, layout):
    return put(notebook, (first(notebook, layout), "outputs"), b"[1,,]")


@damage()
def a_comma_too_many_in_the_tags(notebook, layout):
    return put(notebook, (first(notebook, layout)["metadata"], "tags"), b"[1,,]")


@damage("^the file says that its format is nothing")
def a_word_that_json_lacks(notebook, layout):
    return put(notebook, (notebook, "nbformat"), b"four")


@damage()
def a_key_of_five_thousand_letters(notebook, layout):
    first(notebook, layout)["k" * 5_000] = first(notebook, layout)["metadata"]["k" * 5_000] = 1


@damage(problem=BROKEN)
def a_value_is_missing(notebook, layout):
    return put(notebook, (notebook, "metadata"), b"")


@damage()
def numbers_that_json_lacks(notebook, layout):
    first(notebook, layout)["execution_count"] = float("nan")
    notebook["metadata"]["x"] = [float("inf"), -float("inf")]


@damage()
def keys_that_are_there_twice(notebook, layout):
    old = json.dumps({"nbformat": 3, "cells": [], "metadata": {}})[:-1].encode()
    return old + b"," + as_bytes(notebook)[1:]


@damage()
def keys_written_with_escapes(notebook, layout):
    content = as_bytes(notebook)
    for key in (b"cells", b"source", b"grade_id", b"cell_type"):
        content = content.replace(b'"' + key, b'"\\u%04x' % key[0] + key[1:])
    return content


# Cells that are none ----------------------------------------------------------------------------


@damage(*[f"^cell {number} is no cell$" for number in range(1, 6)])
def values_that_are_no_cells(notebook, layout):
    notebook["cells"][:0] = [None, 1, "cell", [], [[{}]]]


@damage("^cell 1 has the type nothing, which is none$")
def a_cell_without_members(notebook, layout):
    notebook["cells"].insert(0, {"source": ""})


@damage("^cell 4 has no text", lost="first")
def an_answer_without_text(notebook, layout):
    del first(notebook, layout)["source"]


@damage("^cell 4 has something else in place of its text", lost="first")
def an_answer_of_numbers(notebook, layout):
    first(notebook, layout)["source"] = [1, 2]


@damage("^cell 4 has something else in place of its text", lost="first")
def an_answer_in_an_object(notebook, layout):
    first(notebook, layout)["source"] = {"text": ["x = 1"]}


@damage("^cell 4 has something else in place of its text", lost="first")
def an_answer_that_is_null(notebook, layout):
    first(notebook, layout)["source"] = None


@damage("^cell 4 has something else in place of its text", lost="first")
def an_answer_nested_deeply(notebook, layout):
    return put(notebook, (first(notebook, layout), "source"), b"[" * DEEP + b"]" * DEEP)


# Bytes ------------------------------------------------------------------------------------------

NONE = "^cell 4 holds bytes that are no characters"


def commented(notebook, layout, comment):
    """The solved notebook with bytes in a comment of the first answer."""
    answer = first(notebook, layout)
    answer["source"] = ["# HERE\n", *answer["source"]]
    return as_bytes(notebook).replace(b"HERE", comment)


@damage(NONE)
def latin_1_in_a_comment(notebook, layout):
    return commented(notebook, layout, "Größe".encode("latin-1"))


@damage(NONE)
def nul_in_a_comment(notebook, layout):
    return commented(notebook, layout, b"\\u0000")


@damage(NONE)
def raw_nul_in_a_comment(notebook, layout):
    return commented(notebook, layout, b"\x00")


@damage(NONE)
def half_a_character_in_a_comment(notebook, layout):
    return commented(notebook, layout, b"\\ud800 and \\udfff")


@damage()
def controls_in_a_comment(notebook, layout):
    return commented(notebook, layout, b"\x1b[2J \x07 \\u0085 \\u2028 \\ufeff \t")


@damage()
def bytes_of_all_kinds_in_the_outputs(notebook, layout):
    every = bytes(byte for byte in range(256) if byte not in b'"\\')
    return put(notebook, (first(notebook, layout), "outputs"), b'["' + every * 100 + b'"]')


@damage("^the file is saved as UTF-16; it was read as that")
def utf_16(notebook, layout):
    return as_bytes(notebook).decode().encode("utf-16")


@damage("^the file is saved as UTF-32-LE; it was read as that")
def utf_32_without_a_mark(notebook, layout):
    return as_bytes(notebook).decode().encode("utf-32-le")


# Size and nesting -------------------------------------------------------------------------------


@damage(problem="^the notebook is 100 MB, and the limit is 20 MB")
def a_hundred_megabytes(notebook, layout):
    return as_bytes(notebook).ljust(100_000_000)


@damage()
def nineteen_megabytes_of_outputs(notebook, layout):
    first(notebook, layout)["outputs"] = [{"text": ["7" * 80 + "\n"] * 190_000}]


@damage()
def deep_outputs(notebook, layout):
    return put(notebook, (first(notebook, layout), "outputs"), b"[" * DEEP + b"]" * DEEP)


@damage("^{a} has lost its name; its id told which it is")
def deep_metadata(notebook, layout):
    value = b'{"nbgrader":' * DEEP + b"1" + b"}" * DEEP
    return put(notebook, (first(notebook, layout), "metadata"), value)


@damage(problem="^the file can't be read: it holds more than 500,000 lists and objects$")
def nested_without_an_end(notebook, layout):
    return b'{"cells": ' + b"[" * 2_000_000


@damage(problem="^the file can't be read: a list in it has more than 1,000 parts$")
def twenty_thousand_cells(notebook, layout):
    notebook["cells"] += [{"cell_type": "code", "source": "x = 1"}] * 20_000


@damage("^cell 4 holds 3,000,00. bytes of text, which is too much; it was left out", lost="first")
def an_answer_of_three_megabytes(notebook, layout):
    first(notebook, layout)["source"] = "x" * 3_000_000


@damage(*["holds 900,002 bytes of text, which is too much; it was left out$"] * 3)
def own_cells_of_seven_megabytes(notebook, layout):
    own = {"cell_type": "code", "metadata": {}, "source": "#" + "x" * 899_999}
    notebook["cells"] += [own] * 8
