"""Pages with every widget, from disk, for the suites that hold whichever widgets there are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect
from support import ASLEEP

import shardwise_widgets
from shardwise_widgets.base import ShardwiseWidget, built

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page

KINDS: dict[str, type[ShardwiseWidget]] = {
    name: kind
    for name in shardwise_widgets.__all__
    if isinstance(kind := getattr(shardwise_widgets, name), type)
    and issubclass(kind, ShardwiseWidget)
}
THEMES = ("light", "dark")


def mount_of(widget: ShardwiseWidget) -> str:
    """The HTML branch of what the widget puts into the book."""
    match = re.search(r"````\{=html\}\n(.*?)\n````", widget.book_markdown(), re.DOTALL)
    assert match is not None
    return match[1]


def write_pages(folder: Path, name: str, mounts: Iterable[str]) -> None:
    """Write a light and a dark page of the mounts, with the styles beside them."""
    for style in ("look.css", "widgets.css"):
        (folder / style).write_text(built(style), encoding="utf-8")
    body = "<p>Between.</p>".join(mounts)
    for theme in THEMES:
        (folder / f"{name}-{theme}.html").write_text(
            f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Widgets</title>
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="look.css"><link rel="stylesheet" href="widgets.css">
<style>body {{ margin: 0 8px; background: var(--sw-page); color: var(--sw-text) }}
body.quarto-dark {{ color-scheme: dark }}</style></head>
<body class="quarto-{theme}"><main><h1>Widgets</h1>{body}
<button id="after">After</button><div style="height: 2000px"></div></main>
{built("page.html")}</body></html>""",
            encoding="utf-8",
        )


class Pages:
    """Opens pages of a folder with the network off, and remembers all that went wrong in them."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser = browser
        self.folder = folder
        self.contexts: list[BrowserContext] = []
        self.wrong: list[str] = []

    def __call__(
        self, name: str, theme: str = "light", query: str = "", *, width: int = 1280, **options: Any
    ) -> Page:
        context = self.browser.new_context(viewport={"width": width, "height": 900}, **options)
        self.contexts.append(context)
        context.set_offline(True)
        page = context.new_page()
        page.on("request", lambda r: r.url.startswith("file:") or self.wrong.append(r.url))
        page.on("console", lambda m: m.type in ("error", "warning") and self.wrong.append(m.text))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.goto((self.folder / f"{name}-{theme}.html").as_uri() + query)
        if options.get("java_script_enabled", True):
            expect(page.locator(ASLEEP)).to_have_count(0)
        return page

    def close(self) -> None:
        for context in self.contexts:
            context.close()
        assert self.wrong == []


def figure(page: Page, name: str) -> Any:
    return page.locator(f'figure[data-widget="{name}"]').first


def shown(widget: Any) -> str:
    """All that a figure's drawing and sentence say, with ordinary spaces."""
    drawn = widget.locator(".sw-drawing").inner_html() + widget.locator("output").text_content()
    return " ".join(re.sub(r">\s+<", "><", str(drawn).replace("\u00a0", " ")).split())
