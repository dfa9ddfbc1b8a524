"""What the suites of the book's pages share."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support import ROOT
from visiting import Visit
from widget_pages import KINDS, Pages, mount_of, write_pages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Open pages, and fail afterwards on what went wrong in them."""
    visit = Visit(browser)
    yield visit
    visit.close()


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole book, built once; its cells run only if something changed."""
    folder = tmp_path_factory.mktemp("real") / "the book"
    command = [sys.executable, "-m", "shardwise_book", "build", "--output", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with every widget, and one page for each."""
    folder = tmp_path_factory.mktemp("every widget")
    mounts = {name: mount_of(kind()) for name, kind in KINDS.items()}
    write_pages(folder, "all", mounts.values())
    for name, mount in mounts.items():
        write_pages(folder, name, [mount])
    return folder


@pytest.fixture
def pages(browser: Browser, site: Path) -> Iterator[Pages]:
    """Open those pages, and fail afterwards on what went wrong in them."""
    pages = Pages(browser, site)
    yield pages
    pages.close()
