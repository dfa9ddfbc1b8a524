"""Fixtures that several suites share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright
from support import CHROMIUM_FLAGS, find_chromium


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One headless Chromium for the whole run; each test opens its own context."""
    executable = find_chromium()
    if executable is None:
        message = "no Chromium found: apt-get install chromium, or set CHROMIUM=/path/to/it"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        instance = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_FLAGS)
        yield instance
        instance.close()
