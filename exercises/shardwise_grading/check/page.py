"""A verdict as HTML, for the output of a cell; readable without styles, in light and in dark."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shardwise_grading.check.verdict import Part, Verdict

# The colours of the house: light and dark of finished, backward, and the page.
LIGHT = (
    "--done:#31977f;--on-done:#0d1117;--open:#a64d2f;--on-open:#ffffff;"
    "--text:#1b1f24;--rule:#d0d7de"
)
DARK = (
    "--done:#297f5b;--on-done:#ffffff;--open:#ea975f;--on-open:#0d1117;"
    "--text:#e6edf3;--rule:#3a434d"
)
STYLE = f"""
.sw-check {{ {LIGHT}; color: var(--text); line-height: 1.6; max-width: 72ch;
  overflow-wrap: anywhere }}
[data-jp-theme-light="false"] .sw-check, .vscode-dark .sw-check {{ {DARK} }}
.sw-check p {{ margin: 4px 0 }}
.sw-check .sw-part {{ margin: 8px 0; padding: 8px 0 0; border-top: 1px solid var(--rule) }}
.sw-check .sw-part + p {{ padding-top: 8px; border-top: 1px solid var(--rule) }}
.sw-check .sw-mark {{ border-radius: 4px; padding: 0 8px; margin-right: 8px;
  background: var(--open); color: var(--on-open) }}
.sw-check .sw-passed {{ background: var(--done); color: var(--on-done) }}
"""


def as_html(verdict: Verdict, warnings: Iterable[str] = ()) -> str:
    """Write a verdict for a notebook.

    Args:
        verdict: what the check found; its words are a student's own and are escaped.
        warnings: what differs between the notebook and its file, a sentence each.
    """
    first = f"<b>{escape(verdict.notebook)}</b>, saved at {verdict.saved:%H:%M:%S}"
    before = [first, *(f"<b>{escape(warning)}</b>" for warning in warnings)]
    after = [escape(text) for text in (*verdict.notes, verdict.summary)]
    return "".join(
        [
            f'<style>{STYLE}</style><div class="sw-check">',
            *(f"<p>{text}</p>" for text in before),
            *map(_part, verdict.parts),
            *(f"<p>{text}</p>" for text in after),
            "</div>",
        ]
    )


def _part(part: Part) -> str:
    """Paragraphs, because every notebook has its own way to lay out lists."""
    mark = ("sw-mark sw-passed", "passed") if part.passed else ("sw-mark", "failed")
    words = "<br>".join(escape(text) for text in (*part.words.splitlines(), part.hint) if text)
    name = f'<span class="{mark[0]}">{mark[1]}</span><code>{escape(part.name)}</code>'
    return f'<div class="sw-part"><p class="sw-name">{name}</p><p>{words}</p></div>'
