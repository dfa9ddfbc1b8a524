"""`%check` in a real JupyterLab and in Notebook 7: the answer, the warning, light and dark."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from typing import TYPE_CHECKING

import pytest
from jupyter_servers import jupyterlab, open_notebook
from playwright.sync_api import Browser, Locator, Page, expect
from student_notebook import RIGHT, code, write
from support import wait_until
from visiting import AXE

if TYPE_CHECKING:
    pass

LOAD = "%load_ext shardwise_grading"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    """JupyterLab with every folder of its own; its address and the folder of the notebook."""
    home = tmp_path_factory.mktemp("a student")
    (home / "root").mkdir()
    path = write(home / "root", RIGHT, table="partition = {}", own=LOAD)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["cells"].append(code("%check") | {"id": "last"})
    path.write_text(json.dumps(content), encoding="utf-8")
    runtime = tempfile.mkdtemp(prefix="sw")  # sockets need a short path
    try:
        with jupyterlab(home, XDG_RUNTIME_DIR=runtime) as (address, token):
            yield f"{address}lab/tree/2-stage-2-memory.ipynb?token={token}"
    finally:
        shutil.rmtree(runtime)  # which ends the warm process


def open_checked(browser: Browser, address: str) -> Page:
    """Open the notebook and run it as far as the check that fails, and then that check."""
    page = open_notebook(browser, address, height=6000)
    check(page)
    return page


def check(page: Page) -> None:
    """Run the last cell alone, as after a check that failed."""
    page.evaluate(
        """async () => {
          const { content } = jupyterapp.shell.currentWidget;
          content.activeCellIndex = content.widgets.length - 1;
          await jupyterapp.commands.execute('notebook:run-cell');
        }"""
    )


@pytest.fixture(scope="module")
def lab(browser: Browser, server: str):
    page = open_checked(browser, server)
    yield page
    page.context.close()


def test_answers_under_the_cell_in_the_words_of_the_checks(lab: Page) -> None:
    answer = lab.locator(".sw-check")
    expect(answer).to_be_visible(timeout=90_000)
    expect(answer).to_contain_text(re.compile(r"2-stage-2-memory.ipynb, saved at \d\d:\d\d:\d\d"))
    expect(answer.locator(".sw-name")).to_have_text(["passedstage2_bytes", "failedpartition"])
    expect(answer).to_contain_text("stage2_bytes passes the checks that you can see.")
    expect(answer).to_contain_text('weights: write "replicated" or "partitioned"')
    expect(answer).to_contain_text("1 of 2 passed.")
    expect(answer).not_to_contain_text("Save first")


LINES = """answer => [...answer.querySelectorAll('p')].map(line => {
  const range = document.createRange();
  range.selectNodeContents(line);
  const { left, right, top, bottom } = range.getBoundingClientRect();
  return [left, right, top, bottom];
})"""


def is_laid_out(answer: Locator) -> bool:
    """Whether each paragraph is under the one before it, and inside of the answer."""
    box = answer.bounding_box()
    lines = answer.evaluate(LINES)
    tops_and_bottoms = [edge for line in lines for edge in line[2:]]
    return (
        len(lines) == 6
        and tops_and_bottoms == sorted(tops_and_bottoms)
        and min(line[0] for line in lines) >= box["x"] - 1
        and max(line[1] for line in lines) <= box["x"] + box["width"] + 1
        and len({round(line[0]) for line in lines}) <= 2  # the marks are a little to the right
    )


@pytest.mark.parametrize("width", [1280, 700])
def test_lays_no_words_over_others(lab: Page, width: int) -> None:
    """Whatever the frontend's own styles are."""
    answer = lab.locator(".sw-check")
    expect(answer).to_be_visible(timeout=90_000)
    lab.set_viewport_size({"width": width, "height": 6000})
    try:
        wait_until(lambda: is_laid_out(answer))
    finally:
        lab.set_viewport_size({"width": 1280, "height": 6000})


def test_answers_again_without_noise(lab: Page) -> None:
    """Loaded once, asked as often as one likes."""
    expect(lab.locator(".sw-check")).to_be_visible(timeout=90_000)
    before = lab.locator(".sw-check p").first.inner_text()
    check(lab)
    expect(lab.locator(".sw-check")).to_have_count(1)
    last = lab.locator(".jp-CodeCell").last.locator(".jp-OutputArea-child")
    expect(last).to_have_count(1)
    assert before.startswith("2-stage-2-memory.ipynb")


@pytest.mark.parametrize("theme", ["Dark", "Light"])
def test_can_be_read_in_both_themes(lab: Page, theme: str) -> None:
    expect(lab.locator(".sw-check")).to_be_visible(timeout=90_000)
    change = "theme => jupyterapp.commands.execute('apputils:change-theme', { theme })"
    lab.evaluate(change, f"JupyterLab {theme}")
    dark = "false" if theme == "Dark" else "true"
    expect(lab.locator("body")).to_have_attribute("data-jp-theme-light", dark)
    mark = lab.locator(".sw-check .sw-passed")
    fill = {"Dark": "rgb(41, 127, 91)", "Light": "rgb(49, 151, 127)"}[theme]
    expect(mark).to_have_css("background-color", fill)
    if not lab.evaluate("'axe' in window"):
        lab.evaluate(AXE.read_text(encoding="utf-8"))
    found = lab.evaluate("axe.run('.sw-check', { preload: false })")
    assert [(v["id"], [node["html"] for node in v["nodes"]]) for v in found["violations"]] == []


def test_says_when_what_ran_is_not_what_is_saved(lab: Page) -> None:
    """An answer that was changed and run, and a check, without a save between them."""
    lab.evaluate(
        """async () => {
          const { content } = jupyterapp.shell.currentWidget;
          const cells = [...content.widgets];
          const answer = cells.find(c => c.model.sharedModel.source.startsWith('partition ='));
          answer.model.sharedModel.setSource('partition = {"weights": "replicated"}');
          await jupyterapp.commands.execute('notebook:run-all-cells');
        }"""
    )
    check(lab)
    answer = lab.locator(".sw-check")
    warning = "Save first: the partition that you ran last is not the one in the file."
    expect(answer).to_contain_text(warning, timeout=90_000)
    lab.evaluate("jupyterapp.commands.execute('docmanager:save')")
    check(lab)
    expect(answer).to_contain_text('gradients: write "replicated"', timeout=90_000)
    expect(answer).not_to_contain_text("Save first")


def test_answers_in_notebook_7(browser: Browser, server: str) -> None:
    page = open_checked(browser, server.replace("lab/tree", "notebooks"))
    expect(page.locator(".sw-check").last).to_contain_text("of 2 passed.", timeout=90_000)
    wait_until(lambda: is_laid_out(page.locator(".sw-check").last))
    page.context.close()
