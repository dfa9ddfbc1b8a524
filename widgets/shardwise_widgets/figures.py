"""Figures of matplotlib as SVG that follows the page from light to dark."""

from __future__ import annotations

import hashlib
import io
import re
from typing import TYPE_CHECKING

from shardwise_widgets import look
from shardwise_widgets.book import in_book, labelled, two_branches

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

_COLOR = re.compile(r"#[0-9a-f]{6}\b")
_ROOT_STYLE = "stroke-linejoin: round; stroke-linecap: butt; max-width: 100%; height: auto"
_FONT = "ui-sans-serif, system-ui, sans-serif"


class Figure:
    """A drawn figure with its alternative text; show it as the last value of a cell."""

    def __init__(self, svg: str, alt: str) -> None:
        """Keep a figure in the light colours."""
        self.svg = svg
        self.alt = alt

    def themed(self) -> str:
        """Return the SVG with the page's colours in place of fixed ones."""
        names = look.names_by_color()

        def follow(match: re.Match[str]) -> str:
            name = names[match[0]]
            return "currentColor" if name == "text" else f"var(--sw-{name}, {match[0]})"

        return labelled(_COLOR.sub(follow, self.svg), self.alt)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        if in_book():
            return {"text/markdown": two_branches(self.themed(), self.svg, self.alt)}
        return {"image/svg+xml": labelled(self.svg, self.alt)}


def figure(fig: MatplotlibFigure, *, alt: str) -> Figure:
    """Turn a matplotlib figure into one that serves the light and the dark page.

    Every colour that was drawn becomes the page's own colour of that name, and text stays text.

    Args:
        fig: a figure drawn in `plt.style.context(look.style())` with colours of `look.color`.
            It is closed.
        alt: what the figure shows, for those who can't see it.

    Returns:
        An object whose output is SVG; in the book, markdown that holds it.

    Raises:
        ValueError: if `alt` is empty, or a colour is not the palette's.

    Example:
        >>> import matplotlib.pyplot as plt
        >>> with plt.style.context(look.style()):
        ...     drawn, axes = plt.subplots()
        ...     _ = axes.plot([1, 2], [1, 4])
        >>> "var(--sw-parameters" in figure(drawn, alt="A rising line").themed()
        True
    """
    if not alt.strip():
        raise ValueError(f"alt={alt!r} must say what the figure shows")
    import matplotlib.pyplot as plt  # noqa: PLC0415 - slow, and only figures need it

    target = io.StringIO()
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "shardwise"}):
        fig.savefig(target, format="svg", transparent=True, metadata={"Date": None})
    plt.close(fig)
    svg = _inline(target.getvalue())
    known = look.names_by_color()
    strange = sorted({color for color in _COLOR.findall(svg) if color not in known})
    if strange:
        raise ValueError(
            f"fig has colours outside the palette ({', '.join(strange)}), which a dark page can't "
            "follow: draw in plt.style.context(look.style()) with colours from look.color"
        )
    return Figure(svg, alt)


def _inline(document: str) -> str:
    """Return matplotlib's SVG document as an element that can stand in a page beside others."""
    svg = document[document.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "").replace(
        "xlink:href", "href"
    )
    # A style element would apply to the whole page; both properties are inherited from the root.
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = svg.replace("<svg", f'<svg style="{_ROOT_STYLE}"', 1)
    prefix = f"f{hashlib.sha256(svg.encode()).hexdigest()[:8]}-"
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda m: f' id="{prefix}{m[1]}"' if m[1] in used else "", svg)
    svg = re.sub(r'((?:href="|url\()#)', rf"\g<1>{prefix}", svg)
    svg = re.sub(r"(font(?:-family)?: [^';\"]*)'[^;\"]*", rf"\g<1>{_FONT}", svg)
    return re.sub(r"\n\s*\n", "\n", svg)
