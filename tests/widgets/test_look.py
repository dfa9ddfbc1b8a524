"""The palette does what LOOK promises: contrast, and separation under colour blindness.

Colour blindness is simulated with the matrices of Machado, Oliveira and Fernandes (2009) at
severity 100, and distance is Euclidean in CAM02-UCS (Luo, Cui and Li 2006), computed here from the
published equations of CIECAM02 for an sRGB display: no installed package has them.
"""

from __future__ import annotations

import itertools
import json
import re

import numpy as np
import pytest
from numpy.typing import NDArray
from support import ROOT

from shardwise_widgets import look
from shardwise_widgets.base import built

Array = NDArray[np.float64]
PALETTE = look.palette()
STATES = ("parameters", "gradients", "optimizer", "activations", "communication")
THEMES = ("light", "dark")

MACHADO = {
    "none": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
SRGB_TO_XYZ = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
)
CAT02 = np.array([[0.7328, 0.4296, -0.1624], [-0.7036, 1.6975, 0.0061], [0.003, 0.0136, 0.9834]])
HPE = np.array([[0.38971, 0.68898, -0.07868], [-0.22981, 1.1834, 0.04641], [0.0, 0.0, 1.0]])


def linear(color: str) -> Array:
    """The linear light of "#rrggbb", each channel from 0 to 1."""
    channels = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""
    high, low = sorted((float(SRGB_TO_XYZ[1] @ linear(c)) for c in (one, other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _adapted(rgb: Array, level: float) -> Array:
    """Cone responses after adaptation to white and the eye's compression."""
    white = SRGB_TO_XYZ @ np.ones(3) * 100
    degree = 1 - np.exp(-(64 / np.pi / 5 + 42) / 92) / 3.6
    gain = degree * white[1] / (CAT02 @ white) + 1 - degree
    cones = HPE @ np.linalg.inv(CAT02) @ (gain * (CAT02 @ (SRGB_TO_XYZ @ rgb * 100)))
    power = (level * np.abs(cones) / 100) ** 0.42
    return np.sign(cones) * 400 * power / (27.13 + power) + 0.1


def cam02_ucs(rgb: Array) -> Array:
    """J', a', b' of linear sRGB, for a display of 64 lx in an average surround (L_A = 64/π/5)."""
    light, background = 64 / np.pi / 5, 0.2
    k = 1 / (5 * light + 1)
    level = 0.2 * k**4 * 5 * light + 0.1 * (1 - k**4) ** 2 * (5 * light) ** (1 / 3)
    induction = 0.725 * background**-0.2
    red, green, blue = _adapted(rgb, level)
    a = red - 12 * green / 11 + blue / 11
    b = (red + green - 2 * blue) / 9
    hue = np.arctan2(b, a)
    achromatic = (2 * red + green + blue / 20 - 0.305) * induction
    r_w, g_w, b_w = _adapted(np.ones(3), level)
    white = (2 * r_w + g_w + b_w / 20 - 0.305) * induction
    lightness = 100 * (achromatic / white) ** (0.69 * (1.48 + background**0.5))
    eccentricity = (np.cos(hue + 2) + 3.8) / 4
    t = 50000 / 13 * induction * eccentricity * np.hypot(a, b) / (red + green + 21 * blue / 20)
    chroma = t**0.9 * np.sqrt(lightness / 100) * (1.64 - 0.29**background) ** 0.73
    m = np.log1p(0.0228 * chroma * level**0.25) / 0.0228
    j = 1.7 * lightness / (1 + 0.007 * lightness)
    return np.array([j, m * np.cos(hue), m * np.sin(hue)])


def distance(one: str, other: str, blindness: str = "none") -> float:
    matrix = MACHADO[blindness]
    seen = [cam02_ucs(np.clip(matrix @ linear(color), 0, 1)) for color in (one, other)]
    return float(np.linalg.norm(seen[0] - seen[1]))


def test_the_measure_itself() -> None:
    np.testing.assert_allclose(cam02_ucs(np.ones(3)), [100, 0, 0], atol=2.5)
    assert distance("#ff0000", "#ff0000") == 0
    # What the package colorspacious gives for two of the palette's colours.
    for color, expected in (
        ("#245395", [36.4113, -7.7041, -24.6099]),
        ("#d63ae0", [60.1395, 30.5910, -20.7052]),
    ):
        np.testing.assert_allclose(cam02_ucs(linear(color)), expected, atol=0.01)
    # The classic confusion: a red and a green that are far apart collapse for a deuteranope.
    assert distance("#b22222", "#6b6b00") > 2 * distance("#b22222", "#6b6b00", "deuteranopia")


@pytest.mark.parametrize(("theme", "least"), [("light", 14), ("dark", 18)])
@pytest.mark.parametrize("blindness", MACHADO)
def test_roles_are_told_apart(theme: str, least: float, blindness: str) -> None:
    pairs = {
        (one, other): distance(
            PALETTE[one][theme]["fill"], PALETTE[other][theme]["fill"], blindness
        )
        for one, other in itertools.combinations(STATES, 2)
    }
    worst = min(pairs, key=lambda pair: pairs[pair])
    assert pairs[worst] >= least, (worst, pairs[worst])


@pytest.mark.parametrize("theme", THEMES)
def test_contrast(theme: str) -> None:
    page = PALETTE["page"][theme]["fill"]
    for role in STATES:
        fill, on = PALETTE[role][theme]["fill"], PALETTE[role][theme]["on"]
        assert contrast(fill, page) >= 3, role
        assert contrast(fill, on) >= 4.5, role
    for role in ("text", "muted", "link"):
        assert contrast(PALETTE[role][theme]["fill"], page) >= 4.5, role
    for role, paint in PALETTE.items():
        assert contrast(paint[theme]["fill"], paint[theme]["on"]) >= 4.5, role


def test_every_role_has_a_letter_and_a_texture_of_its_own() -> None:
    coded = [PALETTE[role] for role in (*STATES, "idle")]
    for kind in ("letter", "texture"):
        assert len({paint[kind] for paint in coded}) == len(coded)


def test_every_label_is_the_page_in_reverse() -> None:
    for theme in THEMES:
        assert PALETTE["page"][theme]["on"] == PALETTE["text"][theme]["fill"]


def test_the_built_styles_hold_this_palette_and_no_other_colour() -> None:
    source = json.loads((ROOT / "widgets/shardwise_widgets/look.json").read_text())
    known = {paint[t][p] for paint in source.values() for t in THEMES for p in ("fill", "on")}

    def colors(css: str) -> set[str]:
        short = re.sub(r"#([0-9a-f])([0-9a-f])([0-9a-f])\b", r"#\1\1\2\2\3\3", css)
        return set(re.findall(r"#[0-9a-f]{6}\b", short))

    pages = built("look.css")
    assert colors(pages) == known
    assert colors(built("widgets.css")) <= known
    assert pages.startswith(":root{")
    light, dark = pages.split("body.quarto-dark")
    for role in source:
        assert f"--sw-{role}:" in light
        assert f"--sw-on-{role}:" in dark
