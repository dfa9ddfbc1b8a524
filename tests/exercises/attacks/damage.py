"""Notebook files that are not what a student was given: changed, broken, or enormous."""
# ruff: noqa: ARG005, E501  (a damage may well ignore what was there)

from __future__ import annotations

import json

from exercises.attacks.attack import Attack
from exercises.attacks.course import as_bytes, code, grade_id

NOTHING = {"outcome": "nothing", "human": True}


def written(change):
    """Damage by a function that changes the cells and metadata of the half-solved notebook."""

    def damage(notebook, exercise):
        return as_bytes(change(notebook, exercise) or notebook)

    return damage


def solution(notebook, exercise):
    """The cell of the function."""
    return next(cell for cell in notebook["cells"] if grade_id(cell) == exercise.cell)


def to_all(change):
    """Damage by a function that changes each cell."""

    def damage(notebook, exercise):
        for cell in notebook["cells"]:
            change(cell)
        return as_bytes(notebook)

    return damage


def to_tests(change):
    """Damage by a function that changes each test cell of the instructor."""

    def damage(notebook, exercise):
        for cell in notebook["cells"]:
            if cell["metadata"].get("nbgrader", {}).get("grade"):
                change(cell)
        return as_bytes(notebook)

    return damage


def to_solution(change):
    """Damage by a function that changes the cell of the function."""

    def damage(notebook, exercise):
        change(solution(notebook, exercise))
        return as_bytes(notebook)

    return damage


def raw(make):
    """Damage by a function of the file's bytes."""
    return lambda notebook, exercise: make(as_bytes(notebook))


def own_cell(source):
    """Damage by a cell in front of all others."""

    def damage(notebook, exercise):
        notebook["cells"].insert(0, code(source))
        return as_bytes(notebook)

    return damage


def duplicated(notebook, exercise):
    cells = notebook["cells"]
    for cell in list(cells):
        cells.insert(cells.index(cell), json.loads(json.dumps(cell)))


def stub_first(notebook, exercise):
    twin = json.loads(json.dumps(solution(notebook, exercise)))
    twin["source"] = f"def {exercise.function}(*args):\n    # Your code here.\n"
    notebook["cells"].insert(0, twin)


def without(keep):
    def change(notebook, exercise):
        notebook["cells"] = [cell for cell in notebook["cells"] if keep(cell, exercise)]

    return change


def is_answer(cell):
    return cell["metadata"].get("nbgrader", {}).get("solution", False)


def all_in_one(notebook, exercise):
    sources = [cell["source"] for cell in notebook["cells"] if is_answer(cell)]
    notebook["cells"] = [code("\n".join(map(str, sources)))]


def with_metadata(**values):
    return written(lambda notebook, exercise: notebook["metadata"].update(values))


def huge_outputs(notebook, exercise):
    text = "x" * (1 << 20)
    output = {"output_type": "stream", "name": "stdout", "text": text}
    solution(notebook, exercise)["outputs"] = [dict(output) for _ in range(14)]


def many(number):
    def change(notebook, exercise):
        notebook["cells"][:0] = [code("pass") for _ in range(number)]

    return change


def pictures_in_every_cell(notebook, exercise):
    picture = "Image(b'\\x89PNG' + os.urandom(2 << 20), format='png')"
    notebook["cells"][:0] = [
        code(f"import os\nfrom IPython.display import Image, display\n{picture}")
        for _ in range(200)
    ]


def points_for_everybody(cell):
    cell["metadata"].setdefault("nbgrader", {}).update(
        points=1000, grade=True, solution=True, locked=False, schema_version=999
    )


ATTACKS = [
    Attack("every-cell-twice", damage=written(duplicated), human=None),
    Attack("stub-before-the-answer", damage=written(stub_first), human=None),
    Attack(
        "answer-deleted",
        damage=written(without(lambda c, e: grade_id(c) != e.cell)),
        outcome="data",
        human=None,
    ),
    Attack(
        "tests-deleted",
        damage=written(without(lambda c, e: is_answer(c) or c["cell_type"] != "code")),
    ),
    Attack("texts-deleted", damage=written(without(lambda c, e: c["cell_type"] == "code"))),
    Attack(
        "all-cells-deleted",
        damage=written(without(lambda c, e: False)),
        outcome="nothing",
        human=None,
    ),
    Attack("order-reversed", damage=written(lambda n, e: n["cells"].reverse()), human=None),
    Attack("all-in-one-cell", damage=written(all_in_one), human=None),
    Attack(
        "answers-renamed",
        damage=to_solution(lambda c: c["metadata"]["nbgrader"].update(grade_id="renamed")),
        human=None,
    ),
    Attack(
        "answers-retyped-as-text",
        damage=to_solution(lambda c: c.update(cell_type="markdown")),
        human=None,
    ),
    Attack(
        "answers-retyped-as-raw",
        damage=to_solution(lambda c: c.update(cell_type="raw")),
        human=None,
    ),
    Attack(
        "answers-of-no-type",
        damage=to_solution(lambda c: c.update(cell_type=["code"])),
        outcome="at most half",
        human=None,
    ),
    Attack("tests-retyped", damage=to_tests(lambda c: c.update(cell_type="markdown")), human=None),
    Attack("tests-give-all-points", damage=to_tests(lambda c: c.update(source="10.0")), human=None),
    Attack(
        "tests-grade-something-else",
        damage=to_tests(
            lambda c: c.update(
                source=c["source"]
                + "\nfrom shardwise_grading import grade\nreport = grade('microbatches', 'min_microbatches', lambda *_: 1, points=1000)\nreport.score"
            )
        ),
        human=None,
    ),
    Attack(
        "tests-worth-more",
        damage=to_tests(lambda c: c["metadata"]["nbgrader"].update(points=1000)),
        human=None,
    ),
    Attack("points-for-every-cell", damage=to_all(points_for_everybody), human=None),
    Attack(
        "names-exchanged",
        damage=to_all(lambda c: c["metadata"].get("nbgrader", {}).update(grade_id="x")),
        human=None,
    ),
    Attack(
        "tags-that-skip",
        damage=to_all(
            lambda c: c["metadata"].update(
                tags=["skip-execution", "raises-exception", "remove-cell", "hide-input"]
            )
        ),
        human=None,
    ),
    Attack("metadata-gone", damage=to_all(lambda c: c.update(metadata={})), human=None),
    Attack("metadata-no-object", damage=to_all(lambda c: c.update(metadata=[])), human=None),
    Attack("metadata-without-key", damage=to_all(lambda c: c.pop("metadata")), human=None),
    Attack(
        "nbgrader-metadata-no-object",
        damage=to_all(lambda c: c.update(metadata={"nbgrader": "yes"})),
        human=None,
    ),
    Attack("ids-gone", damage=to_all(lambda c: c.pop("id", None))),
    Attack("ids-all-alike", damage=to_all(lambda c: c.update(id="same")), human=None),
    Attack("ids-of-other-types", damage=to_all(lambda c: c.update(id={"a": [1]})), human=None),
    Attack(
        "names-of-other-types",
        damage=to_all(lambda c: c["metadata"].get("nbgrader", {}).update(grade_id=[[1]])),
        human=None,
    ),
    Attack(
        "attachments",
        damage=to_all(
            lambda c: c.update(attachments={"../../x.png": {"image/png": "A" * 100_000}, "y": 7})
        ),
        human=None,
    ),
    Attack(
        "kernel-of-another-language",
        damage=with_metadata(
            kernelspec={"name": "../../evil", "language": "R", "display_name": "<b>"},
            language_info={"name": "R"},
        ),
        human=None,
    ),
    Attack(
        "kernel-of-no-type",
        damage=with_metadata(kernelspec=["x"], language_info=7, widgets={"state": "x" * 1000}),
        human=None,
    ),
    Attack(
        "metadata-of-the-notebook-gone",
        damage=written(lambda n, e: n.pop("metadata") and None),
        human=None,
    ),
    Attack(
        "cells-that-are-none",
        damage=written(
            lambda n, e: n["cells"].extend(
                [1, None, "cell", [], {}, [[]], {"cell_type": "code"}, {"source": 1}]
            )
        ),
        human=None,
    ),
    Attack("sources-as-numbers", damage=to_tests(lambda c: c.update(source=7)), human=None),
    Attack("sources-of-odd-types", damage=own_cell({"a": 1}), human=None),
    Attack("sources-nested", damage=own_cell(["x = 1\n", ["y"], 7, None]), human=None),
    Attack(
        "source-of-the-answer-a-number",
        damage=to_solution(lambda c: c.update(source=7)),
        outcome="data",
        human=None,
    ),
    Attack(
        "sources-as-lists",
        damage=to_all(
            lambda c: c.update(
                source=str(
                    c["source"] if isinstance(c["source"], str) else "".join(c["source"])
                ).splitlines(keepends=True)
            )
        ),
    ),
    Attack(
        "sources-with-crlf",
        damage=to_all(lambda c: c.update(source="".join(c["source"]).replace("\n", "\r\n"))),
    ),
    Attack("nul-in-a-cell", damage=own_cell("x = 1\0\ny = 2")),
    Attack(
        "half-characters-in-a-cell",
        damage=raw(
            lambda b: b.replace(
                b'"cells": [',
                b'"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": null, "id": "a\\udcff", "source": "print(\'\\ud800\')\\n# \\udfff"},',
                1,
            )
        ),
        human=None,
    ),
    Attack("odd-spaces-in-a-cell", damage=own_cell("x = 1\f\v\x1c\x85\u2028\u2029\u00a0\ufeff\r")),
    Attack(
        "terminal-codes-in-a-cell",
        damage=own_cell("# \x1b[2J\x1b]0;10 points\x07\nprint('\x1b[31m')"),
    ),
    Attack(
        "markup-in-a-cell",
        damage=own_cell(
            "# </pre></script><script>alert(1)</script><img src=x onerror=alert(1)>\n'<b>'"
        ),
    ),
    Attack(
        "markup-in-a-text",
        damage=written(
            lambda n, e: n["cells"].insert(
                0,
                {
                    "cell_type": "markdown",
                    "id": "m",
                    "metadata": {},
                    "source": "<script>alert(1)</script> ![x](javascript:alert(1)) [x](javascript:alert(1))",
                },
            )
        ),
    ),
    Attack("syntax-error-in-own-cell", damage=own_cell("def (:\n  x =")),
    Attack(
        "syntax-error-in-the-answer",
        damage=to_solution(lambda c: c.update(source=c["source"] + "\n)(")),
        outcome="data",
    ),
    Attack("hundred-thousand-parentheses", damage=own_cell("(" * 100_000 + "1" + ")" * 100_000)),
    Attack("a-million-signs", damage=own_cell("-" * 1_000_000 + "1"), human=None),
    Attack("deep-indentation", damage=own_cell("\n".join(" " * n + "if 1:" for n in range(150)))),
    Attack("deep-attribute-chain", damage=own_cell("x" + ".a" * 200_000), human=None),
    Attack(
        "one-line-of-ten-megabytes",
        damage=own_cell("x = '" + "a" * 10_000_000 + "'"),
        human=None,
    ),
    Attack(
        "two-hundred-large-pictures",
        damage=written(pictures_in_every_cell),
        outcome="at most half",
        human=None,
    ),
    Attack("five-hundred-cells", damage=written(many(500)), human=None),
    Attack(
        "hundred-thousand-cells",
        damage=written(many(100_000)),
        outcome="at most half",
        human=None,
    ),
    Attack("outputs-of-fourteen-megabytes", damage=written(huge_outputs), human=None),
]
