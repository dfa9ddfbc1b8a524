"""The similarity report of real notebooks, as a table, as pages and for machines."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass

import nbformat
from bs4 import BeautifulSoup
from exercises.feedback_samples import HOSTILE
from exercises.similarity_class import a_class, released
from rich.console import Console
from support import ROOT

from shardwise_grading.similarity import compare, similar, table, write_pages
from shardwise_grading.similarity.features import Work
from shardwise_grading.submission import layouts

SOURCE = ROOT / "exercises" / "source" / "distributed-training"


@dataclass
class Handed:
    student: str
    content: dict


@dataclass
class FakeCourse:
    handed: list

    def layouts(self, _assignment):
        return layouts(SOURCE)

    def submissions(self, _assignment):
        return self.handed

    def contents(self, submission):
        return submission.content


def notebook(*cells):
    """Exercise 2 with these sources for the cell of the first answer, and cells of one's own."""
    path = SOURCE / "2-stage-2-memory.ipynb"
    read = nbformat.read(path, as_version=4)
    for cell in read.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "stage2-bytes":
            cell.source = cells[0]
    read.cells += [nbformat.v4.new_code_cell(source) for source in cells[1:]]
    return {path.stem: nbformat.writes(read).encode()}


def test_notebooks_are_read_whatever_is_in_them_and_only_copies_are_listed():
    answer = (
        "def stage2_bytes(psi, n):\n    # wieghts stay hole, rest gets splitt\n    splitt = 14\n"
    )
    answer += "    return psi * 2 + splitt * psi / n\n"
    own = "for devices_i_own in (3, 5, 17):\n    print('with', devices_i_own, 'of my GPUs at home')"
    honest = [
        "def stage2_bytes(psi, n):\n    return 2 * psi + 14 * psi / n\n",
        "def stage2_bytes(psi, n):\n    whole = 2 * psi\n    return whole + (14 * psi) / n\n",
        "def stage2_bytes(psi, n):\n    return (2 + 14 / n) * psi\n",
    ]
    handed = [Handed(f"honest {i}", notebook(code)) for i, code in enumerate(honest)]
    handed += [Handed("ann", notebook(answer, own)), Handed("bob", notebook(answer, own))]
    handed += [
        Handed("cut off", {"2-stage-2-memory": notebook(answer)["2-stage-2-memory"][:999]}),
        Handed("nothing", {}),
        Handed("hostile", notebook(HOSTILE.replace("\ud800", ""))),
    ]
    report = similar(FakeCourse(handed), "distributed-training")
    assert [(pair.first, pair.second) for pair in report.pairs] == [("ann", "bob")]
    kinds = {one.kind for one in report.pairs[0].evidence}
    assert {"name", "comment", "message"} <= kinds


def hostile_report():
    works = a_class(5)
    code = "# my very own remark about this\nmy_own_name = 3\n" + HOSTILE
    works |= {
        f"../{number}<script>\u202e\x1b[31m": {"n": Work(code, HOSTILE), "m": Work(code)}
        for number in range(2)
    }
    report = compare("<b>a\x1b[31m", works, released())
    assert len(report.pairs) == 1
    return report


def test_the_table_shows_the_pair_and_obeys_nobody():
    console = Console(file=io.StringIO(), width=120, force_terminal=True, color_system=None)
    console.print(table(hostile_report()))
    text = console.file.getvalue()
    assert "../0<script>⟨U+202E⟩" in text
    assert "comments and notes" in text
    assert "31m" not in text
    assert "\u202e" not in text


def test_the_pages_stay_in_their_folder_and_hold_no_markup_of_students(tmp_path):
    folder = tmp_path / "similar"
    folder.mkdir()
    (folder / "pair-002.html").write_text("of an earlier report")
    report = hostile_report()
    pages = write_pages(report, folder)
    assert [page.name for page in pages] == ["index.html", "pair-001.html", "similar.json"]
    assert {path.parent for path in tmp_path.rglob("*.*")} == {folder}
    assert sorted(path.name for path in folder.iterdir()) == sorted(page.name for page in pages)
    for page in pages[:2]:
        text = page.read_text("utf-8")
        read = BeautifulSoup(text, "html.parser")
        assert not read.find_all(["script", "img", "iframe", "b"])
        assert "default-src 'none'" in text
        assert "\u202e" not in text
        assert "\x1b" not in text
    marked = BeautifulSoup(pages[1].read_text("utf-8"), "html.parser").select("code.shared")
    assert "# my very own remark about this\n" in [line.get_text() for line in marked]
    assert json.loads(pages[2].read_bytes())["pairs"][0]["bits"] == report.pairs[0].bits
    before = [page.read_bytes() for page in pages]
    assert [page.read_bytes() for page in write_pages(report, folder)] == before
