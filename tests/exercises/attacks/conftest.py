"""What the attack suites share: graders behind fences."""

from __future__ import annotations

import os

import pytest
from exercises.attacks.crew import crew

from shardwise_grading import sandbox


@pytest.fixture(scope="session")
def protection():
    """The best that this machine has; without any, hostile code is not run at all."""
    try:
        return sandbox.best()
    except sandbox.ProtectionError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def seen(request, protection):
    """What came of an attack; those of this file are graded ahead, in the order of its tests."""
    cases = [
        (item.callspec.params["attack"], item.callspec.params["number"])
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec")
    ]
    long = request.node.get_closest_marker("long")
    size, neighbours = (os.cpu_count(), 5) if long else (1, 1)
    with crew(cases, size, protection, neighbours) as ask:
        yield ask
