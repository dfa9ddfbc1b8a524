"""A few of each kind that lie to the grader, read its files, or break the notebook."""

from __future__ import annotations

import pytest
from exercises.attacks import families, verdict

CASES = families.often(
    "broken",
    "damage",
    "files",
    "forgery",
    "grader",
    "liars",
    "patches",
    "probing",
    "shadowing",
    "shell",
    "solutions",
    "wire",
)


@pytest.mark.parametrize(("attack", "number"), CASES)
def test_earns_only_what_is_solved(seen, protection, attack, number):
    assert verdict.stands(attack, number, seen, protection) == []
