"""The five notebooks as a student hands them in: half solved, so that points can be won or lost."""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass
from functools import cache

from support import ROOT

SOURCE = ROOT / "exercises" / "source" / "distributed-training"
HIDDEN = ROOT / "exercises" / "hidden"
SOLUTION = re.compile(r"[ \t]*### BEGIN SOLUTION\n(.*?)[ \t]*### END SOLUTION\n?", re.DOTALL)
HIDDEN_TESTS = re.compile(r"### BEGIN HIDDEN TESTS\n.*?### END HIDDEN TESTS\n?", re.DOTALL)
POINTS = 10  # each exercise is worth as many


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    Args:
        name: its notebook, without the ending.
        checks: its module of hidden checks.
        function: the student's function that is checked.
        cell: the nbgrader id of the function's cell.
        half: a solution of each solution cell that earns some of the points.
        half_points: what they earn.
        data_points: what of it is earned by data, so that no function needs to answer.
        forgeable: points for what only the student's process can see, which can be forged there.
    """

    name: str
    checks: str
    function: str
    cell: str
    half: dict[str, str]
    half_points: int
    data_points: int = 0
    forgeable: int = 0

    @property
    def number(self) -> str:
        return self.name[0]


ALL = (
    Exercise(
        "1-all-reduce-mean",
        "all_reduce_mean",
        "all_reduce_mean",
        "all-reduce-mean",
        {
            "all-reduce-mean": """\
import torch

def all_reduce_mean(tensors):
    if not tensors[0].is_floating_point():
        raise TypeError("floats only")
    return [torch.stack(tensors).mean(0) for _ in tensors]
"""
        },
        half_points=6,  # right values, and no all-reduce
        forgeable=1,
    ),
    Exercise(
        "2-stage-2-memory",
        "stage_2_memory",
        "stage2_bytes",
        "stage2-bytes",
        {
            "stage2-bytes": """\
def stage2_bytes(psi, n):
    return 2 * psi + 14 * psi / n
""",
            "partition-table": """\
partition = dict.fromkeys(
    ("weights", "gradients", "master copy", "momentum", "variance"), "partitioned"
)
""",
        },
        half_points=8,  # refuses nothing, and one half of the table
        data_points=1,
    ),
    Exercise(
        "3-gradient-accumulation",
        "gradient_accumulation",
        "accumulate",
        "accumulate",
        {
            "accumulate": """\
import torch

def accumulate(W, xs, ys):
    if not xs or len(xs) != len(ys):
        raise ValueError("one of each")
    x, y = torch.cat(xs), torch.cat(ys)
    leaf = W.detach().clone().requires_grad_(True)
    return torch.autograd.grad(((x @ leaf.T - y) ** 2).mean(), leaf)[0]
"""
        },
        half_points=7,  # the whole batch at once
        forgeable=4,
    ),
    Exercise(
        "4-row-parallel",
        "row_parallel",
        "my_row_parallel",
        "row-parallel",
        {
            "row-parallel": """\
def my_row_parallel(y, b, n):
    if not 1 <= n <= len(b):
        raise ValueError("too few rows")
    return y @ b
"""
        },
        half_points=5,  # no devices, and no all-reduce
        forgeable=1,
    ),
    Exercise(
        "5-microbatches",
        "microbatches",
        "min_microbatches",
        "microbatches",
        {
            "microbatches": """\
import math

def min_microbatches(p, target):
    if p < 1 or not 0 < target <= 1:
        raise ValueError("a bubble is a fraction")
    return max(1, math.ceil((p - 1) * (1 - target) / target))
"""
        },
        half_points=5,  # the formula in floats
    ),
)
BY_NUMBER = {int(exercise.number): exercise for exercise in ALL}


@cache
def _source(name: str) -> str:
    return (SOURCE / f"{name}.ipynb").read_text(encoding="utf-8")


def _text(cell: dict) -> str:
    return "".join(cell["source"])


def released(exercise: Exercise) -> dict:
    """The notebook as students get it: no solutions, no hidden tests."""
    notebook = json.loads(_source(exercise.name))
    for cell in notebook["cells"]:
        text = SOLUTION.sub("    # Your code here.\n", _text(cell))
        cell["source"] = HIDDEN_TESTS.sub("", text)
    return notebook


def right_cells(exercise: Exercise) -> dict[str, str]:
    """What the instructor would write, by the id of the cell."""
    cells = json.loads(_source(exercise.name))["cells"]
    return {
        grade_id(cell): re.sub(r"[ \t]*### (?:BEGIN|END) SOLUTION\n?", "", _text(cell))
        for cell in cells
        if cell["metadata"].get("nbgrader", {}).get("solution")
    }


def grade_id(cell: dict) -> str:
    """nbgrader's name of a cell, or nothing."""
    return cell.get("metadata", {}).get("nbgrader", {}).get("grade_id", "")


def code(source: object, **metadata: object) -> dict:
    """A new code cell, as the notebook server writes one."""
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": f"own-{zlib.crc32(repr(source).encode()):08x}",
        "metadata": metadata,
        "outputs": [],
        "source": source,
    }


def filled(exercise: Exercise, cells: dict[str, str]) -> dict:
    """The released notebook with these sources in its solution cells."""
    notebook = released(exercise)
    for cell in notebook["cells"]:
        cell["source"] = cells.get(grade_id(cell), cell["source"])
    return notebook


def half_solved(
    exercise: Exercise, before: str = "", inside: str = "", after: str = "", instead: str = ""
) -> dict:
    """The half-solved notebook with hostile code in it.

    Args:
        exercise: which one.
        before: a cell in front of the solution.
        inside: statements at the start of each call of the solution; they see its arguments as
            `args` and the half-solved function as `honest`.
        after: a cell right behind the solution.
        instead: what defines FUNCTION in place of the half-solved one, which is `honest` there.
    """
    notebook = filled(exercise, exercise.half)
    place = next(i for i, cell in enumerate(notebook["cells"]) if grade_id(cell) == exercise.cell)
    solution = notebook["cells"][place]
    name = exercise.function
    if inside:
        body = "\n".join(f"    {line}" for line in inside.splitlines())
        instead = f"def {name}(*args):\n{body}\n    return honest(*args)\n"
    if instead:
        instead = instead.replace("FUNCTION", name)
        solution["source"] = f"{solution['source']}\nhonest = {name}\n\n{instead}"
    if after:
        notebook["cells"].insert(place + 1, code(after.replace("FUNCTION", name)))
    if before:
        notebook["cells"].insert(place, code(before.replace("FUNCTION", name)))
    return notebook


def all_right(exercise: Exercise) -> dict:
    """The notebook of somebody who solved it."""
    return filled(exercise, right_cells(exercise))


def as_bytes(notebook: object) -> bytes:
    """The file of a notebook, as Jupyter writes it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False).encode("utf-8", "surrogatepass")
