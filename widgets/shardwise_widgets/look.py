"""The palette, for figures: one source of colours that pages and widgets read too."""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import Any

Palette = dict[str, dict[str, Any]]


@functools.cache
def palette() -> Palette:
    """Return the roles of `look.json`; each has a "fill" and the "on" colour in light and dark."""
    text = (resources.files("shardwise_widgets") / "look.json").read_text(encoding="utf-8")
    roles: Palette = json.loads(text)
    return roles


def _roles() -> list[tuple[str, dict[str, dict[str, str]]]]:
    return list(palette().items())


@functools.cache
def _light() -> dict[str, str]:
    """Give every name a light colour of its own, so that a drawing's colours can be told apart.

    Several labels share one colour in light and not in dark. They are set apart by a unit or two of
    blue, which no eye sees, and from which `figure` knows which of them was meant.
    """
    pairs = [(role, paint["light"]["fill"], paint["dark"]["fill"]) for role, paint in _roles()]
    pairs += [(f"on-{role}", paint["light"]["on"], paint["dark"]["on"]) for role, paint in _roles()]
    names: dict[str, str] = {}
    taken: dict[str, str] = {}
    for name, light, dark in pairs:
        value = int(light[1:], 16)
        step = -1 if value & 0xFF > 0x7F else 1  # noqa: PLR2004 - away from the end of a byte
        while taken.setdefault(f"#{value:06x}", dark) != dark:
            value += step
        names[name] = f"#{value:06x}"
    return names


def color(role: str) -> str:
    """Return the light colour of a role; "on-" and a role is the colour of a label on it.

    Args:
        role: a name from `look.json`, or one with "on-" before it.

    Returns:
        "#rrggbb".

    Raises:
        ValueError: if there is no such role.

    Example:
        >>> color("gradients")
        '#a64d2f'
    """
    if role not in _light():
        raise ValueError(f"role={role!r} is unknown: choose from {', '.join(palette())}, or on-…")
    return _light()[role]


def names_by_color() -> dict[str, str]:
    """Return which name each of `color`'s values stands for; the first where names share both."""
    return {value: name for name, value in reversed(_light().items())}


def style() -> dict[str, Any]:
    """Return the matplotlib style of all figures, for `plt.style.context(look.style())`.

    Lines take the colours of the roles in order, each with a dash pattern and a marker of its own.

    Example:
        >>> style()["svg.fonttype"]
        'none'
    """
    roles = ["parameters", "gradients", "optimizer", "activations", "communication"]
    dashes = "'-', '--', ':', '-.', (0, (5, 1))"
    markers = "'o', 's', '^', 'D', 'v'"
    colors = ", ".join(f"'{color(role)}'" for role in roles)
    text, muted, rule = color("text"), color("muted"), color("rule")
    return {
        "axes.prop_cycle": f"cycler('color', [{colors}]) + cycler('linestyle', [{dashes}])"
        f" + cycler('marker', [{markers}])",
        "figure.figsize": (7.2, 3.8),
        "figure.facecolor": "none",
        "figure.constrained_layout.use": True,
        "savefig.facecolor": "none",
        "axes.facecolor": "none",
        "axes.edgecolor": muted,
        "axes.labelcolor": text,
        "axes.titlecolor": text,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": rule,
        "grid.linewidth": 0.8,
        "axes.linewidth": 1.1,
        "text.color": text,
        "xtick.color": muted,
        "ytick.color": muted,
        "xtick.labelcolor": text,
        "ytick.labelcolor": text,
        "font.family": "sans-serif",
        "font.size": 11,
        "axes.titlesize": 13,
        "lines.linewidth": 1.5,
        "lines.markersize": 5,
        "patch.edgecolor": "none",
        "legend.frameon": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "shardwise",
    }
