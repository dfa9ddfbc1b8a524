"""What several suites share: the repository's folders, and a Chromium to look at pages with."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
# Each new context loads pages of the browser's own without the first three. Naming any replaces
# the list that Playwright gives, so the rest of it that matters follows.
FEATURES_OFF = (
    *("WebUIOmniboxPopup", "WebUIOmniboxFullPopup", "WebUIOmniboxAimPopup", "AimEnabled"),
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "PaintHolding", "HttpsUpgrades", "MediaRouter"),
    *("HttpsFirstBalancedModeAutoEnable", "OptimizationHints", "NetworkTimeServiceQuerying"),
    *("DestroyProfileOnBrowserClose", "ThirdPartyStoragePartitioning", "LensOverlay"),
)
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join(FEATURES_OFF)}",
]


# A page is painted before its widgets are brought to life; these are still to come.
ASLEEP = "figure.shardwise-widget:not([data-ready], [data-failed])"


def find_chromium() -> str | None:
    """Return the browser that the tests drive, or None where there is none."""
    names = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if name and (found := shutil.which(name))), None)


def wait_until(holds: Callable[[], bool]) -> None:
    """Look again and again until it holds; a test that waits longer than 10 s fails."""
    end = time.monotonic() + 10
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("it did not happen within 10 s")
        time.sleep(0.02)
