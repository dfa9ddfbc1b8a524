"""The similarity report: copies are found, independent work is not, and no input can hurt it."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
import time
import tokenize

import pytest
from exercises.similarity_class import (
    EXERCISES,
    WAYS,
    a_class,
    changed,
    copy_of,
    released,
    solutions,
)
from support import ROOT

from shardwise_grading.similarity import compare, to_json
from shardwise_grading.similarity.evidence import at_least
from shardwise_grading.similarity.features import Given, Work, features, given
from shardwise_grading.similarity.statements import tokens

PLANTED = 10


def with_copies(size, way, exercises=tuple(EXERCISES)):
    works = a_class(size)
    names = [f"student-{number:04}" for number in range(PLANTED)]
    copies = {f"{name} again": copy_of(works[name], way, name, exercises) for name in names}
    return works | copies, {(name, f"{name} again") for name in names}


def found(works):
    return {(pair.first, pair.second) for pair in compare("a", works, released()).pairs}


def shape(code):
    return {f for f in features(Work(code), Given()) if f.kind == "shape"}


@pytest.mark.parametrize("way", WAYS)
def test_who_copied_everything_is_found_whatever_was_changed(way):
    works, planted = with_copies(60, way)
    pairs = found(works)
    assert planted <= pairs
    assert len(pairs - planted) <= 4


@pytest.mark.parametrize(
    ("way", "copied", "least"),
    [
        ("as it is", 1, 8),
        ("reformatted", 1, 7),
        ("comments changed", 1, 7),
        ("reordered", 2, 9),
        ("renamed", 2, 8),
        ("padded", 2, 9),
    ],
)
def test_who_copied_a_part_is_found_as_a_rule(way, copied, least):
    works, planted = with_copies(
        60,
        way,
        tuple(EXERCISES)[:copied] if copied == 1 else ("3-gradient-accumulation", "4-row-parallel"),
    )
    assert len(planted & found(works)) >= least


@pytest.mark.parametrize(("size", "most"), [(2, 0), (20, 2), (60, 3), (240, 6)])
def test_independent_authors_are_left_alone(size, most):
    """The pools of words and names are so small that some of them meet by chance."""
    report = compare("a", a_class(size), released())
    assert len(report.pairs) <= most
    # "by some bits", as the report says of its own mistakes
    assert all(pair.bits < report.threshold + 8 for pair in report.pairs)


def test_the_known_right_solutions_of_one_form_are_no_evidence_between_many():
    code = "def f(p):\n    return max(1, math.ceil((p - 1) * (1 - t) / t))  # the textbook's\n"
    works = {f"s{number}": {"5-microbatches": Work(code)} for number in range(30)}
    assert found(works) == set()


def test_two_who_share_an_odd_comment_and_odd_names_are_found_in_a_tiny_class():
    code = (
        "def f(x):\n    # devide the sumed up thing by how menny\n    sumed = x\n    return sumed\n"
    )
    other = "def f(x):\n    return x\n"
    pairs = found(
        {"a": {"n": Work(code)}, "b": {"n": Work(code + "\n\n")}, "c": {"n": Work(other)}}
    )
    assert pairs == set()  # a single short function: too little to say anything
    twice = {"n": Work(code), "m": Work(code.replace("menny", "menny of them ther are"))}
    assert found({"a": twice, "b": twice, "c": {"n": Work(other)}}) == {("a", "b")}


def test_the_shape_ignores_names_layout_comments_and_order():
    code = solutions(11)["4-row-parallel"].code
    assert shape(changed(code, 1)) == shape(code)
    broken = code.replace(", ", ",\\\n  ").replace("    ", "\t")
    assert shape("# why\n\n" + broken) == shape(code)
    assert shape("x = f(a, b, c)\ny = g(a * b + c)\n") == shape("z=g(i*j+k);  w = f(i,j,\n  k,)")
    assert shape("if a > b + c: x = f(a, b)") == shape("if a > b + c:\n    x = f(a, b)")
    assert shape("x = a + b * a") != shape("x = a + b * b")


def test_what_was_released_is_no_feature():
    release = Work(
        "def f(a, b):\n    '''Sum of two.'''\n    # 1. Add both of them.\n", "Use `total`."
    )
    known = given(release)
    assert features(release, known) == {}
    more = features(Work(release.code + "    total = a\n    mine = a + b + b\n"), known)
    assert {f.value for f in more if f.kind != "shape"} == {"mine"}


def test_nothing_but_the_works_decides():
    works = a_class(20) | {"x": copy_of(a_class(1)["student-0000"], "renamed", 1)}
    shuffled = list(works.items())
    random.Random(1).shuffle(shuffled)
    first = to_json(compare("a", works, released()))
    assert to_json(compare("a", dict(shuffled), released())) == first
    code = (
        "import json, sys; sys.path.insert(0, 'tests')\n"
        "from exercises.similarity_class import a_class, copy_of, released\n"
        "from shardwise_grading.similarity import compare, to_json\n"
        "works = a_class(20) | {'x': copy_of(a_class(1)['student-0000'], 'renamed', 1)}\n"
        "print(json.dumps(to_json(compare('a', works, released()))))"
    )
    again = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert json.loads(again.stdout) == json.loads(json.dumps(first))


def test_tokens_are_those_of_python_itself():
    skipped = (tokenize.ENCODING, tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT,
               tokenize.ENDMARKER)  # fmt: skip
    for path in sorted((ROOT / "tests" / "exercises" / "known").glob("*.py")):
        code = path.read_text("utf-8")
        python = tokenize.tokenize(io.BytesIO(code.encode()).readline)
        expected = [(t.string, t.start[0]) for t in python if t.type not in skipped]
        mine = [(t.text, t.line) for t in tokens(code) if t.kind not in ("space", "newline")]
        assert mine == expected


BAD = [
    "", "\0" * 9999, "(" * 100_000, ")" * 100_000, "'''" * 33_333, '"""' + "\\" * 99_999,
    "\\" * 9999, "'\\" * 50_000, "f'{" * 30_000, "x=" * 50_000, ";" * 100_000, "#" * 100_000,
    "\r" * 100_000, " " * 100_000, " ," * 50_000, "\t x" * 33_333, "a\n" * 50_000,
    "\ud800\u202e\ufffe" * 9999,
    "9" * 100_000, "if" + ":" * 99_999, "rb" * 50_000, "lambda:" * 9999, "x  " * 33_333,
]  # fmt: skip


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_no_text_breaks_it_or_takes_long(text):
    assert "".join(token.text for token in tokens(text)) == text
    start = time.process_time()
    works = {name: {"n": Work(text, text)} for name in "ab"} | {"c": {"n": Work("x = 1", "")}}
    compare("a", works, {"n": Work(text[:100])})
    assert time.process_time() - start < 2


def test_random_bytes_are_read_as_something():
    draw = random.Random(5)
    letters = "'\"\\#\n\t ()[]{}:;,=rbfx1.é\r\0"
    for _ in range(2000):
        text = "".join(draw.choices(letters, k=draw.randint(0, 40)))
        assert "".join(token.text for token in tokens(text)) == text
        features(Work(text, text), Given())


def test_who_is_in_enough_sets_is_counted_right():
    draw = random.Random(3)
    for _ in range(300):
        sets = [draw.getrandbits(12) for _ in range(draw.randint(0, 9))]
        enough = draw.randint(1, 9)
        counted = sum(1 << n for n in range(12) if sum(s >> n & 1 for s in sets) >= enough)
        assert at_least(enough, sets) == counted


@pytest.mark.long
def test_a_class_four_times_as_large_takes_about_four_times_as_long():
    seconds = []
    for size in (240, 960):
        works = a_class(size)
        start = time.process_time()
        compare("a", works, released())
        seconds.append(time.process_time() - start)
    assert seconds[1] < 7 * seconds[0]
    assert seconds[1] < 20
