"""Fixtures that several suites share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

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


@pytest.fixture(scope="session")
def tiny_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny book with its search index; whoever changes it makes a copy first."""
    from tiny_book import write_book

    from shardwise_book.search import index

    folder = write_book(tmp_path_factory.mktemp("tiny") / "a book")
    index(folder)
    return folder
