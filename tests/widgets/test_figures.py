"""Figures: one SVG for the light and the dark page."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from shardwise_widgets import figure, look

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure as MatplotlibFigure


@pytest.fixture(autouse=True)
def backend() -> Iterator[None]:
    mpl.use("agg")
    yield
    plt.close("all")


def drawn(color: str = "gradients") -> MatplotlibFigure:
    with plt.style.context(look.style()):
        fig, axes = plt.subplots()
        axes.plot([1, 10, 100], [1, 2, 3], label="a line")
        axes.bar([2], [2], color=look.color(color))
        axes.text(2, 1, "label", color=look.color(f"on-{color}"))
        axes.set(xscale="log", xlabel="devices", ylabel="GB")
        axes.legend()
    return fig


def test_colours_become_the_pages() -> None:
    svg = figure(drawn("optimizer"), alt="A line").themed()
    # "idle" is also what "rule" becomes: they are one colour in both themes.
    for name in ("parameters", "optimizer", "on-optimizer", "muted", "idle"):
        assert f"var(--sw-{name}, {look.color(name)})" in svg, name
    bare = re.sub(r"var\(--sw-[a-z-]+, #[0-9a-f]{6}\)", "", svg)
    assert not re.findall(r"#[0-9a-f]{6}\b", bare)
    assert "fill: currentColor" in svg


def test_labels_that_are_alike_in_light_and_not_in_dark_are_told_apart() -> None:
    assert (
        look.palette()["optimizer"]["light"]["on"] == look.palette()["activations"]["light"]["on"]
    )
    assert look.color("on-optimizer") != look.color("on-activations")
    names = look.names_by_color()
    for role, paint in look.palette().items():
        for name, part in ((role, "fill"), (f"on-{role}", "on")):
            meant = names[look.color(name)]
            other = look.palette()[meant.removeprefix("on-")]
            other_part = "on" if meant.startswith("on-") else "fill"
            assert other["dark"][other_part] == paint["dark"][part], name
            drift = int(look.color(name)[1:], 16) - int(paint["light"][part][1:], 16)
            assert abs(drift) <= 3, name


def test_the_element_is_named_selectable_and_leaks_nothing() -> None:
    svg = figure(drawn(), alt='Bytes "on" a device <GB>').themed()
    root = ET.fromstring(svg)
    assert root.get("role") == "img"
    assert root.get("aria-label") == 'Bytes "on" a device <GB>'
    texts = {
        "".join(text.itertext()).strip() for text in root.iter("{http://www.w3.org/2000/svg}text")
    }
    assert {"devices", "GB", "label", "a line"} <= texts
    assert "<style" not in svg
    assert "DejaVu" not in svg
    assert "\n\n" not in svg


def test_references_hold_inside_a_figure_and_never_across() -> None:
    def ids(svg: str) -> set[str]:
        found = re.findall(r' id="([^"]+)"', svg)
        assert len(found) == len(set(found))
        assert set(re.findall(r'(?:href="|url\()#([^")]+)', svg)) == set(found)
        return set(found)

    first = ids(figure(drawn("gradients"), alt="A").themed())
    second = ids(figure(drawn("optimizer"), alt="A").themed())
    assert first
    assert not first & second


def test_the_same_figure_is_the_same_text() -> None:
    assert figure(drawn(), alt="A").themed() == figure(drawn(), alt="A").themed()


def test_output_in_the_book_and_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = figure(drawn(), alt="A line and a bar")
    monkeypatch.delenv("QUARTO_EXECUTE_INFO", raising=False)
    monkeypatch.delenv("SHARDWISE_BOOK", raising=False)
    assert set(shown._repr_mimebundle_()) == {"image/svg+xml"}
    monkeypatch.setenv("SHARDWISE_BOOK", "1")
    bundle = shown._repr_mimebundle_()
    assert set(bundle) == {"text/markdown"}
    page, rest = bundle["text/markdown"].split('unless-format="html:js"}')
    assert 'aria-label="A line and a bar"' in page
    assert "![A line and a bar](data:image/svg+xml;base64," in rest


def test_a_colour_of_ones_own_is_refused() -> None:
    fig, axes = plt.subplots()
    axes.plot([1, 2], [1, 2], color="#1f77b4")
    with pytest.raises(ValueError, match=r"outside the palette \(.*#1f77b4"):
        figure(fig, alt="A line")


def test_a_figure_without_words_is_refused() -> None:
    with pytest.raises(ValueError, match="alt=' ' must say"):
        figure(drawn(), alt=" ")


def test_a_role_that_does_not_exist_is_named() -> None:
    with pytest.raises(ValueError, match="role='blue' is unknown: choose from parameters"):
        look.color("blue")
