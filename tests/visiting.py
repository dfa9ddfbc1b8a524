"""Looking at pages in a browser that reaches nothing but the disk and this machine."""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from playwright.sync_api import expect
from support import ASLEEP, ROOT

from shardwise_book.serve import open_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page

AXE = ROOT / "widgets" / "node_modules" / "axe-core" / "axe.min.js"
WIDTHS = (1280, 360)
THEMES = ("light", "dark")


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the folder as `make serve` does, at the address that is given."""
    with open_server(folder, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class Visit:
    """Opens pages with everything blocked but this machine, and fails on what went wrong."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.contexts: list[BrowserContext] = []
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.expected: str | None = None  # what an error that the test is about says

    def __call__(self, url: str, *, width: int = 1280, theme: str = "light", **options) -> Page:
        context = self.browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=theme, **options
        )
        self.contexts.append(context)
        context.route(
            re.compile(r"^(?!file:|data:|http://127\.0\.0\.1)"), lambda route: route.abort()
        )
        page = context.new_page()
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on(
            "console",
            lambda message: message.type == "error" and self.errors.append(message.text),
        )
        page.goto(url)
        if options.get("java_script_enabled", True):
            expect(page.locator(ASLEEP)).to_have_count(0)
        return page

    def close(self) -> None:
        for context in self.contexts:
            context.close()
        outside = [
            url for url in self.requests if not re.match(r"file:|data:|http://127\.0\.0\.1", url)
        ]
        assert outside == []
        errors = [e for e in self.errors if not (self.expected and re.search(self.expected, e))]
        assert errors == [], errors


def violations(page: Page) -> list[str]:
    page.add_script_tag(path=AXE)
    found = page.evaluate(
        "axe.run(document, {preload: false, resultTypes: ['violations']}).then(r => r.violations)"
    )
    return [f"{v['id']}: {node['html'][:120]}" for v in found for node in v["nodes"]]


def open_all(page: Page) -> None:
    """Open every box of the text, and wait until the page has seen which of them are too wide."""
    page.evaluate("document.querySelectorAll('main details').forEach(box => { box.open = true })")
    page.wait_for_function(
        """() => [...document.querySelectorAll("main pre, main table, main math[display=block]")]
          .map(inner => inner.matches("pre") ? inner : inner.parentElement)
          .filter(box => getComputedStyle(box).overflowX === "auto")
          .every(box => box.scrollWidth <= box.clientWidth + 1 || box.tabIndex === 0)"""
    )
