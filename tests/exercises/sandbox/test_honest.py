"""An honest student's code runs in a cage as it does elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from shardwise_grading.sandbox import available

ALONE = {
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


@pytest.mark.parametrize(
    ("protection", "expected"), [("namespaces", ALONE | WITH_OTHERS), ("landlock", ALONE)]
)
def test_torch_plots_files_threads_and_processes_work(protection, expected):
    if reason := available(protection):
        pytest.skip(f"{protection}: {reason}")
    program = str(Path(__file__).with_name("honest.py"))
    done = subprocess.run(
        [sys.executable, program, protection], capture_output=True, text=True, timeout=100, env={}
    )
    assert done.stdout, done.stderr
    assert json.loads(done.stdout) == expected, done.stderr
