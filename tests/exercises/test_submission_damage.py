"""Damaged notebooks lose what was damaged and nothing else, and say so."""

from __future__ import annotations

import re

import pytest
from exercises.file_damage import DAMAGES
from exercises.handed_in import LAYOUTS, NAMES, as_bytes, max_points, of_role, points, solved

from shardwise_grading.submission import read_script

CASES = [
    pytest.param(damage, name, id=f"{damage.name}-{name}")
    for damage in DAMAGES
    for name in NAMES
    if len(of_role(LAYOUTS[name], "solution")) >= damage.answers
]


@pytest.mark.parametrize(("damage", "name"), CASES)
def test_only_what_was_damaged_is_lost(damage, name, hidden_folder):
    layout = LAYOUTS[name]
    notebook = solved(name)
    changed = damage.apply(notebook, layout)
    script = read_script(layout, as_bytes(notebook if changed is None else changed))
    assert re.search(damage.problem or "^$", script.problem)
    wanted = list(patterns(damage, layout))
    assert len(script.notes) == len(wanted), script.notes
    for note, pattern in zip(script.notes, wanted, strict=True):
        assert re.search(pattern, note)
    answers = of_role(layout, "solution")
    lost = {"nothing": [], "first": answers[:1], "all": answers}[damage.lost]
    assert points(script) == max_points(name, lost)


def patterns(damage, layout):
    """The notes that a damage deserves, in order."""
    roles = {"a": "solution", "h": "hidden", "v": "visible"}
    names = {key: of_role(layout, role)[0] for key, role in roles.items()}
    for note in damage.notes:
        for each in of_role(layout, "solution") if "{each}" in note else [""]:
            yield note.format(each=each, **names)
