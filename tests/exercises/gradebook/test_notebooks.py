"""How a graded notebook is written: valid, safe to show, and with nbgrader's own idea of points."""

from __future__ import annotations

import json
from dataclasses import replace

import nbformat
import pytest
from bs4 import BeautifulSoup
from exercises.gradebook.small_course import POINTS, WRONG, hand_in
from nbconvert.filters import markdown2html
from nbgrader.utils import determine_grade, is_grade

from shardwise_grading.gradebook.notebooks import NOT_GRADED, graded_notebook
from shardwise_grading.records import CellRecord, NotebookRecord, Output, Step

ACTIVE = [
    "<script>alert(1)</script>",
    "text <img src=x onerror=alert(1)>",
    "```\n</code></pre><svg onload=alert(1)>\n````\n~~~",
    "[a](javascript:alert(1)) [b](JavaScript:alert(2))",
    "<javascript:alert(1)>",
    "&lt;script&gt; &#60;b&#62;",
    "[a][b]\n\n[b]: javascript:alert(1)",
    "$\\href{javascript:alert(1)}{x}$",
    "<!-- --><?php ?><![CDATA[ ]]>",
    "    <b>in a block</b>",
]


@pytest.fixture
def honest(small):
    """A graded notebook's record, and how to write another one of the same kind."""
    hand_in(small.root, "bob", WRONG)
    record = small.record(small.submission("bob")).notebooks[0]
    template = small.course._source("arithmetic").templates["1-twice"]
    config = small.course._settings.config
    return record, lambda changed: graded_notebook(changed, template, config)


def change(record, role, **values):
    cells = (replace(c, **values) if c.step.role == role else c for c in record.cells)
    return replace(record, cells=tuple(cells))


def cell(graded, name):
    return next(cell for cell in graded.node.cells if cell.id == name)


def show(honest, *outputs, role="solution"):
    record, write = honest
    graded = write(change(record, role, outputs=outputs))
    nbformat.validate(nbformat.reads(graded.content().decode(), as_version=4))
    return cell(graded, "twice" if role == "solution" else f"twice-{role}").outputs


class TestOutputs:
    def test_of_each_kind_have_nbformats_form(self, honest):
        outputs = show(
            honest,
            Output("stdout", "out\n"),
            Output("stderr", "err\n"),
            Output("display", "<Figure>", png="iVBORw0KGgo="),
            Output("error", "line 1\nline 2", name="ValueError", value="no"),
            Output("result", "42"),
        )
        kinds = ["stream", "stream", "display_data", "error", "execute_result"]
        assert [output.output_type for output in outputs] == kinds
        assert outputs[2].data == {"text/plain": "<Figure>", "image/png": "iVBORw0KGgo="}
        assert outputs[3].traceback == ["line 1", "line 2"]
        assert outputs[4].execution_count == 1

    def test_a_picture_that_is_none_is_dropped(self, honest):
        (output,) = show(honest, Output("display", "x", png='"><script>alert(1)</script>'))
        assert output.data == {"text/plain": "x"}

    @pytest.mark.parametrize("text", ["half \ud800 pair", "\x00", "\x1b[31mred", "😀", "\udc80"])
    def test_any_text_can_be_stored(self, honest, text):
        (output,) = show(honest, Output("stdout", text))
        assert output.text == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def test_a_thousand_lines_are_cut_as_nbgrader_cuts_them(self, honest):
        (output,) = show(honest, Output("stdout", "x\n" * 5000))
        assert output.text.endswith("... Output truncated ...")
        assert output.text.count("\n") == 999

    def test_a_number_that_a_visible_test_shows_is_no_score(self, honest):
        """nbgrader stops at a number above the points of a cell."""
        (output,) = show(honest, Output("result", "1000"), role="visible")
        assert output.output_type == "display_data"

    def test_nothing_that_a_hidden_cell_shows_counts(self, honest):
        outputs = show(honest, Output("result", "3.0"), Output("stderr", "x"), role="hidden")
        assert [output.output_type for output in outputs] == ["stream", "execute_result"]
        assert outputs[1].data["text/plain"] == "2.0"


class TestScores:
    def test_are_nbgraders_own(self, honest):
        record, write = honest
        graded = write(record)
        assert graded.scores == {"twice-visible": 0, "twice-hidden": 2}
        assert graded.scores == {
            cell.metadata.nbgrader.grade_id: determine_grade(cell)[0]
            for cell in graded.node.cells
            if is_grade(cell)
        }

    @pytest.mark.parametrize("ran", [True, False])
    def test_without_results_there_is_none(self, honest, ran):
        record, write = honest
        graded = write(change(record, "hidden", results=(), ran=ran))
        assert graded.scores["twice-hidden"] is None
        assert cell(graded, "twice-hidden").outputs[0].evalue == NOT_GRADED
        assert determine_grade(cell(graded, "twice-hidden")) == (0, 3)

    def test_of_a_notebook_without_cells_are_none(self, honest):
        _, write = honest
        graded = write(NotebookRecord("1-twice", problem="<b>no JSON</b>"))
        assert graded.scores == {"twice-visible": 0, "twice-hidden": None}
        assert "&lt;b&gt;" in graded.node.cells[0].source
        assert cell(graded, "twice").source == ""

    def test_a_problem_asks_for_a_look_at_what_has_points(self, honest):
        record, write = honest
        assert write(record).look == frozenset()
        assert write(replace(record, problem="stopped")).look == {"twice-hidden"}


class TestCells:
    def test_of_the_instructor_come_from_the_instructor(self, honest):
        record, write = honest
        forged = change(record, "hidden")
        forged = replace(
            forged,
            cells=tuple(
                replace(c, step=replace(c.step, source="report.score = 99"))
                if c.step.role in ("hidden", "visible")
                else c
                for c in forged.cells
            ),
        )
        graded = write(forged)
        assert "report.score = 99" not in graded.content().decode()
        assert cell(graded, "twice-hidden").metadata.nbgrader.points == POINTS["1-twice"]

    def test_of_the_student_keep_their_place_and_get_ids_of_their_own(self, honest):
        record, write = honest
        own = tuple(CellRecord(Step("code", "own", f"x = {n}"), ran=True) for n in range(3))
        text = CellRecord(Step("markdown", "own", "# Mine"))
        raw = CellRecord(Step("raw", "own", "raw"))
        graded = write(replace(record, cells=(*own, text, raw, *record.cells)))
        nbformat.validate(graded.node)
        assert [c.source for c in graded.node.cells[:5]] == [
            "x = 0",
            "x = 1",
            "x = 2",
            "# Mine",
            "raw",
        ]
        assert len({c.id for c in graded.node.cells}) == len(graded.node.cells)

    @pytest.mark.parametrize("kind", ["markdown", "raw"])
    @pytest.mark.parametrize("text", ACTIVE)
    def test_of_the_student_show_markup_and_do_not_obey_it(self, honest, text, kind):
        record, write = honest
        own = CellRecord(Step(kind, "own", text))
        shown = write(replace(record, cells=(*record.cells, own))).node.cells[-1]
        page = BeautifulSoup(markdown2html(shown.source), "html.parser")
        assert {tag.name for tag in page.find_all(True)} == {"pre", "code"}
        assert page.get_text().strip() == text.replace("\r", "\n").strip()

    def test_of_the_student_without_markup_are_as_they_were_written(self, honest):
        record, write = honest
        text = "# *Why*?\n\nWhere $a < b$, 3 <4 & `x`; [see](https://example.org)"
        graded = write(
            replace(record, cells=(*record.cells, CellRecord(Step("markdown", "own", text))))
        )
        assert graded.node.cells[-1].source == text

    def test_are_numbered_where_they_ran(self, honest):
        record, write = honest
        own = CellRecord(Step("code", "own", "late = 1"))
        graded = write(replace(record, cells=(*record.cells, own)))
        counts = [c.execution_count for c in graded.node.cells if c.cell_type == "code"]
        assert counts == [1, 2, 3, None]

    def test_a_cell_that_the_instructor_does_not_have_has_no_points(self, honest):
        record, write = honest
        step = Step("code", "visible", "1", "unknown")
        graded = write(replace(record, cells=(*record.cells, CellRecord(step, ran=True))))
        assert "unknown" not in graded.scores
        assert graded.node.cells[-1].metadata == {}

    def test_the_template_is_not_touched(self, honest):
        record, write = honest
        first = write(record).content()
        show(honest, Output("stdout", "more"))
        assert write(record).content() == first
        assert json.loads(first)["nbformat"] == 4
