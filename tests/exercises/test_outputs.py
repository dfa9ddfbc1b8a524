"""What is believed of what a student's process says it showed."""

from __future__ import annotations

import pytest

from shardwise_grading.checking.outputs import CELLS, PICTURES, Outputs
from shardwise_grading.checking.student import LostError
from shardwise_grading.checking.texts import LONGEST_LINE, block, line


def output(kind="stdout", text="", png="", name="", value=""):
    return {"kind": kind, "text": text, "png": png, "name": name, "value": value}


def test_texts_and_pictures_are_read():
    got = Outputs(100).read([output(text="a\n"), output("display", "b", "iVBORw0KGgo=")])
    assert [(o.kind, o.text, o.png) for o in got] == [
        ("stdout", "a\n", ""),
        ("display", "b", "iVBORw0KGgo="),
    ]


@pytest.mark.parametrize(
    "content",
    [None, 5, {}, [5], ["text"], [{}], [output("script")], [output(text=5)], [output(png=None)]],
    ids=str,
)
def test_what_is_no_output_is_an_attack(content):
    with pytest.raises(LostError) as lost:
        Outputs(100).read(content)
    assert lost.value.forged


def test_one_cell_shows_only_so_much():
    got = Outputs(100).read([output(text="x" * 90)] * 10_000)
    assert sum(len(o.text) for o in got) <= 200


def test_all_cells_together_show_only_so_much():
    outputs = Outputs(100)
    texts = [outputs.read([output(text="x" * 1000)])[0].text for _ in range(100)]
    assert sum(map(len, texts)) <= CELLS * 200
    picture = "A" * (PICTURES // 2)
    pictures = [outputs.read([output("display", png=picture)])[0].png for _ in range(100)]
    assert 0 < sum(map(len, pictures)) <= CELLS * PICTURES // 4


def test_a_picture_is_base64_or_none():
    assert Outputs(9).read([output("display", png='"><script>')])[0].png == ""


def test_a_line_is_one_line_that_no_terminal_obeys():
    assert line("a\nb\x1b[31m\u202e\ud800\x00") == "a b\\x1b[31m\\u202e\\ud800\\x00"
    assert len(line("x" * 10**7)) == LONGEST_LINE


def test_a_block_can_be_written_to_a_file():
    text = block("a\n\ud800\x00" * 1000, most=30)
    assert "\n" in text
    assert "\x00" not in text
    text.encode("utf-8")
