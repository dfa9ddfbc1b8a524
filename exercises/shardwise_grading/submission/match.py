"""Find the instructor's cells in a student's notebook, whatever happened to their names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shardwise_grading.submission.text import defined_names, plain, without_region

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shardwise_grading.records import Step
    from shardwise_grading.submission.layout import Layout
    from shardwise_grading.submission.notebook import Cell


@dataclass(slots=True)
class Match:
    """Which cell of a student is which of the instructor's.

    Args:
        answers: for each answer by its place in the layout, the number of the student's cell.
        copies: for each of the student's cells that repeats the instructor's, the place in the
            layout.
        edited: those of the copies whose text is another.
        spare: further cells that have the name of an answer, with its place.
    """

    answers: dict[int, int] = field(default_factory=dict)
    copies: dict[int, int] = field(default_factory=dict)
    edited: set[int] = field(default_factory=set)
    spare: dict[int, int] = field(default_factory=dict)

    @property
    def places(self) -> dict[int, int]:
        """For each of the student's cells that is one of the layout's, which."""
        return self.copies | {number: place for place, number in self.answers.items()}


def find(layout: Layout, cells: Sequence[Cell]) -> Match:
    """Find the instructor's cells: by nbgrader's name, by cell id, by what they define.

    Example:
        >>> from shardwise_grading.records import Step
        >>> from shardwise_grading.submission.layout import Layout
        >>> from shardwise_grading.submission.notebook import Cell
        >>> step = Step("code", "solution", "def mean(xs):", "mean")
        >>> layout = Layout("1", (step,), {"mean": ("mean",)}, ("",), ({},))
        >>> find(layout, [Cell("code", "import torch"), Cell("code", "def mean(xs): return 0")])
        Match(answers={0: 1}, copies={}, edited=set(), spare={})
    """
    match = Match()
    _find_copies(layout, cells, match)
    places = {s.grade_id: place for place, s in enumerate(layout.steps) if s.role == "solution"}
    look = _Look(layout, cells)
    free = {number for number in range(len(cells)) if number not in match.copies} | match.edited
    for is_answer in look.tests:
        for place in places.values():
            found = [n for n in sorted(free) if is_answer(place, n)]
            if place not in match.answers and found:
                best = look.best(place, found)
                match.answers[place] = best
                match.copies.pop(best, None)
                free.discard(best)
    match.edited &= match.copies.keys()
    spare = sorted(free - match.copies.keys())
    match.spare = {n: places[cells[n].grade_id] for n in spare if cells[n].grade_id in places}
    return match


def is_recognized(layout: Layout, cells: Sequence[Cell], match: Match) -> bool:
    """Whether anything shows that a student's notebook came from the instructor's.

    The released text of hidden tests shows nothing: it's the same in many notebooks.
    """
    return bool(match.answers) or any(
        cells[number].grade_id == layout.steps[place].grade_id != ""
        or (number not in match.edited and layout.steps[place].role != "hidden")
        for number, place in match.copies.items()
    )


def released(step: Step) -> str:
    """Return the text of an instructor's cell as students get it."""
    return without_region(step.source, "HIDDEN TESTS") if step.role == "hidden" else step.source


def repeats(source: str, instructors: str) -> bool:
    r"""Whether a student's text is the instructor's, but for white space.

    Example:
        >>> repeats("x = 1 \n", "x = 1"), repeats("x = 2", "x = 1")
        (True, False)
    """
    return len(source) <= 2 * len(instructors) + 100 and plain(source) == plain(instructors)


def _find_copies(layout: Layout, cells: Sequence[Cell], match: Match) -> None:
    """Note which cells repeat the instructor's tests and texts."""
    steps = [(p, step) for p, step in enumerate(layout.steps) if step.role != "solution"]
    by_name = {step.grade_id: place for place, step in steps if step.grade_id}
    by_text = {plain(released(step)): place for place, step in steps}
    by_id = {layout.cell_ids[place]: place for place, step in steps if step.role == "text"}
    longest = 2 * max(map(len, by_text), default=0) + 100
    for number, cell in enumerate(cells):
        place = by_name.get(cell.grade_id)
        if place is None and cell.grade_id not in layout.defines and len(cell.source) <= longest:
            text = plain(cell.source)
            place = by_text.get(text) if text else None
        if place is None and cell.cell_id and cell.kind != "code":
            place = by_id.get(cell.cell_id)
        if place is None:
            continue
        match.copies[number] = place
        if not repeats(cell.source, released(layout.steps[place])):
            match.edited.add(number)
    # Beside a test as it was, a pasted and changed copy is the student's own.
    whole = {place for number, place in match.copies.items() if number not in match.edited}
    for number in sorted(match.edited):
        if match.copies[number] in whole and layout.steps[match.copies[number]].role != "text":
            del match.copies[number]
            match.edited.remove(number)


class _Look:
    """What speaks for one of the student's cells being one of the answers.

    Args:
        layout: the instructor's notebook.
        cells: the student's.
    """

    def __init__(self, layout: Layout, cells: Sequence[Cell]) -> None:
        self._layout = layout
        self._cells = cells
        self._names = [frozenset(defined_names(cell.source)) for cell in cells]
        self._wanted = [frozenset(layout.defines.get(step.grade_id, ())) for step in layout.steps]

    @property
    def tests(self) -> list[Callable[[int, int], bool]]:
        """Questions about a place in the layout and a cell, the surest first."""
        return [
            lambda place, number: self._named(place, number) and self._sound(place, number),
            lambda place, number: self._same_id(place, number) and self._sound(place, number),
            lambda place, number: self._same_kind(place, number) and self._defines(place, number),
            self._defines,
            self._named,
        ]

    def best(self, place: int, numbers: Sequence[int]) -> int:
        """Of several cells, the first of those that look most like work on an answer."""
        return max(numbers, key=lambda number: self._worth(place, number))

    def _worth(self, place: int, number: int) -> int:
        source, stub = self._cells[number].source, self._layout.steps[place].source
        worked_on = bool(source.strip()) and not repeats(source, stub)
        return 2 * worked_on + 2 * self._defines(place, number) + 1 * self._same_kind(place, number)

    def _named(self, place: int, number: int) -> bool:
        return self._cells[number].grade_id == self._layout.steps[place].grade_id

    def _same_id(self, place: int, number: int) -> bool:
        return self._cells[number].cell_id == self._layout.cell_ids[place] != ""

    def _same_kind(self, place: int, number: int) -> bool:
        return self._cells[number].kind == self._layout.steps[place].kind

    def _defines(self, place: int, number: int) -> bool:
        return bool(self._wanted[place]) and self._wanted[place] <= self._names[number]

    def _sound(self, place: int, number: int) -> bool:
        """Whether a cell isn't another answer under this one's name."""
        return self._defines(place, number) or not any(
            wanted and wanted <= self._names[number] for wanted in self._wanted
        )
