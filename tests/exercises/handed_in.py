"""Notebooks as students hand them in, and what grading their script would give."""

from __future__ import annotations

import copy
import functools
import json
import random
import tomllib

from support import ROOT

from shardwise_grading.runner import load, run
from shardwise_grading.submission import layouts

SOURCE = ROOT / "exercises" / "source" / "distributed-training"
LAYOUTS = layouts(SOURCE)
NAMES = sorted(LAYOUTS)


@functools.cache
def right_answers():
    """Right sources by notebook and answer: the first student of the sample class."""
    path = ROOT / "tests" / "sample_class" / "class.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))["student"][0]["cells"]


def cut(lines, delimiter, stub):
    """The lines without their region: an independent reading of what a release is."""
    out, inside = [], False
    for line in lines:
        if f"BEGIN {delimiter}" in line:
            inside = True
            out += [line.split("#")[0] + stub + "\n"] if stub else []
        elif f"END {delimiter}" in line:
            inside = False
        elif not inside:
            out.append(line)
    return out


def released(name):
    """A notebook of the release folder, as JSON."""
    notebook = json.loads((SOURCE / f"{name}.ipynb").read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        cell["source"] = cut(cell["source"], "HIDDEN TESTS", "")
        cell["source"] = cut(cell["source"], "SOLUTION", "# Your code here.")
        cell["source"][-1:] = [line.rstrip("\n") for line in cell["source"][-1:]]
    return notebook


def solved(name):
    """The same with right answers."""
    notebook = released(name)
    for cell in notebook["cells"]:
        if cell["id"] in right_answers()[name]:
            cell["source"] = right_answers()[name][cell["id"]].strip().splitlines(keepends=True)
    return copy.deepcopy(notebook)


def called(notebook, name):
    """The first cell of that nbgrader name."""
    return next(c for c in notebook["cells"] if grade_id(c) == name)


def grade_id(cell):
    return cell["metadata"].get("nbgrader", {}).get("grade_id")


def of_role(layout, role):
    return [step.grade_id for step in layout.steps if step.role == role]


def shuffled(cells):
    return random.Random(5).sample(cells, len(cells))


def as_bytes(notebook):
    return notebook if isinstance(notebook, bytes) else json.dumps(notebook, indent=1).encode()


def max_points(name, without=()):
    """What a notebook is worth when the answers of some names are lost."""
    layout = LAYOUTS[name]
    lost = {defined for answer in without for defined in layout.defines[answer]}
    return sum(s.ask.points for s in layout.steps if s.ask and s.ask.solution not in lost)


def points(script):
    """Run a script here, cell by cell, and return what its hidden cells give."""
    code, total = [], 0.0
    for step in script.steps:
        if step.ask:
            total += _points(step.ask, tuple(code))
        elif step.kind == "code":
            code.append(step.source)
    return total


@functools.cache
def _points(ask, code):
    space = {"__name__": "__main__"}
    for source in code:
        try:
            exec(compile(source, "cell", "exec"), space)
        except Exception:  # noqa: BLE001
            continue
    if ask.solution not in space:
        return 0.0
    return run(load(ask.exercise), ask.part, space[ask.solution], points=ask.points).score
