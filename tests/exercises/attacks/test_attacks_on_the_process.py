"""A few of each kind that take the process, its time, its space or its streams."""

from __future__ import annotations

import pytest
from exercises.attacks import families, verdict

CASES = families.often("bombs", "daemons", "exits", "huge", "kernel", "loops", "network", "output")


@pytest.mark.parametrize(("attack", "number"), CASES)
def test_costs_only_the_attacker(seen, protection, attack, number):
    assert verdict.stands(attack, number, seen, protection) == []
