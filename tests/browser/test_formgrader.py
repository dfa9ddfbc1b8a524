"""nbgrader's formgrader in a browser, on a course that our grader graded."""

from __future__ import annotations

import re
import subprocess
import sys

import jupyter_servers
import nbformat
import pytest
from exercises.gradebook.small_course import (
    ASSIGNMENT,
    RIGHT,
    WRONG,
    add_cells,
    hand_in,
    write_course,
)
from playwright.sync_api import expect
from support import ROOT

from shardwise_grading.gradebook.course import Course

pytestmark = pytest.mark.long

SCRIPT = "<script>window.forged = 1</script><img src=x onerror='window.forged = 2'>"
LINK = "[full marks](javascript:window.forged=3)"


def autograde(root, *options):
    """Grade the course as its instructor does; what was printed goes into the error."""
    command = [sys.executable, "-W", "ignore", "-m", "shardwise_grading", "autograde", ASSIGNMENT]
    done = subprocess.run(
        [*command, f"--course={root}", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Two students, of whom one writes markup that acts wherever it is not escaped."""
    root = write_course(tmp_path_factory.mktemp("formgrader") / "course")
    hand_in(root, "ada", RIGHT)
    hand_in(root, "bob", WRONG)
    add_cells(
        root / "submitted" / "bob" / ASSIGNMENT / "1-twice.ipynb",
        nbformat.v4.new_markdown_cell(f"Where `a < b`, *look*: {SCRIPT} {LINK}"),
        nbformat.v4.new_raw_cell(SCRIPT),
        nbformat.v4.new_code_cell(f'print("""{SCRIPT}""")'),
        nbformat.v4.new_code_cell(f'from IPython.display import HTML\nHTML("""{SCRIPT}""")'),
    )
    autograde(root)
    return root


@pytest.fixture(scope="module")
def address(course, tmp_path_factory):
    """Where a Jupyter server with formgrader listens, and the token that lets in."""
    home = tmp_path_factory.mktemp("an instructor")
    extension = "{'nbgrader.server_extensions.formgrader': True}"
    option = f"--ServerApp.jpserver_extensions={extension}"
    with jupyter_servers.server("jupyter_server", home, course, option) as running:
        yield running


@pytest.fixture
def page(browser, address):
    """A signed-in browser that reaches nothing but the server."""
    context = browser.new_context(viewport={"width": 1280, "height": 3000})
    outside = re.compile(r"^(?!https?://127\.0\.0\.1[:/]|data:)")
    context.route(outside, lambda route: route.abort())
    page = context.new_page()
    page.goto(f"{address[0]}formgrader/?token={address[1]}")
    yield page
    context.close()


def open_list(page, address, *place):
    """Open a table of formgrader's, and wait for its lines."""
    page.goto("/".join([f"{address[0]}formgrader/gradebook", ASSIGNMENT, *place]))
    expect(page.locator("#main-table tr")).to_have_count(2)
    return page.locator("#main-table tr")


def line_of(rows, student):
    """A student's line; nbgrader sorts them by ids that it draws by chance, and hides the names."""
    return rows.filter(has=rows.page.locator("a.name-shown", has_text=student))


def open_submission(page, address, student):
    link = line_of(open_list(page, address, "1-twice"), student).locator("a.name-hidden")
    number = link.inner_text().removeprefix("Submission #")
    link.click()
    expect(page.get_by_text(f"Submission {number} / 2")).to_be_visible()
    expect(page.locator("#twice-hidden")).to_have_attribute("placeholder", re.compile(r"\d"))


def enter(page, field, value):
    """Fill a field and leave it, which saves; wait until that is done."""
    with page.expect_response(lambda answer: answer.request.method == "PUT") as saved:
        page.locator(field).fill(value)
        page.locator(field).blur()
    assert saved.value.ok


def test_the_tables_show_the_points(page, address):
    cells = [row.locator("td").all_inner_texts() for row in open_list(page, address).all()]
    assert [cell[:2] for cell in cells] == [["1-twice", "2.5 / 3"], ["2-half", "1 / 2"]]
    rows = open_list(page, address, "1-twice")
    cells = [line_of(rows, student).locator("td").all() for student in ("ada", "bob")]
    assert [cell[2].inner_text() for cell in cells] == ["3 / 3", "2 / 3"]
    failed = [cell[7].locator(".glyphicon-ok").count() for cell in cells]
    assert failed == [0, 1]


def test_what_a_human_enters_survives_a_regrade(page, address, course):
    open_submission(page, address, "bob")
    expect(page.locator("pre", has_text="Hidden checks: 2 of 3 points")).to_be_visible()
    expect(page.locator("#twice-hidden")).to_have_attribute("placeholder", "2")
    enter(page, "#twice-hidden", "1.5")
    enter(page, "#twice-hidden_extra_credit", "0.5")
    enter(page, "#twice-comment", "Have a look at **negative** numbers.")
    autograde(course, "--force")
    open_submission(page, address, "bob")
    expect(page.locator("#twice-hidden")).to_have_value("1.5")
    expect(page.locator("#twice-hidden_extra_credit")).to_have_value("0.5")
    expect(page.locator("#twice-comment")).to_have_value("Have a look at **negative** numbers.")
    expect(page.locator(".mark-graded:visible")).to_have_count(0)  # nobody is asked again
    with Course.open(course) as graded:
        mark = graded.marks("bob", ASSIGNMENT)["1-twice"].cells["twice-hidden"]
    assert (mark.auto_score, mark.manual_score, mark.score) == (2, 1.5, 2)


def test_nothing_that_a_student_wrote_acts(page, address):
    open_submission(page, address, "bob")
    assert page.locator("#notebook").get_by_text("onerror=").count() >= 5
    assert page.locator("#notebook a[href*=script]").count() == 0
    assert page.locator("#notebook img").count() == 0
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.forged") is None
