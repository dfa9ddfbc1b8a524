"""Output for the book: markdown with a branch for pages with scripts, and one for all else."""

from __future__ import annotations

import base64
import html
import os


def in_book() -> bool:
    """Say whether cells run for the book (ours or quarto) and not for someone at a notebook."""
    return bool(os.environ.get("SHARDWISE_BOOK") or os.environ.get("QUARTO_EXECUTE_INFO"))


def image(svg: str, alt: str) -> str:
    """Return an SVG as a markdown image with its data in the address.

    Example:
        >>> image("<svg/>", "A small picture")
        '![A small picture](data:image/svg+xml;base64,PHN2Zy8+)&nbsp;'
    """
    words = "".join(f"\\{sign}" if sign in "\\`*_{}[]<>$@~^|'\"" else sign for sign in alt)
    data = base64.b64encode(svg.encode()).decode()
    # The no-break space keeps pandoc from making a figure with the alt text as its caption.
    return f"![{words}](data:image/svg+xml;base64,{data})&nbsp;"


def two_branches(page: str, svg: str, alt: str) -> str:
    """Return markdown that shows the HTML `page` where scripts run, and an image elsewhere."""
    return (
        f'::: {{.content-visible when-format="html:js"}}\n\n````{{=html}}\n{page}\n````\n\n:::\n\n'
        f'::: {{.content-visible unless-format="html:js"}}\n\n{image(svg, alt)}\n\n:::\n'
    )


def labelled(svg: str, alt: str) -> str:
    """Return an SVG element with a role and a name, for a page that holds it inline."""
    return svg.replace("<svg", f'<svg role="img" aria-label="{html.escape(alt)}"', 1)
