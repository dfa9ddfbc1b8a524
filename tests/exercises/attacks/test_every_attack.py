"""Every attack on every exercise where it makes sense."""

from __future__ import annotations

import pytest
from exercises.attacks import families, verdict

pytestmark = pytest.mark.long


@pytest.mark.parametrize(("attack", "number"), families.every())
def test_ends_as_it_must(seen, protection, attack, number):
    assert verdict.stands(attack, number, seen, protection) == []
