"""The instructor's notebook: which cells there are, in which order, and what they ask for."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shardwise_grading.records import Ask, Step
from shardwise_grading.submission.text import defined_names, without_region

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CODE_STUB = "# Your code here."
TEXT_STUB = "YOUR ANSWER HERE"
FORMAT = 4
HIDDEN_CELL = (
    "write the three lines 'from shardwise_grading import grade', "
    "'report = grade(\"module\", \"part\", name, points=n)' and 'report.score'"
)


@dataclass(frozen=True, slots=True)
class Layout:
    """The cells of an instructor's notebook, against which a student's is read.

    Args:
        name: the notebook without its ending, such as ``"2-stage-2-memory"``.
        steps: its cells in order; an answer's source is the stub that students get.
        defines: for each answer, by its name, what its stub defines at the top level.
        cell_ids: the notebook format's own id of each step.
        settings: what each step's metadata say to nbgrader.
    """

    name: str
    steps: tuple[Step, ...]
    defines: Mapping[str, tuple[str, ...]]
    cell_ids: tuple[str, ...]
    settings: tuple[Mapping[str, Any], ...]

    @property
    def by_hand(self) -> dict[str, float]:
        """The points that only a human can give, by cell: for answers and for nbgrader's tasks."""
        return {
            step.grade_id: float(settings.get("points", 0))
            for step, settings in zip(self.steps, self.settings, strict=True)
            if settings.get("task") or (step.role == "solution" and settings.get("grade"))
        }


def layouts(source: Path) -> dict[str, Layout]:
    """Read all notebooks of an assignment's source folder, by name.

    Args:
        source: the folder, such as ``source/distributed-training``.

    Raises:
        FileNotFoundError: the folder holds no notebook.
        ValueError: a notebook can't be graded as it stands; see `read_layout`.
    """
    paths = sorted(source.glob("*.ipynb"))
    if not paths:
        raise FileNotFoundError(f"{source} holds no notebook; name the folder of an assignment")
    return {path.stem: read_layout(path) for path in paths}


def read_layout(path: Path, code_stub: str = CODE_STUB, text_stub: str = TEXT_STUB) -> Layout:
    """Read an instructor's notebook from the source folder.

    Code that nbgrader doesn't know belongs to the student as soon as the notebook is released, so
    it is no step of the layout.

    Args:
        path: the notebook, with solutions and hidden checks.
        code_stub: what the release has in the place of a solution, as the course's
            ``ClearSolutions.code_stub`` says.
        text_stub: the same for a solution in prose.

    Raises:
        ValueError: the file is no notebook of format 4, a cell that is worth points is no hidden
            cell of three lines, or two cells have one name; the message names file, cell and
            remedy.
    """
    steps: list[Step] = []
    ids: list[str] = []
    known: list[Mapping[str, Any]] = []
    for number, cell in enumerate(_cells(path), start=1):
        settings = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and not settings:
            continue
        label = settings.get("grade_id") or f"cell {number}"
        try:
            steps.append(
                _step(cell, settings, code_stub if cell.cell_type == "code" else text_stub)
            )
        except ValueError as error:
            raise ValueError(f"{path}: {label}: {error}") from None
        ids.append(cell.get("id", ""))
        known.append(dict(settings))
    layout = Layout(path.stem, tuple(steps), _defines(steps), tuple(ids), tuple(known))
    _refuse_what_cannot_be_graded(layout, path)
    return layout


def _cells(path: Path) -> list[Any]:
    """The cells as they are in the file: validation would give new ids to some at each reading."""
    from nbformat import reader  # noqa: PLC0415  (takes most of a second; workers read no layout)

    try:
        notebook = reader.reads(path.read_text(encoding="utf-8"))  # type: ignore[no-untyped-call]
    except ValueError as error:
        raise ValueError(f"{path} is no notebook: {error}") from None
    if notebook.nbformat != FORMAT:
        raise ValueError(f"{path} has the format {notebook.nbformat}; save it in format {FORMAT}")
    cells: list[Any] = notebook.cells
    return cells


def _step(cell: Any, settings: Mapping[str, Any], stub: str) -> Step:  # noqa: ANN401
    kind, source, grade_id = cell.cell_type, cell.source, settings.get("grade_id", "")
    if settings.get("solution"):
        kept = without_region(source, "SOLUTION", stub)
        return Step(kind, "solution", stub if kept == source else kept, grade_id)
    if kind != "code":
        return Step(kind, "text", source, grade_id)
    points = settings.get("points", 0) if settings.get("grade") else 0
    shown = without_region(source, "HIDDEN TESTS")
    if not points and shown == source:
        return Step(kind, "visible", source, grade_id)
    ask = read_ask(source)
    if ask is None:
        raise ValueError(f"it is worth {points} points and no hidden cell; {HIDDEN_CELL}")
    if ask.points != points or points < 1:
        raise ValueError(
            f"it says points={ask.points} and its metadata {points}; write the same above 0"
        )
    return Step(kind, "hidden", source, grade_id, ask)


def read_ask(source: str) -> Ask | None:
    r"""Read what a hidden cell asks for; None when the text is no hidden cell.

    Example:
        >>> lines = ["from shardwise_grading import grade"]
        >>> lines += ['report = grade("stage_2_memory", "stage2_bytes", stage2_bytes, points=8)']
        >>> read_ask("\n".join([*lines, "report.score"]))
        Ask(exercise='stage_2_memory', part='stage2_bytes', solution='stage2_bytes', points=8)
        >>> read_ask("assert stage2_bytes(1, 1) == 16")
    """
    try:
        statements = ast.parse(source).body
    except SyntaxError:
        return None
    if [ast.unparse(s) for s in (statements[:1] + statements[2:])] != [
        "from shardwise_grading import grade",
        "report.score",
    ]:
        return None
    match statements[1]:
        case ast.Assign(
            targets=[ast.Name("report")],
            value=ast.Call(
                func=ast.Name("grade"),
                args=[ast.Constant(str(exercise)), ast.Constant(str(part)), ast.Name(solution)],
                keywords=[ast.keyword("points", ast.Constant(int(points)))],
            ),
        ):
            return Ask(exercise, part, solution, points)
    return None


def _defines(steps: list[Step]) -> dict[str, tuple[str, ...]]:
    return {
        step.grade_id: defined_names(step.source) if step.kind == "code" else ()
        for step in steps
        if step.role == "solution"
    }


def _refuse_what_cannot_be_graded(layout: Layout, path: Path) -> None:
    names = [step.grade_id for step in layout.steps if step.role != "text" or step.grade_id]
    for name in names:
        if not name or names.count(name) > 1:
            raise ValueError(f"{path}: {names.count(name)} cells are named {name!r}; rename one")
    defined = {name for names in layout.defines.values() for name in names}
    for step in layout.steps:
        if step.ask and step.ask.solution not in defined:
            raise ValueError(
                f"{path}: {step.grade_id}: it asks for {step.ask.solution}, which no answer's stub "
                f"defines; use one of {', '.join(sorted(defined)) or 'none'}"
            )
