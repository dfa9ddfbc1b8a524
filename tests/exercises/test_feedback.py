"""Feedback pages: what is said, what is never said, and what a student can't do to them."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import os
import re
import unicodedata

import pytest
from bs4 import BeautifulSoup
from exercises.feedback_samples import (
    CODE,
    HOSTILE,
    SECRET,
    FakeCourse,
    memory_notebook,
    png,
    submission,
)
from exercises.handed_in import LAYOUTS
from support import ROOT

from shardwise_grading.feedback import feedback_pages, write_feedback
from shardwise_grading.feedback.page import TEMPLATES
from shardwise_grading.feedback.picture import picture_address
from shardwise_grading.feedback.plain import MOST_CODE, MOST_OUTPUT, cut, plain
from shardwise_grading.gradebook.marks import CellMark, NotebookMark
from shardwise_grading.records import CellRecord, NotebookRecord, Output, Step, SubmissionRecord

ALLOWED = {
    "a", "body", "code", "details", "h1", "h2", "h3", "head", "header", "html", "img", "li", "link",
    "main", "meta", "nav", "p", "pre", "rect", "section", "span", "strong", "style", "summary",
    "svg", "title", "ul", "div",
}  # fmt: skip


def pages_of(record, marks=None):
    pages = feedback_pages(record, marks or {})
    return {name: BeautifulSoup(page, "html.parser") for name, page in pages.items()}


def page_of(*cells, marks=None, **rest):
    record = SubmissionRecord("ada", "a", "d", (NotebookRecord("n", cells, **rest),))
    return pages_of(record, marks)["n.html"]


def test_the_pages_are_where_nbgrader_looks_and_what_release_needs_is_beside_them(tmp_path):
    course = FakeCourse(tmp_path, [submission(), submission(student="bob")])
    graded = course.autograded_folder("ada", "distributed-training")
    graded.mkdir(parents=True)
    (graded / "timestamp.txt").write_text("2026-11-30 12:00:00.000000 UTC")
    (tmp_path / "private").write_text("of the instructor")
    (graded / "submission_secret.txt").symlink_to(tmp_path / "private")
    pages = write_feedback(course, "distributed-training", ["ada"])
    folder = tmp_path / "feedback" / "ada" / "distributed-training"
    assert pages == [folder / f"{n}.html" for n in ("2-stage-2-memory", "5-microbatches", "index")]
    assert all(page.stat().st_mode & 0o777 == 0o644 for page in pages)
    assert sorted(path.name for path in folder.iterdir()) == [
        "2-stage-2-memory.html",
        "5-microbatches.html",
        "index.html",
        "timestamp.txt",
    ]
    assert not (tmp_path / "feedback" / "bob").exists()


def test_the_same_points_make_the_same_bytes_and_who_is_not_graded_has_no_page(tmp_path):
    ungraded = dataclasses.replace(submission(student="bob"), digest="")
    course = FakeCourse(tmp_path, [submission(), ungraded])
    first = [path.read_bytes() for path in write_feedback(course, "distributed-training")]
    again = write_feedback(course, "distributed-training")
    assert [path.read_bytes() for path in again] == first
    assert {path.parent.parent.name for path in again} == {"ada"}


def test_a_name_that_is_not_utf_8_still_has_its_pages(tmp_path):
    student = os.fsdecode(b"caf\xe9 <b>")
    course = FakeCourse(tmp_path, [submission(student=student)])
    pages = write_feedback(course, "distributed-training")
    assert len(pages) == 3
    assert "⟨U+DCE9⟩ &lt;b&gt;" in pages[0].read_text(encoding="utf-8")


def test_points_come_from_the_gradebook_with_the_instructors_words():
    course = FakeCourse(None, [])
    page = pages_of(submission(), course.known)["2-stage-2-memory.html"]
    text = page.get_text(" ", strip=True)
    assert "6.5 of 10 points" in text
    assert "8 earned, less 1.5 for handing in late" in text
    assert "your instructor set the points to 5, +1 extra credit" in text
    assert "Have a look at hint 3." in text
    index = pages_of(submission(), course.known)["index.html"].get_text(" ", strip=True)
    assert index.count("8 earned, less 1.5 for handing in late") == 2  # in all, and of one
    anchor = page.find("a", string="stage2 bytes")["href"]
    assert CODE in page.find(id=anchor[1:]).get_text()


def test_what_nobody_graded_has_no_points_yet():
    lost = SubmissionRecord("ada", "a", "", (NotebookRecord("n", problem="cut off"),))
    cells = {"f": CellMark(None, 8, needs_manual=True), "visible": CellMark(0.0, 0)}
    marks = {"n": NotebookMark(cells)}
    for known in ({}, marks):
        for page in pages_of(lost, known).values():
            assert page.find("strong").get_text() == "not graded"


def test_without_a_gradebook_the_points_are_those_of_the_record():
    pages = pages_of(submission())
    assert "7 of 10 points" in pages["2-stage-2-memory.html"].get_text(" ", strip=True)
    assert "7 of 10 points" in pages["index.html"].get_text(" ", strip=True)


def test_each_property_has_its_word_its_points_and_its_message():
    page = pages_of(submission())["2-stage-2-memory.html"]
    lines = [
        [part.get_text() for part in line.find_all(["span", "p"])]
        for line in page.select(".properties li")
    ]
    assert len(lines) == 5
    assert lines[0] == ["ok", "one device holds all 16 bytes of each parameter", "2 of 2"]
    assert lines[2] == [
        "not yet",
        "results are not rounded to whole bytes",
        "0 of 3",
        "stage2_bytes(1, 4) returned 3, expected 11/2 = 5.5",
    ]
    assert len(page.select("rect.earned")) == 7
    assert len(page.select("rect")) == 10


def test_an_instructors_own_marks_and_what_is_not_marked_yet_are_listed():
    cells = {"essay": CellMark(None, 4, needs_manual=True), "task": CellMark(2.5, 3)}
    page = page_of(marks={"n": NotebookMark(cells)})
    text = page.get_text(" ", strip=True)
    assert "essay 4 points, not graded your instructor still has to look at this" in text
    assert "task 2.5 of 3 points" in text
    assert "2.5 of 7 points 1 part is not final" in text


def test_points_by_hand_for_earlier_work_are_said_to_be_just_that():
    mark = CellMark(4.5, 7, auto_score=7, manual_score=4.5, needs_manual=True)
    text = page_of(marks={"n": NotebookMark({"f": mark})}).get_text(" ", strip=True)
    assert "set the points to 4.5 for what you handed in before, and still has to look" in text


def test_of_a_notebook_that_cannot_be_read_the_page_tells_what_the_instructor_knows():
    lost = NotebookRecord("2-stage-2-memory", problem="it ends in the middle")
    record = SubmissionRecord("ada", "a", "d", (lost,))
    marks = {"stage2-bytes-hidden": CellMark(None, 8, needs_manual=True)}
    known = {lost.name: NotebookMark(marks)}
    pages = feedback_pages(record, known, {lost.name: LAYOUTS[lost.name]})
    text = BeautifulSoup(pages[f"{lost.name}.html"], "html.parser").get_text(" ", strip=True)
    assert "Exercise 2: what a device holds at ZeRO stage 2 Not graded" in text.replace(
        "not", "Not"
    )
    assert "stage2_bytes 8 points, not graded" in text
    assert "Your code" not in text


def test_why_a_notebook_that_ran_needs_a_human_is_for_the_instructor():
    record = dataclasses.replace(memory_notebook(), problem="KeyError: a secret in checks.py")
    for page in pages_of(SubmissionRecord("ada", "a", "d", (record,))).values():
        assert "nstructor has to look at" in page.get_text()
        assert "secret" not in page.get_text()


def test_what_was_wrong_with_files_is_said_on_the_index_and_a_fault_of_the_grader_is_not():
    lost = SubmissionRecord("ada", "a", "", problem="could not be graded: OSError: /srv/grader")
    text = pages_of(lost)["index.html"].get_text()
    assert "An instructor has to look at this" in text
    assert "/srv" not in text
    handed = dataclasses.replace(submission(), notes=("x.csv is a link",), problem="y is a pipe")
    text = pages_of(handed)["index.html"].get_text()
    assert "x.csv is a link" in text
    assert "y is a pipe" in text


def test_who_has_nothing_is_named(tmp_path):
    course = FakeCourse(tmp_path, [dataclasses.replace(submission(), digest="")])
    with pytest.raises(ValueError, match="student='eve' has not handed in"):
        write_feedback(course, "distributed-training", ["ada", "eve"])
    with pytest.raises(ValueError, match="has nothing that is graded; run autograde"):
        write_feedback(course, "distributed-training")


def test_a_reason_to_look_is_none_any_more_once_a_human_has_looked():
    lost = NotebookRecord("n", problem="it ends in the middle")
    for asked in (True, False):
        mark = CellMark(None if asked else 3, 8, needs_manual=asked)
        page = pages_of(
            SubmissionRecord("ada", "a", "d", (lost,)), {"n": NotebookMark({"f-hidden": mark})}
        )["n.html"]
        assert ("An instructor has to look" in page.get_text()) is asked
        assert "it ends in the middle" in page.get_text()


def test_nothing_of_a_hidden_cell_but_its_results_is_on_any_page():
    for page in feedback_pages(submission(), FakeCourse(None, []).known).values():
        assert SECRET.encode() not in page


def test_the_reason_to_look_and_the_notes_are_said():
    pages = pages_of(submission())
    assert "An instructor has to look at this." in pages["5-microbatches.html"].get_text()
    assert "the file ends in the middle of a cell" in pages["5-microbatches.html"].get_text()
    assert "came without its name" in pages["2-stage-2-memory.html"].get_text()
    assert "an instructor has to look at it" in pages["index.html"].get_text()


def test_hostile_text_stays_text_wherever_a_student_can_put_it():
    record = submission(HOSTILE, student="<script>alert(3)</script>\u202e")
    marks = {"2-stage-2-memory": NotebookMark({"x": CellMark(1, 1, comment=HOSTILE)})}
    for name, content in feedback_pages(record, marks).items():
        text = content.decode("utf-8")
        page = BeautifulSoup(text, "html.parser")
        assert {tag.name for tag in page.find_all(True)} <= ALLOWED
        attributes = {key for tag in page.find_all(True) for key in tag.attrs}
        assert not {key for key in attributes if key.startswith("on") or key == "style"}
        assert all(tag["src"].startswith("data:image/png;base64,") for tag in page.find_all("img"))
        assert all(re.match(r"#|[\w-]+\.html$", tag["href"]) for tag in page.find_all("a"))
        assert "http" not in re.sub(r"http-equiv", "", text)
        unseen = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c != "\n"}
        assert unseen == set(), name


def test_the_policy_lets_in_one_style_and_pictures_of_the_page_itself():
    page = pages_of(submission())["index.html"]
    policy = page.find("meta", {"http-equiv": "Content-Security-Policy"})["content"]
    digest = base64.b64encode(hashlib.sha256(page.style.string.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def test_long_code_and_output_are_cut_and_the_page_stays_small():
    flood = tuple(Output("stdout", "x" * 1_000_000) for _ in range(500))
    cell = CellRecord(Step("code", "own", "y" * 5_000_000), flood, ran=True)
    page = page_of(cell)
    assert len(str(page)) < 2 * (MOST_CODE + 12 * MOST_OUTPUT)
    assert "… 488 more outputs left out …" in page.get_text()
    assert f"… {5_000_000 - MOST_CODE:,} characters left out …" in page.get_text()


@pytest.mark.parametrize(
    ("step", "outputs", "ran", "said"),
    [
        (Step("code", "visible", "assert f()"), (), True, "All of them passed."),
        (Step("code", "visible", "x"), (Output("error", "E"),), True, "Not yet: one of them"),
        (Step("code", "own", "while True: pass"), (), False, "This cell did not run."),
        (Step("code", "solution", "", "f"), (), True, "This cell is empty."),
    ],
)
def test_what_came_of_a_cell_is_said_in_a_line(step, outputs, ran, said):
    assert said in page_of(CellRecord(step, outputs, ran=ran)).get_text()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Output("error", "…", name="SyntaxError", value="no ':'\nmore"), "SyntaxError: no ':'"),
        (Output("error", "…", name="LostError", value="ended its process"), "ended its process"),
        (Output("error", "…"), "an error"),
    ],
)
def test_an_answer_that_stopped_is_named_before_the_checks_that_missed_it(error, said):
    page = page_of(CellRecord(Step("code", "solution", "def f()", "my-f"), (error,), ran=True))
    box = page.select_one(".box")
    assert box.get_text(" ", strip=True).endswith(f"found nothing there: {said}")
    assert page.find(id=box.a["href"][1:]).h3.string == "Your solution: my f"
    assert not page_of(CellRecord(Step("code", "own", "1 / 0"), (error,), ran=True)).select(".box")


def test_only_a_whole_png_of_a_sane_size_is_shown():
    good = png()
    raw = base64.b64decode(good)
    assert picture_address(good) == f"data:image/png;base64,{good}"
    encoded = lambda content: base64.b64encode(content).decode()  # noqa: E731
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
    bomb = raw[:16] + (1 << 30).to_bytes(4, "big") * 2 + raw[24:]
    bad = [raw[:-20], bomb, svg, b"", b"\x89PNG\r\n\x1a\n", raw.replace(b"IDAT", b"IDAX")]
    assert [picture_address(encoded(content)) for content in bad] == [""] * len(bad)
    assert picture_address("é") == picture_address('"><script>') == ""
    assert picture_address("A" * 100_000_000) == ""
    assert picture_address(png(5000, 1)) == ""
    shown = page_of(CellRecord(Step("code", "own", "p"), (Output("display", "", "?"),), ran=True))
    assert "(a picture that can't be shown)" in shown.get_text()


def test_plain_text_keeps_what_people_write_and_names_the_rest():
    kept = "naïve Ψ ≤ 2, 数据\t👩‍🔬 می‌خواهم\n"
    assert plain(kept) == kept
    everything = "".join(map(chr, range(0x110000)))
    left = {unicodedata.category(c) for c in plain(everything) if c not in "\t\n\u200c\u200d"}
    assert "Cs" not in left
    assert "Cc" not in left
    assert plain("a\r\nb\x1b]0;title\x07\x1b[1;31mc\x1b[0m\x9b2J") == "a\nbc"
    assert cut("é" * 10, 10) == "é" * 10


def test_the_colours_are_those_of_the_book():
    look = json.loads((ROOT / "widgets" / "shardwise_widgets" / "look.json").read_text("utf-8"))
    style = (TEMPLATES / "style.css").read_text("utf-8")
    roles = {"page": "page", "text": "text", "muted": "muted", "rule": "rule", "link": "link",
             "ok": "optimizer", "not-yet": "gradients", "note": "parameters"}  # fmt: skip
    for number, theme in enumerate(("light", "dark")):
        for name, role in roles.items():
            assert re.findall(rf"--{name}: (#\w+);", style)[number] == look[role][theme]["fill"]
    for number, theme in enumerate(("light", "dark")):
        for name, role in (("on-ok", "optimizer"), ("on-not-yet", "gradients")):
            assert re.findall(rf"--{name}: (#\w+);", style)[number] == look[role][theme]["on"]


def test_the_title_is_the_instructors_heading_or_the_name():
    assert "Exercise 2: memory at stage 2" in pages_of(submission())["index.html"].get_text()
    own = CellRecord(Step("markdown", "own", "# Full marks for me"))
    assert page_of(own).h1.string == "n"
    assert memory_notebook().score == 7
