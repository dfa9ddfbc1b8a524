"""An honest student's code runs in a cage as it does elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from shardwise_grading.sandbox import available

ALONE = {
    "shared with the parent": [],
    "gradient with 1": 300.0,
    "gradient with 4": 300.0,
    "lazy modules": ["colorsys", "wave"],
    "picture": "89504e47",
    "package": True,
    "written": 3,
    "threads": [0, 1, 2],
    "random": 8,
    "zone": True,
    "user": "student",
}
WITH_OTHERS = {"ls": "plot.png\n", "pool": [1, 2], "loader": [[0, 1], [2, 3]]}


def test_torch_plots_files_threads_and_processes_work():
    cases = {"namespaces": ALONE | WITH_OTHERS, "landlock": ALONE}
    expected = {name: case for name, case in cases.items() if not available(name)}
    if not expected:
        pytest.skip("this machine has neither namespaces nor landlock")
    command = [sys.executable, str(Path(__file__).with_name("honest.py")), *expected]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env={}, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert found == [{name: case} for name, case in expected.items()], done.stderr
