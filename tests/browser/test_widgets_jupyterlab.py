"""Widgets in a real JupyterLab, one in Notebook 7: controls move traits, and traits move views."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from jupyter_servers import jupyterlab, open_notebook
from playwright.sync_api import Browser, Page, expect
from playwright.sync_api import TimeoutError as TookTooLong
from visiting import AXE
from widget_pages import KINDS

from shardwise_widgets.base import prerender

if TYPE_CHECKING:
    from collections.abc import Iterator

CELLS = (
    (
        "from shardwise_widgets import MemoryBudget, RingAllReduce\n"
        "budget = MemoryBudget(params=70e9, devices=64, stage=3)\nbudget"
    ),
    "ring = RingAllReduce(devices=4, step=1)\nring",
    "ring",
    # Ordinary ipywidgets: in boxes, linked on both sides, and by name within a kernel.
    (
        "import torch\nfrom ipywidgets import HBox, IntSlider, jslink, link\n"
        "own = RingAllReduce.from_tensors([torch.arange(6.0), torch.ones(6)], step=1)\n"
        "slider, other = IntSlider(max=2), IntSlider(max=2)\n"
        "link((own, 'step'), (slider, 'value'))\njslink((own, 'step'), (other, 'value'))\n"
        "HBox([own, slider, other])"
    ),
    *(
        f"from shardwise_widgets import {name}\n{name.lower()} = {name}()\n{name.lower()}"
        for name in KINDS
        if name not in ("MemoryBudget", "RingAllReduce")
    ),
)
ONE = ["from shardwise_widgets import RingAllReduce\nring = RingAllReduce(devices=4, step=1)\nring"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start JupyterLab with every folder of its own; its address, token included."""
    home = tmp_path_factory.mktemp("jupyter")
    (home / "root").mkdir()
    for name, cells in (("widgets", CELLS), ("one", ONE)):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
        nbformat.write(notebook, home / "root" / f"{name}.ipynb")
    quiet = home / "settings" / "@jupyterlab" / "apputils-extension"
    quiet.mkdir(parents=True)
    (quiet / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
    with jupyterlab(home) as (address, token):
        yield f"{address}lab/tree/widgets.ipynb?token={token}"


@pytest.fixture(scope="module")
def lab(browser: Browser, server: str) -> Iterator[Page]:
    """One JupyterLab for all tests, with the notebook run and nothing reached but itself."""
    page = open_notebook(browser, server, height=14000)
    expect(page.get_by_role("group", name="Ring all-reduce", exact=True)).to_have_count(
        3, timeout=60_000
    )
    expect(page.locator(".sw-root[data-theme]")).to_have_count(len(KINDS) + 2, timeout=60_000)
    yield page
    page.context.close()


PRINTED = """async (code) => {
  const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  const future = kernel.requestExecute({ code });
  let printed = '';
  future.onIOPub = ({ header, content }) => {
    if (header.msg_type === 'stream') printed += content.text;
    if (header.msg_type === 'error') printed += content.ename + ': ' + content.evalue;
  };
  await future.done;
  return printed.trim();
}"""


def python(page: Page, code: str) -> str:
    """Run code in the notebook's kernel and return what it printed."""
    return str(page.evaluate(PRINTED, code))


def until(page: Page, code: str, expected: str) -> None:
    """Wait until the kernel prints what is expected: a trait travels on its own."""
    arrived = f"async ([code, expected]) => await ({PRINTED})(code) === expected"
    with suppress(TookTooLong):
        page.wait_for_function(arrived, arg=[code, expected], timeout=10_000)
    assert python(page, code) == expected


def budget(page: Page) -> Any:
    return page.locator(".sw-root.sw-memory")


def ring(page: Page, place: int = 0) -> Any:
    return page.locator(".sw-root.sw-ring").nth(place)


def active_cell(page: Page) -> int:
    return int(page.evaluate("jupyterapp.shell.currentWidget.content.activeCellIndex"))


def test_both_are_drawn_and_keep_to_the_notebooks_theme(lab: Page) -> None:
    for root in lab.locator(".sw-root").all():
        expect(root.locator("svg.sw-svg")).to_be_visible()
        expect(root).to_have_attribute("data-theme", "light")
    expect(budget(lab).locator("output")).to_contain_text("ZeRO stage 3 on 64\u00a0devices")
    ids = lab.evaluate("[...document.querySelectorAll('.sw-root [id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids)) > 10, "a label must lead to the control of its own view"


def test_a_control_moves_the_trait(lab: Page) -> None:
    budget(lab).get_by_role("slider", name="Devices").press("ArrowLeft")
    until(lab, "print(budget.devices)", "60")
    budget(lab).get_by_role("radio", name="3").press("ArrowLeft")
    until(lab, "print(budget.stage)", "2")
    budget(lab).get_by_role("combobox", name="GPU memory").press("End")
    until(lab, "print(budget.gpu)", "192")
    budget(lab).get_by_role("slider", name="Parameters").press("Home")
    until(lab, "print(budget.params)", str(10**8))
    budget(lab).get_by_role("combobox", name="Bytes per parameter").press("End")
    until(lab, "print(budget.recipe)", "2+2+4")
    budget(lab).get_by_role("slider", name="Activations").press("ArrowRight")
    until(lab, "print(budget.activations)", "1.0")


def test_a_trait_moves_the_view(lab: Page) -> None:
    assert python(lab, "budget.params, budget.stage, budget.devices = 405e9, 1, 1000") == ""
    said = budget(lab).locator("output")
    expect(said).to_contain_text("405\u00a0B parameters at ZeRO stage 1 on 1,000\u00a0devices")
    expect(budget(lab).get_by_role("radio", name="1")).to_be_checked()
    assert python(lab, "budget.stage = 4").startswith("TraitValueError: stage=4 must be")
    expect(said).to_contain_text("ZeRO stage 1")


def test_two_views_stay_in_step_and_keep_their_keys(lab: Page) -> None:
    python(lab, "ring.devices, ring.step = 4, 1")
    expect(ring(lab, 0).locator("output")).to_contain_text("Step 1 of 6")
    slider = ring(lab, 0).get_by_role("slider", name="Step")
    slider.focus()
    for key, step in (("ArrowUp", 2), ("ArrowRight", 3), ("End", 6), ("ArrowDown", 5), ("Home", 0)):
        lab.keyboard.press(key)
        for place in (0, 1):
            expect(ring(lab, place).get_by_role("slider", name="Step")).to_have_value(str(step))
    assert active_cell(lab) == 1, "the notebook must not take the arrow keys"
    ring(lab, 1).get_by_role("button", name="Next step").focus()
    for key, step in (("Enter", 1), ("ArrowDown", 0), ("ArrowUp", 1), ("End", 6)):
        lab.keyboard.press(key)
        expect(ring(lab, 0).get_by_role("slider", name="Step")).to_have_value(str(step))
    until(lab, "print(ring.step)", "6")
    assert active_cell(lab) == 2
    expect(ring(lab, 0).get_by_role("button", name="Copy code")).to_be_visible()


def test_another_ring_is_recorded_by_the_kernel(lab: Page) -> None:
    ring(lab).get_by_role("slider", name="Devices").press("End")
    until(lab, "print(ring.devices, ring.steps['devices'], len(ring.steps['steps']))", "8 8 14")
    for place in (0, 1):
        expect(ring(lab, place).locator("output")).to_contain_text("8 devices in a ring")
    ring(lab).get_by_role("slider", name="Step").press("End")
    expect(ring(lab, 1).locator("output")).to_contain_text("Every device holds the whole sum.")
    python(lab, "ring.devices = 3")
    expect(ring(lab).locator("output")).to_contain_text("Step 4 of 4")


OTHERS = [name for name in KINDS if name not in ("MemoryBudget", "RingAllReduce")]


@pytest.mark.parametrize("name", OTHERS)
def test_every_widget_moves_its_traits_and_follows_them(lab: Page, name: str) -> None:
    kind, variable = KINDS[name], name.lower()
    root = lab.locator(f".sw-root:has(.sw-controls[aria-label='{title_of(name)}'])")
    control = root.locator(".sw-controls :is(input[type=range], select:not(.sw-speed))").first
    trait = str(control.get_attribute("data-name"))
    before = python(lab, f"print({variable}.{trait})")
    assert before == str(getattr(kind(), trait))
    at = control.input_value()
    control.press("Home" if at != "0" else "End")
    expect(control).not_to_have_value(at)
    changed = f"print({variable}.{trait} != {before!r} and str({variable}.{trait}) != {before!r})"
    until(lab, changed, "True")
    python(lab, f"{variable}.{trait} = type({variable}.{trait})({before!r})")
    expect(control).to_have_value(at)
    cell = active_cell(lab)
    for key in ("ArrowDown", "ArrowUp"):
        control.press(key)
    assert active_cell(lab) == cell, "the notebook must not take the arrow keys"
    root.locator('[data-key][tabindex="0"]').focus()
    for key in ("End", "ArrowLeft", "ArrowUp", "Home", "ArrowDown"):
        lab.keyboard.press(key)
        assert lab.evaluate("document.activeElement.matches('[data-key]')")
    assert active_cell(lab) == cell
    assert python(lab, f"{variable}.{trait} = None").startswith(
        ("TraitValueError", "TraitTypeError")
    )


def title_of(name: str) -> str:
    """What the group of a widget's controls is called."""
    return str(prerender(name, KINDS[name]().book_state())["title"])


def test_own_tensors_in_a_box_linked_both_ways(lab: Page) -> None:
    own = ring(lab, 2)
    expect(own.get_by_role("slider", name="Devices")).to_have_count(0)
    expect(own.locator("output")).to_contain_text("Step 1 of 2")
    python(lab, "slider.value = 2")
    expect(own.locator("output")).to_contain_text("Step 2 of 2")
    own.get_by_role("slider", name="Step").press("Home")
    until(lab, "print(own.step, slider.value, other.value)", "0 0 0")
    python(lab, "seen = []; own.observe(lambda change: seen.append(change.new), 'step')")
    own.get_by_role("button", name="Next step").press("Enter")
    until(lab, "print(seen)", "[1]")


def test_widgets_of_a_kernel_share_what_their_links_name(lab: Page) -> None:
    code = """
from IPython.display import display
left, right = RingAllReduce(devices=3, link="devices"), MemoryBudget(devices=5, link="devices")
print(left.devices)
"""
    assert python(lab, code) == "5"
    assert python(lab, "right.devices = 100; print(left.devices, '|', left.note)").startswith(
        "5 | MemoryBudget has devices 100, which isn't shown here: devices=100 must be"
    )
    assert python(lab, "left.devices = 4; print(right.devices, repr(left.note))") == "4 ''"


@pytest.mark.parametrize("theme", ["Dark", "Light"])
def test_the_theme_is_followed_and_axe_finds_nothing(lab: Page, theme: str) -> None:
    lab.evaluate(
        "(theme) => jupyterapp.commands.execute('apputils:change-theme', { theme })",
        f"JupyterLab {theme}",
    )
    for root in lab.locator(".sw-root").all():
        expect(root).to_have_attribute("data-theme", theme.lower())
    if not lab.evaluate("'axe' in window"):
        lab.evaluate(AXE.read_text(encoding="utf-8"))
    found = lab.evaluate("axe.run('.sw-root', { preload: false })")
    assert [
        (violation["id"], [node["html"][:120] for node in violation["nodes"]])
        for violation in found["violations"]
    ] == []


def test_running_a_cell_again_takes_the_old_view_away(lab: Page) -> None:
    for _ in range(3):
        lab.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
    expect(lab.locator(".sw-root.sw-ring")).to_have_count(3)
    expect(budget(lab)).to_have_count(1)
    expect(ring(lab).locator("output")).to_contain_text("Step 1 of 6")


def test_one_in_notebook_7(browser: Browser, server: str) -> None:
    url = server.replace("lab/tree/widgets.ipynb", "notebooks/one.ipynb")
    page = open_notebook(browser, url, height=3000)
    root = page.locator(".sw-root.sw-ring")
    expect(root.locator("output")).to_contain_text("Step 1 of 6", timeout=60_000)
    slider = root.get_by_role("slider", name="Step")
    slider.focus()
    for key, step in (("ArrowUp", 2), ("End", 6), ("ArrowDown", 5), ("Home", 0)):
        page.keyboard.press(key)
        expect(slider).to_have_value(str(step))
    until(page, "print(ring.step)", "0")
    python(page, "ring.devices = 2")
    expect(root.locator("output")).to_contain_text("2 devices in a ring")
    page.context.close()
