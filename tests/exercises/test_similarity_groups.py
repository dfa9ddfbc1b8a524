"""What most of a class copied is found, and what anybody would write is not taken for a copy."""

from __future__ import annotations

import io
import time

import pytest
from bs4 import BeautifulSoup
from exercises.feedback_samples import HOSTILE
from exercises.similarity_class import EXERCISES, a_class, copy_of, obvious, released, with_group
from rich.console import Console

from shardwise_grading.similarity import compare, table, to_json, write_pages
from shardwise_grading.similarity.features import Work

# As they are, so that the words of the author or the names are left. Who renames everything and
# writes all comments and messages anew leaves only the form, and that of many is a usual one.
FOUND = ["as it is", "reformatted", "renamed", "comments changed", "reordered", "padded"]
SIZES = [(9, 3), (9, 8), (60, 3), (60, 30), (60, 54)]


def groups(works):
    return [set(group.students) for group in compare("a", works, released()).groups]


def shown(report):
    console = Console(file=io.StringIO(), width=160)
    console.print(table(report))
    return " ".join(console.file.getvalue().split())


@pytest.mark.parametrize("way", FOUND)
@pytest.mark.parametrize(("size", "members"), SIZES)
def test_who_holds_the_same_text_is_one_group_however_many_they_are(size, members, way):
    works, planted = with_group(size, members, way)
    assert groups(works) == [planted]


@pytest.mark.parametrize("way", ["as it is", "renamed"])
@pytest.mark.parametrize("members", [5, 120, 216])
def test_so_it_is_in_a_large_class(members, way):
    works, planted = with_group(240, members, way)
    assert groups(works) == [planted]


@pytest.mark.parametrize("members", [6, 30, 54])
def test_half_of_the_exercises_are_enough(members):
    works, planted = with_group(60, members, "as it is", tuple(EXERCISES)[2:])
    assert groups(works) == [planted]


@pytest.mark.parametrize("size", [2, 3, 9, 60, 240])
def test_independent_authors_are_no_group(size):
    assert groups(a_class(size)) == []


@pytest.mark.parametrize("size", [9, 60, 240])
@pytest.mark.parametrize("share", [0.3, 0.6, 1])
def test_the_one_obvious_form_makes_no_group(size, share):
    works = a_class(size)
    plain = list(works)[: round(share * size)]
    report = compare("a", works | dict.fromkeys(plain, obvious()), released())
    assert report.groups == ()
    if len(plain) > size / 2:
        assert not [pair for pair in report.pairs if {pair.first, pair.second} <= set(plain)]


def test_a_whole_class_can_be_one_group():
    code = Work("def f(x):\n    # devide the sumed up thing by how menny\n    return x * 2 + x\n")
    works = {f"s{n}": dict.fromkeys("abcde", code) for n in range(12)}
    assert [set(one.students) for one in compare("a", works, {}).groups] == [set(works)]


def test_who_copied_a_part_from_a_group_is_a_pair_with_it():
    works, planted = with_group(60, 40, "as it is")
    some = copy_of(
        works["student-0000"], "renamed", 5, ("3-gradient-accumulation", "4-row-parallel")
    )
    report = compare("a", works | {"student-0050": some}, released())
    assert groups(works) == [planted]
    pairs = [{pair.first, pair.second} for pair in report.pairs]
    assert [pair for pair in pairs if pair & planted] == [{"student-0000", "student-0050"}]
    assert "student-0000 (of group 1)" in shown(report)
    assert "which nobody outside the group has" in shown(report)


def test_the_lines_are_counted_and_quoted(tmp_path):
    works, planted = with_group(9, 6, "as it is")
    report = compare("a", works, released())
    notebook = report.groups[0].shared[0].notebook
    own = [line for line in works["student-0000"][notebook].code.split("\n")[1:] if line.strip()]
    said = f"{notebook}: 6 of 9 submissions have these {len(own)} lines letter for letter"
    assert said in shown(report).replace(" │ │ │ ", " ")
    pages = write_pages(report, tmp_path)
    assert [page.name for page in pages[:2]] == ["index.html", "group-001.html"]
    assert said in BeautifulSoup(pages[0].read_text("utf-8"), "html.parser").get_text()
    page = BeautifulSoup(pages[1].read_text("utf-8"), "html.parser")
    marked = [line.get_text().rstrip("\n") for line in page.select("code.shared")]
    assert [line for line in marked if line in own][: len(own)] == own
    assert set(to_json(report)["groups"][0]["students"]) == planted


def test_who_was_compared_and_who_was_left_out_is_said(tmp_path):
    works = a_class(3) | {"untouched": released(), "unreadable": {}}
    report = compare("a", works, released())
    assert (report.students, len(report.left_out)) == (3, 2)
    text = shown(report)
    assert "3 of 5 submissions were compared." in text
    assert "Left out: 1, where nothing was written beyond the release." in text
    assert "Left out: 1, where no notebook can be read." in text
    assert "No pair and no group stands out." in text
    assert "bits" not in text
    assert "3 of 5 submissions were compared." in write_pages(report, tmp_path)[0].read_text(
        "utf-8"
    )
    assert set(to_json(report)["left_out"]) == {"untouched", "unreadable"}


def test_copies_of_all_make_no_work_that_grows_with_their_square():
    works, _ = with_group(240, 216, "padded")
    start = time.process_time()
    compare("a", works, released())
    assert time.process_time() - start < 4


def test_no_text_of_a_group_acts_on_the_page_or_the_terminal(tmp_path):
    code = "# my very own remark about this\nmy_own_name = 3\n" + HOSTILE
    works = a_class(5) | {
        f"../{n}<script>\u202e\x1b[31m": {"n": Work(code, HOSTILE), "m": Work(code)}
        for n in range(3)
    }
    report = compare("<b>a", works, released())
    assert [len(group.students) for group in report.groups] == [3]
    for page in write_pages(report, tmp_path)[:2]:
        text = page.read_text("utf-8")
        assert not BeautifulSoup(text, "html.parser").find_all(["script", "img", "iframe", "b"])
        assert not {"\u202e", "\x1b"} & set(text)
    assert not {"\u202e", "\x1b"} & set(shown(report))
