"""Where there are no namespaces, the next best protection still keeps the attackers in."""

from __future__ import annotations

import pytest
from exercises.attacks import course, families, verdict
from exercises.attacks.fence import Fence

from shardwise_grading import sandbox

pytestmark = pytest.mark.long

CASES = families.often("bombs", "daemons", "exits", "files", "kernel", "network", "output")


@pytest.fixture(scope="module", params=["landlock", "bubblewrap"])
def fence(request):
    reason = sandbox.available(request.param)
    if reason:
        pytest.skip(f"{request.param}: {reason}")
    fence = Fence(request.param)
    yield fence
    fence.close()


@pytest.mark.parametrize(("attack", "number"), CASES)
def test_keeps_the_attacker_in(fence, attack, number):
    name = course.BY_NUMBER[number].name
    seen = fence.grade(name, attack.notebook(number))
    assert verdict.amiss(attack, number, seen, fence.protection) == []
