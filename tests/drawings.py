"""Drawings of a widget in a page, for tests of their layout."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from node_models import node

from shardwise_widgets.base import built

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from playwright.sync_api import Browser, Page

    from shardwise_widgets.base import ShardwiseWidget


@contextmanager
def drawn_page(
    browser: Browser,
    widgets: Sequence[ShardwiseWidget],
    folder: str,
    width: int,
    *,
    moving: bool = False,
) -> Iterator[Page]:
    """Open a page with the drawings of widgets of one kind, each as if it came from a step before.

    `folder` is that of the kind's sources; without `moving`, the drawings stand still.
    """
    drawings = node(
        f"import {{ widget }} from './{folder}/index.js';"
        """
        import { soundState } from './shared/state.js';
        const output = input.states.map((traits, i) => {
          const state = soundState(widget, (trait) => traits[trait]);
          const canvas = { width: input.width, id: `d${i}` };
          if (input.moving) canvas.from = state.step - 1;
          return widget.draw(state, canvas).text;
        });
        """,
        {
            "states": [widget.book_state() for widget in widgets],
            "width": width,
            "moving": moving,
        },
    )
    figures = "".join(
        f'<div class="sw-drawing" style="width: {width}px">{drawing}</div>' for drawing in drawings
    )
    context = browser.new_context(viewport={"width": width + 80, "height": 900})
    page = context.new_page()
    page.set_content(f"<style>{built('widgets.css')}</style>{figures}")
    yield page
    context.close()


def meeting_labels(page: Page) -> list[str]:
    """Return the labels that meet another of their drawing, or leave it to a side.

    A label's box is higher than its letters, which may overhang: hence a few pixels of grace.
    """
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("svg")].flatMap((svg, drawing) => {
          const ground = svg.getBoundingClientRect();
          const labels = [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
          return labels.flatMap(([text, a], i) => [
            ...(a.left < ground.left - 2 || a.right > ground.right + 2 ? [`${drawing}: ${text} leaves`] : []),
            ...labels.slice(i + 1).filter(([, b]) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3)
              .map(([other]) => `${drawing}: ${text} | ${other}`),
          ]);
        })"""  # noqa: E501 - a line of script is easier to read whole
    )
    return found
