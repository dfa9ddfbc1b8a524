"""Questions: read from their file, answered by the library, and written as Markdown."""

from __future__ import annotations

import json

import pytest
import yaml
from support import ROOT

from shardwise_book.quiz import load, markdown, quiz

QUIZZES = ROOT / "chapter" / "quizzes"
CHOICE = {
    "id": "pick",
    "kind": "choice",
    "question": "Which?",
    "options": [
        {"text": "the sum of 2", "right": True, "why": "added"},
        {"text": "the product", "why": "times"},
        {"text": "the mean", "why": "divided"},
    ],
}
NUMBER = {
    "id": "count",
    "kind": "number",
    "question": "How many?",
    "from": "shardwise.distributed",
    "key": "ring_all_reduce_bytes(1e9, 8) / 1e9",
    "unit": "GB",
    "why": "twice seven eighths",
    "wrong": [{"key": "7 / 8", "why": "half of it"}],
}
ORDER = {"id": "sort", "kind": "order", "question": "When?", "items": ["a", "b", "c"], "why": "so"}


@pytest.fixture
def folder(tmp_path):
    def write(*entries):
        (tmp_path / "page.yml").write_text(json.dumps(list(entries)))
        return tmp_path

    return write


def test_every_file_of_the_book_is_whole_and_shown_by_its_page():
    files = sorted(QUIZZES.glob("*.yml"))
    assert files
    for file in files:
        assert load(file.stem, QUIZZES)
        assert f'quiz("{file.stem}"' in (ROOT / "chapter" / f"{file.stem}.qmd").read_text()
        for entry in yaml.safe_load(file.read_text()):
            assert entry["kind"] != "number" or "from" in entry, f"{entry['id']}: from the library"


def test_the_answer_of_a_number_comes_from_the_library(folder):
    (question,) = load("page", folder(NUMBER))
    assert question.answers == ["1.75", "0.875"]
    text = markdown("page", question)
    assert 'data-answers="1.75 0.875"' in text
    assert "**1.75 GB.** twice seven eighths" in text
    assert "Not 0.875 GB: half of it" in text


def test_a_choice_is_mixed_and_keeps_each_reason_with_its_option(folder):
    (question,) = load("page", folder(CHOICE))
    assert sorted(question.answers) == ["the mean", "the product", "the sum of 2"]
    assert question.answers != [option["text"] for option in CHOICE["options"]]
    reasons = dict(zip(question.answers, question.whys, strict=True))
    assert reasons == {"the sum of 2": "added", "the product": "times", "the mean": "divided"}
    assert question.answers[question.right] == "the sum of 2"
    assert load("page", folder(CHOICE)) == [question]


def test_an_order_is_shown_mixed_and_answered_right(folder):
    (question,) = load("page", folder(ORDER))
    shown, answer = markdown("page", question).split("title=")
    assert "1. a\n2. b\n3. c" in answer
    assert "1. a\n2. b\n3. c" not in shown


def test_the_right_option_says_what_its_key_gives(folder):
    key = {"from": "shardwise.pipeline", "key": "bubble_fraction(3, 1) * 3"}
    assert load("page", folder({**CHOICE, **key}))
    with pytest.raises(ValueError, match=r"pick: key 2 \+ 3 gives 5, and the right option says"):
        load("page", folder({**CHOICE, "key": "2 + 3"}))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({**CHOICE, "kind": "riddle"}, "pick: kind='riddle' must be one of choice, order, number"),
        ({**CHOICE, "unit": "GB"}, "pick: a choice question has no unit"),
        ({**CHOICE, "options": CHOICE["options"][:2]}, "three options or more, and one of them"),
        ({**CHOICE, "options": CHOICE["options"][1:] * 2}, "three options or more, and one of"),
        ({**ORDER, "items": ["a", "b", "a"]}, "three different items"),
        ({**NUMBER, "key": "nothing(1)"}, "count: key nothing.1. fails: NameError"),
        ({**NUMBER, "wrong": [{"key": "1.751", "why": "?"}]}, "1.751 counts as the right one"),
        ({"id": "x", "kind": "order", "items": "abc"}, "x: KeyError"),
        ("text", "1: TypeError"),
    ],
)
def test_what_is_not_whole_is_named(folder, entry, message):
    with pytest.raises(ValueError, match=message):
        load("page", folder(entry))


def test_a_file_holds_a_list_with_ids_of_their_own(folder, tmp_path):
    with pytest.raises(ValueError, match="must differ"):
        load("page", folder(ORDER, ORDER))
    (tmp_path / "page.yml").write_text("id: x")
    with pytest.raises(ValueError, match="must be a list of questions, not dict"):
        load("page", tmp_path)


def test_questions_are_printed_by_name_and_in_order(folder, capsys):
    quiz("page", "sort", "pick", folder=folder(CHOICE, ORDER, NUMBER))
    printed = capsys.readouterr().out
    assert printed.index("page/sort") < printed.index("page/pick")
    assert "page/count" not in printed
    with pytest.raises(ValueError, match=r"no_such.*page.yml has pick, sort"):
        quiz("page", "no_such", folder=folder(CHOICE, ORDER))
