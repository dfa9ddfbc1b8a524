"""The Python side of the widgets: arguments, traits, and what a cell puts into the book."""

from __future__ import annotations

import base64
import json
import re
import shutil
import xml.etree.ElementTree as ET
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
import traitlets
from IPython.core.interactiveshell import InteractiveShell
from support import ROOT
from widget_pages import KINDS

from shardwise.memory.recipes import RECIPES
from shardwise_widgets import MemoryBudget, RingAllReduce, base, ring_all_reduce

if TYPE_CHECKING:
    from shardwise_widgets.base import ShardwiseWidget

BAD_BUDGETS: list[tuple[dict[str, Any], str]] = [
    (
        {"params": 1e7},
        "params=10000000.0 must be a whole number from 100000000 to 2000000000000",
    ),
    ({"params": 7.5}, "params=7.5 must be a whole number"),
    ({"params": float("nan")}, "params=nan must be a whole number"),
    ({"params": "7e9"}, "params='7e9' must be"),
    ({"devices": 0}, "devices=0 must be a whole number from 1 to 4096"),
    ({"devices": 2.5}, "devices=2.5 must be"),
    ({"devices": True}, "devices=True must be"),
    ({"stage": 4}, "stage=4 must be one of 0, 1, 2, 3"),
    ({"stage": True}, "stage=True must be"),
    ({"gpu": 81}, "gpu=81 must be one of 24, 40, 80, 141, 192"),
    ({"recipe": "1+1"}, "recipe='1+1' must be one of 2+2+12"),
    ({"activations": -1}, "activations=-1 must be a number from 0 to 192"),
    ({"activations": 193}, "activations=193 must be a number from 0 to 192"),
    ({"activations": float("inf")}, "activations=inf must be a number"),
    ({"activations": 10**400}, "activations=1000"),
    ({"activations": 10**5000}, "activations=a value of type int must be a number from 0"),
    ({"params": Fraction(10**5000 + 1, 10**4990)}, "params=a value of type Fraction must be"),
    ({"devices": -(10**5000)}, "devices=a value of type int must be"),
    ({"stage": np.array([1, 2])}, "stage=array([1, 2]) must be one of"),
    ({"stage": torch.tensor(1)}, "stage=tensor(1) must be one of"),
    ({"gpu": torch.tensor([24, 80])}, "gpu=tensor([24, 80]) must be one of"),
    ({"recipe": ["2+2+12"]}, "recipe=['2+2+12'] must be one of"),
    ({"recipe": "x" * 20_000}, "…"),
    *(
        ({name: None}, f"{name}=None must be")
        for name in ("params", "devices", "stage", "gpu", "recipe", "activations")
    ),
]


@pytest.mark.parametrize(
    ("arguments", "message"), BAD_BUDGETS, ids=[message for _, message in BAD_BUDGETS]
)
def test_a_wrong_budget_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        MemoryBudget(**arguments)
    budget = MemoryBudget()
    (name, value) = next(iter(arguments.items()))
    before = getattr(budget, name)
    with pytest.raises((TypeError, ValueError), match=re.escape(message)) as caught:
        setattr(budget, name, value)
    assert len(str(caught.value)) < 200
    assert getattr(budget, name) == before


@pytest.mark.parametrize(
    ("devices", "step", "message"),
    [
        (1, 0, "devices=1 must be a whole number from 2 to 8"),
        (9, 0, "devices=9 must be"),
        ("4", 0, "devices='4' must be"),
        (4, 7, "step=7 must be a whole number from 0 to 6"),
        (4, -1, "step=-1 must be a whole number"),
        (4, 1.5, "step=1.5 must be a whole number"),
        (None, 0, "devices=None must be a number"),
        (4, None, "step=None must be a number"),
        (4, torch.tensor([1, 2]), "step=tensor([1, 2]) must be a number"),
    ],
)
def test_a_wrong_ring_is_named(devices: Any, step: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        RingAllReduce(devices=devices, step=step)
    ring = RingAllReduce()
    with pytest.raises((TypeError, ValueError)):
        ring.set_state({"devices": devices, "step": step})
    assert (ring.devices, ring.step, ring.steps["devices"]) == (4, 0, 4)


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        *((MemoryBudget, arguments) for arguments, _ in BAD_BUDGETS),
        (MemoryBudget, {"params": 8e9, "stage": 9}),
        (MemoryBudget, {"stage": 9, "params": 8e9}),
        (MemoryBudget, {"recipes": []}),
        (MemoryBudget, {"stage": 1, "recipes": [{"name": "x"}]}),
        (RingAllReduce, {"step": 99}),
        (RingAllReduce, {"devices": 99}),
        (RingAllReduce, {"devices": "x"}),
        (RingAllReduce, {"step": None}),
        (RingAllReduce, {"step": float("nan")}),
        (RingAllReduce, {"step": 1, "devices": "x"}),
        (RingAllReduce, {"step": 3, "devices": 2}),
        (RingAllReduce, {"devices": 2, "step": 3}),
        (RingAllReduce, {"steps": {"x": 1}}),
        (RingAllReduce, {"devices": 3, "steps": {"x": 1}}),
    ],
)
def test_a_wrong_state_of_the_front_end_leaves_everything_as_it_was(
    kind: type[ShardwiseWidget], state: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[int] = []
    real = ring_all_reduce.record_run
    monkeypatch.setattr(
        ring_all_reduce, "record_run", lambda devices: runs.append(devices) or real(devices)
    )
    widget = kind()
    before = {name: getattr(widget, name) for name in widget.shown}
    recorded, heard, sent = list(runs), [], []
    widget.observe(heard.append, list(widget.shown))
    monkeypatch.setattr(widget, "send_state", lambda key: sent.append(key))  # noqa: PLW0108 - by name
    with pytest.raises(traitlets.TraitError) as caught:
        widget.set_state(state)
    assert isinstance(caught.value, (TypeError, ValueError))
    assert any(str(caught.value).startswith(name) for name in state)
    assert {name: getattr(widget, name) for name in widget.shown} == before
    assert runs == recorded
    assert not heard
    assert sent == [list(state)], "the front end shows what was refused until it is told"
    widget.devices = 5
    assert widget.devices == 5


def test_the_recipes_are_the_librarys() -> None:
    assert [entry["name"] for entry in MemoryBudget().recipes] == list(RECIPES)
    assert MemoryBudget().recipes[1]["grads"] == RECIPES["2+4+12"].grads


def test_another_ring_is_recorded_and_the_step_stays_inside() -> None:
    ring = RingAllReduce(devices=5, step=8)
    ring.devices = 3
    assert ring.steps["devices"] == 3
    assert len(ring.steps["steps"]) == 4
    assert ring.step == 4


def test_a_front_end_can_set_both_at_once() -> None:
    ring = RingAllReduce(devices=2, step=2)
    ring.set_state({"devices": 8, "step": 14})
    assert (ring.devices, ring.step, ring.steps["devices"]) == (8, 14, 8)


@pytest.fixture
def shell() -> InteractiveShell:
    shell = InteractiveShell.instance()
    shell.display_formatter.active_types = list(shell.display_formatter.format_types)
    return shell


WIDGETS = list(KINDS.values())


@pytest.fixture(params=["SHARDWISE_BOOK", "QUARTO_EXECUTE_INFO"])
def book(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(request.param, "1")


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHARDWISE_BOOK", raising=False)
    monkeypatch.delenv("QUARTO_EXECUTE_INFO", raising=False)


def output_types(shell: InteractiveShell, thing: object) -> set[str]:
    data, _ = shell.display_formatter.format(thing)
    return set(data) - {"text/plain"}  # IPython adds it to everything


@pytest.mark.usefixtures("book")
@pytest.mark.parametrize("make", WIDGETS)
def test_in_the_book_a_cell_gives_markdown_and_nothing_else(
    shell: InteractiveShell, make: Any
) -> None:
    assert output_types(shell, make()) == {"text/markdown"}


@pytest.mark.usefixtures("notebook")
@pytest.mark.parametrize("make", WIDGETS)
def test_elsewhere_the_widget_is_live(shell: InteractiveShell, make: Any) -> None:
    assert output_types(shell, make()) == {"application/vnd.jupyter.widget-view+json"}


@pytest.mark.parametrize("make", WIDGETS)
def test_the_markdown_has_a_mount_for_pages_and_an_image_for_all_else(make: Any) -> None:
    widget: ShardwiseWidget = make()
    text = widget.book_markdown()
    page, rest = text.split('::: {.content-visible unless-format="html:js"}')
    assert page.startswith('::: {.content-visible when-format="html:js"}\n')

    raw = re.search(r"````\{=html\}\n(.*)\n````\n\n:::\n", page, re.DOTALL)
    assert raw is not None
    mount = raw[1]
    name = type(widget).__name__
    figure = f'<figure class="shardwise-widget" data-widget="{name}" aria-label="'
    assert mount.startswith(figure)
    assert "\n\n" not in mount, "a blank line would let other markdown readers end the block"
    state = re.search(r'<script type="application/json">(.*?)</script>', mount)
    assert state is not None
    traits = json.loads(state[1])
    moved = [trait for trait in widget.shown if not widget.traits()[trait].read_only]
    assert {trait: traits[trait] for trait in moved} == {t: getattr(widget, t) for t in moved}
    for part in ("<svg", "<output", "<table>", 'class="sw-prompt"'):
        assert part in mount
    assert 2 <= mount.count('class="sw-prompt"') <= 3

    image = re.search(r"!\[(.+?)\]\(data:image/svg\+xml;base64,([^)]*)\)", rest)
    assert image is not None
    assert len(image[1]) > 40
    svg = base64.b64decode(image[2]).decode()
    drawn = ET.fromstring(svg)
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    for element in drawn.iter():
        if element.tag.rpartition("}")[2] not in {"text", "tspan", "style", "title"}:
            loose = [element.text, *(child.tail for child in element)]
            assert not "".join(filter(None, loose)).strip(), "text that no text element holds"
    assert "var(--sw-" not in svg
    assert re.search("#245395|#b48f08", svg), "the palette's colours, in the light theme"
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")


def test_a_page_brings_the_runs_of_every_ring() -> None:
    state = RingAllReduce(devices=3, step=1).book_state()
    runs: Any = state["runs"]
    assert list(runs) == [str(n) for n in range(2, 9)]
    assert all(len(run["steps"]) == 2 * (int(n) - 1) for n, run in runs.items())


@pytest.mark.usefixtures("book")
@pytest.mark.parametrize("kind", WIDGETS)
def test_two_frames_of_one_page_share_no_id(kind: type[ShardwiseWidget]) -> None:
    frames = [kind().book_markdown().split("unless-format")[0] for _ in range(2)]
    own = [re.findall(r' id="([^"]+)"', frame) for frame in frames]
    assert len(set(own[0] + own[1])) == len(own[0]) + len(own[1])
    for ids, frame in zip(own, frames, strict=True):
        controls = frame.count('type="range"') + frame.count('<select class="sw-select" id')
        assert controls >= 1
        assert len(re.findall(r'<(?:input|select)[^>]* id="', frame)) == controls
        # What refers to an id stays inside its frame.
        assert set(re.findall(r'(?: for="|url\(#)([^")]+)', frame)) <= set(ids)
    groups = [set(re.findall(r'type="radio" name="([^"]+)"', frame)) for frame in frames]
    assert not groups[0] & groups[1], "radio buttons of one name would exclude one another"


def test_a_bundle_that_is_not_built_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    base.built.cache_clear()
    monkeypatch.setattr(base, "STATIC", ROOT / "no such folder")
    with pytest.raises(RuntimeError, match=r"MemoryBudget.js is not built: run `make setup`"):
        MemoryBudget()


def test_a_book_without_node_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(RuntimeError, match=r"Node\.js 20"):
        RingAllReduce().book_markdown()


def test_a_drawing_that_fails_says_why() -> None:
    with pytest.raises(RuntimeError, match=r"drawing MemoryBudget failed:\nError: recipe must be"):
        base.prerender("MemoryBudget", {**MemoryBudget().book_state(), "recipe": "nope"})
