"""What the suites of the book's pages share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from visiting import Visit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Open pages, and fail afterwards on what went wrong in them."""
    visit = Visit(browser)
    yield visit
    visit.close()
