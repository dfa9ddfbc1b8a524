"""Put a student's cells among the instructor's, and say what had to be put right."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from shardwise_grading.records import Step
from shardwise_grading.submission.match import repeats
from shardwise_grading.submission.notebook import show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shardwise_grading.submission.layout import Layout
    from shardwise_grading.submission.match import Match
    from shardwise_grading.submission.notebook import Cell


def arrange(layout: Layout, cells: Sequence[Cell], match: Match) -> tuple[Step, ...]:
    """Return the instructor's cells in their order, with the student's between them.

    A cell that the student added follows the cell that it followed, except that it goes before an
    answer that had been moved to behind it.
    """
    sources = {place: cells[number].source for place, number in match.answers.items()}
    placed = [
        (
            place,
            0,
            replace(step, source=sources.get(place, "")) if step.role == "solution" else step,
        )
        for place, step in enumerate(layout.steps)
    ]
    moved, places = moved_answers(layout, match), match.places
    anchor, waiting = -1, list[Step]()
    for number, cell in enumerate(cells):
        place = places.get(number)
        if place is not None:
            before = (place, -1) if place in moved and match.answers[place] == number else None
            placed += [(*(before or (anchor, 1)), step) for step in waiting]
            anchor, waiting = place, []
        if _is_own(layout, cells, match, number):
            waiting.append(Step(cell.kind, "own", cell.source))
    placed += [(anchor, 1, step) for step in waiting]
    return tuple(step for *_, step in sorted(placed, key=lambda item: item[:2]))


def moved_answers(layout: Layout, match: Match) -> set[int]:
    """Return the places of the answers that stand behind a cell that should follow them."""
    moved, furthest = set(), -1
    for _, place in sorted(match.places.items()):
        if layout.steps[place].role == "text":
            continue
        if place < furthest and layout.steps[place].role == "solution":
            moved.add(place)
        furthest = max(furthest, place)
    return moved


def notes_on(layout: Layout, cells: Sequence[Cell], match: Match) -> list[str]:
    """Say what an instructor should know of a student's cells; nothing of an honest notebook."""
    notes: list[str] = []
    moved = moved_answers(layout, match)
    placed = match.places
    loose = Counter(cell.grade_id for n, cell in enumerate(cells) if n not in placed)
    by_place: dict[int, list[int]] = {}
    for number, place in sorted(placed.items()):
        by_place.setdefault(place, []).append(number)
    for place, step in enumerate(layout.steps):
        found = by_place.get(place, [])
        if step.role == "solution":
            notes += _on_answer(layout, cells, match, place)
            if place in moved:
                notes.append(
                    f"{step.grade_id} stood behind cells that follow it; it ran in its place"
                )
        elif step.role != "text":
            changed = bool(match.edited.intersection(found))
            names = {cells[number].grade_id for number in found}
            notes += _on_test(step.grade_id, names, changed, loose[step.grade_id])
        if step.role != "text":
            notes += [n for number in found for n in _on_claims(layout, place, cells[number])]
    known = {step.grade_id for step in layout.steps} | {""}
    strange = (show(name) for name in loose if name not in known)
    return notes + [f"no cell of this notebook is called {n}; it's the student's" for n in strange]


def _is_own(layout: Layout, cells: Sequence[Cell], match: Match, number: int) -> bool:
    """Whether a cell holds something of the student's that is no answer."""
    source = cells[number].source
    if not source.strip() or number in match.answers.values():
        return False
    if number in match.copies:  # the instructor's text may hold an answer, as for a reflection
        return number in match.edited and layout.steps[match.copies[number]].role == "text"
    if number not in match.spare:
        return True
    place = match.spare[number]
    answer = cells[match.answers[place]].source if place in match.answers else ""
    return not repeats(source, layout.steps[place].source) and source != answer


def _on_answer(layout: Layout, cells: Sequence[Cell], match: Match, place: int) -> Iterator[str]:
    step = layout.steps[place]
    if place not in match.answers:
        yield f"{step.grade_id} is missing; the answer counts as empty"
        return
    cell = cells[match.answers[place]]
    if cell.grade_id != step.grade_id:
        what = f"is called {show(cell.grade_id)}" if cell.grade_id else "has lost its name"
        by_id = cell.cell_id and cell.cell_id == layout.cell_ids[place]
        yield f"{step.grade_id} {what}; {'its id' if by_id else 'what it defines'} told which it is"
    if cell.kind != step.kind:
        yield f"{step.grade_id} is a {cell.kind} cell; it was taken as {step.kind}"
    copies = 1 + list(match.spare.values()).count(place)
    if copies > 1:
        yield (
            f"{step.grade_id} is there {copies} times; the first that was worked on is the answer, "
            "and others that differ ran as the student's own"
        )


def _on_test(name: str, found: set[str], changed: bool, pasted: int) -> Iterator[str]:
    """Say what became of a test.

    Args:
        name: the instructor's.
        found: the names of the cells that repeat it.
        changed: whether one of them has another text.
        pasted: how many further cells have its name.
    """
    if not found:
        yield f"{name} is missing; the instructor's ran"
    for other in sorted(found - {name, ""}):
        yield f"{name} is called {show(other)}; its text told which it is"
    if changed:
        yield f"{name} was changed; the instructor's ran"
    if found and pasted:
        yield f"{name} has a changed copy, which ran as the student's own"


def _on_claims(layout: Layout, place: int, cell: Cell) -> Iterator[str]:
    """Say where a cell's metadata say something else than the instructor's."""
    name, real = layout.steps[place].grade_id, layout.settings[place]
    if cell.grade_id != name:
        return
    for key, value in cell.settings.items():
        if value != real.get(key, value):
            yield f"{name} says {key} = {show(value)}; the instructor's {show(real[key])} counts"
    for tag in cell.tags:
        yield f"{name} has the tag {tag}, which has no effect"
