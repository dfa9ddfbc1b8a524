"""What is special to CausalBalance in a browser: its numbers follow the controls everywhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import Browser, expect

from shardwise.ring_attention import causal_block_work
from shardwise_widgets import CausalBalance
from shardwise_widgets.base import built

if TYPE_CHECKING:
    from pathlib import Path


def test_headline_columns_sentence_and_table_are_the_librarys(
    browser: Browser, tmp_path: Path
) -> None:
    mount = re.search(r"````\{=html\}\n(.*?)\n````", CausalBalance().book_markdown(), re.DOTALL)
    assert mount is not None
    (tmp_path / "page.html").write_text(
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Balance</title>"
        f"<style>{built('look.css')}{built('widgets.css')}</style>"
        f"<main>{mount[1]}</main>{built('page.html')}",
        encoding="utf-8",
    )
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((tmp_path / "page.html").as_uri())
    page.get_by_role("slider", name="Devices").focus()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.get_by_role("slider", name="Tokens each").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.get_by_role("radio", name="contiguous").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_text("Numbers as a table").click()

    work = causal_block_work(num_devices=5, block_size=3, layout="striped")
    factor = f"{work['slowdown']:.3g}\u00d7"
    expect(page.locator(".sw-drawing .sw-large")).to_contain_text(f"{factor} slow-down")
    expect(page.locator("output")).to_contain_text(f"the ring takes {factor} the time of even work")
    for device, pairs in enumerate(work["work"]):
        mark = page.locator(f'[data-key="d{device}"]')
        expect(mark).to_have_attribute("aria-label", re.compile(f"^Device {device}: {pairs}.pairs"))
        expect(page.locator("tbody tr").nth(device).locator("td").nth(1)).to_have_text(str(pairs))
    page.close()
    assert errors == []
