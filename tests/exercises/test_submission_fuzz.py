"""Whatever bytes come, a script or a problem comes of them, soon and in little memory."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time

import pytest
from exercises.handed_in import LAYOUTS, NAMES, SOURCE, as_bytes, called, solved
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shardwise_grading.records import to_json
from shardwise_grading.submission import MAX_BYTES, read_script
from shardwise_grading.submission.read import MAX_NOTES

LAYOUT = LAYOUTS["2-stage-2-memory"]
SOLVED = as_bytes(solved("2-stage-2-memory"))
EXAMPLES = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
known = [step.grade_id for step in LAYOUT.steps if step.grade_id] + ["header", "unknown"]
lines = ["import torch\n", "def stage2_bytes(psi, n):\n", "    return 1\n", "partition = {}", "'''"]
texts = st.text(max_size=40) | st.lists(st.sampled_from(lines) | st.text(max_size=9), max_size=6)
marks = st.fixed_dictionaries(
    {},
    optional={
        "grade_id": st.sampled_from(known) | values,
        "points": values,
        "solution": st.booleans() | values,
    },
)
cells = st.fixed_dictionaries(
    {},
    optional={
        "cell_type": st.sampled_from(["code", "markdown", "raw", "heading", "?"]) | values,
        "source": texts | values,
        "id": st.sampled_from(known) | values,
        "metadata": st.fixed_dictionaries({}, optional={"nbgrader": marks | values}) | values,
        "outputs": values,
    },
)
notebooks = st.fixed_dictionaries(
    {"cells": st.lists(cells | values, max_size=12) | values},
    optional={"nbformat": st.sampled_from([3, 4]) | values, "worksheets": values},
)


def check(content):
    started = time.process_time()
    script = read_script(LAYOUT, content)
    assert time.process_time() - started < 1
    json.dumps(to_json(script)).encode()
    assert len(script.notes) <= MAX_NOTES
    assert all(len(note) < 400 and note.isprintable() for note in (*script.notes, script.problem))
    for step in script.steps:
        assert "\0" not in step.source
        step.source.encode()
    if script.problem:
        assert script.steps == ()
        return
    theirs = [step.grade_id for step in script.steps if step.role not in ("own", "text")]
    assert theirs == [step.grade_id for step in LAYOUT.steps if step.role != "text"]
    tests = [step for step in script.steps if step.role not in ("own", "solution")]
    assert tests == [step for step in LAYOUT.steps if step.role != "solution"]


@EXAMPLES
@given(st.binary(max_size=300))
def test_any_bytes(content):
    check(content)


@EXAMPLES
@given(values)
def test_any_json(content):
    check(json.dumps(content).encode())


@EXAMPLES
@given(notebooks, st.booleans())
def test_any_cells(notebook, is_ascii):
    check(json.dumps(notebook, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass"))


@EXAMPLES
@given(st.data())
def test_any_change_of_bytes(data):
    start = data.draw(st.integers(0, len(SOLVED)))
    length = data.draw(st.integers(0, 200) | st.integers(0, len(SOLVED)))
    new = data.draw(st.binary(max_size=40) | st.sampled_from([b'"', b"[", b"}", b",", b"\\"]))
    check(SOLVED[:start] + new + SOLVED[start + length :])


def put(key, value):
    """The solved notebook with raw bytes as a member of an answer."""
    notebook = solved("2-stage-2-memory")
    called(notebook, "stage2-bytes")[key] = "HERE"
    return as_bytes(notebook).replace(b'"HERE"', value)


def many(count, source, **members):
    """The solved notebook with many more answers of that text."""
    notebook = solved("2-stage-2-memory")
    metadata = {"nbgrader": {"grade_id": "stage2-bytes"}} | members.pop("metadata", {})
    cell = {"cell_type": "code", "source": source, "metadata": metadata} | members
    notebook["cells"] += [cell] * count
    return as_bytes(notebook)


SIZE = MAX_BYTES - 50_000
HOSTILE = {
    "empty lists": lambda: put("outputs", b"[" + b"[]," * (SIZE // 3) + b"1]"),
    "small objects": lambda: put("outputs", b"[" + b'{"a":1},' * (SIZE // 8) + b"1]"),
    "empty texts": lambda: put("outputs", b"[" + b'"",' * (SIZE // 3) + b"1]"),
    "escapes": lambda: put("outputs", b'"' + b"\\\\" * (SIZE // 2) + b'"'),
    "deep": lambda: put("metadata", b'{"nbgrader":' * 240_000 + b"1" + b"}" * 240_000),
    "deeper": lambda: put("outputs", b"[" * (SIZE // 2) + b"]" * (SIZE // 2)),
    "members": lambda: put("metadata", b"{" + b'"a":1,' * (SIZE // 6) + b'"b":2}'),
    "cells": lambda: b'{"cells":[' + b"{}," * (SIZE // 3) + b"1]}",
    "members of cells": lambda: many(980, "x", **{str(n): 1 for n in range(95)}),
    "members of metadata": lambda: many(980, "x", metadata={str(n): 1 for n in range(95)}),
    "quotes": lambda: many(21, '"' * 450_000),
    "triple quotes": lambda: many(12, "'''\"\"\"\\" * 100_000),
    "names": lambda: many(19, "\n".join(f"a{number}=" for number in range(100_000))),
    "one name": lambda: many(21, "x" * 900_000),
    "spaces": lambda: many(21, (" " * 1000 + "x") * 800),
    "line ends": lambda: many(21, "\n" * 450_000),
    "annotations": lambda: many(21, "a:" * 400_000),
    "noise": lambda: b'{"cells":[' + random.Random(1).randbytes(SIZE) + b"]}",
    "UTF-32": lambda: SOLVED.decode().encode("utf-32-le") + "😀".encode("utf-32-le") * 4_900_000,
}

MEASURE = """
import pathlib, sys, time
from shardwise_grading.submission import read_layout, read_script
layout = read_layout(pathlib.Path(sys.argv[1]))
content = sys.stdin.buffer.read()
peak = lambda: int(pathlib.Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
pathlib.Path("/proc/self/clear_refs").write_text("5")
before, started = peak(), time.process_time()
read_script(layout, content)
print(time.process_time() - started, (peak() - before) / 1000)
"""


@pytest.mark.long
@pytest.mark.parametrize("shape", HOSTILE)
def test_twenty_hostile_megabytes_take_little(shape):
    path = SOURCE / f"{LAYOUT.name}.ipynb"
    content = HOSTILE[shape]()
    assert len(content) <= MAX_BYTES
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], input=content, capture_output=True, check=True
    )
    seconds, megabytes = map(float, done.stdout.split())
    assert seconds < 2
    assert megabytes < 300


def test_an_honest_notebook_takes_milliseconds():
    content = [as_bytes(solved(name)) for name in NAMES]
    started = time.process_time()
    for name, notebook in zip(NAMES * 10, content * 10, strict=True):
        read_script(LAYOUTS[name], notebook)
    assert time.process_time() - started < 0.5
