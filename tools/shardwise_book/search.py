"""Indexes the text of a built book, so that its search box finds words in it."""

from __future__ import annotations

import asyncio
import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from lxml import html  # type: ignore[import-untyped]
from pagefind.index import IndexConfig, PagefindIndex

from shardwise_book.errors import BookError, Problem

if TYPE_CHECKING:
    from pathlib import Path

# What the page's own script needs; the rest are user interfaces of pagefind that no page loads.
UNUSED = ("pagefind-*ui.*", "pagefind-highlight.js")
# Stands in the text and is no part of it: buttons, the number above a title, folded machinery.
NOT_TEXT = [
    "button",
    "script",
    "style",
    "svg",
    "nav",
    "annotation",
    ".chapter-number",
    ".shardwise-widget",
]
CONFIG = IndexConfig(
    root_selector="main",
    exclude_selectors=NOT_TEXT,
    force_language="en",
    keep_index_url=True,
    # Names such as `reduce_scatter` and `zero.py` are searched for as they are written.
    include_characters="_.@",
)


def index(folder: Path) -> None:
    """Write the search index of the pages below `folder` into `folder/pagefind`.

    Only what stands in a page's `<main>` is found. The same pages give the same files.

    Args:
        folder: a built book.

    Raises:
        BookError: `folder` holds no page.
    """
    pages = sorted(
        path for path in folder.rglob("*.html") if path.relative_to(folder).parts[0] != "pagefind"
    )
    if not pages:
        raise BookError(Problem(str(folder), None, "there is no page in it", "build it: make book"))
    target = folder / "pagefind"
    shutil.rmtree(target, ignore_errors=True)
    # In a thread of its own, where no event loop runs: in a notebook the caller's already does.
    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(lambda: asyncio.run(_write(folder, pages, target))).result()
    for pattern in UNUSED:
        for path in target.glob(pattern):
            path.unlink()


def _with_headings_named(page: bytes) -> str:
    """Return the page with the id of each section on its heading, where the index looks for it."""
    tree = html.document_fromstring(page, parser=html.HTMLParser(encoding="utf-8", huge_tree=True))
    for section in tree.xpath("//section[@id]"):
        for heading in section.xpath("./*[1][self::h2 or self::h3 or self::h4][not(@id)]"):
            heading.set("id", section.attrib.pop("id"))
    return str(html.tostring(tree, encoding="unicode", doctype="<!DOCTYPE html>"))


async def _write(folder: Path, pages: list[Path], target: Path) -> None:
    async with PagefindIndex(IndexConfig(**CONFIG, output_path=str(target))) as found:
        for page in pages:
            await found.add_html_file(
                content=_with_headings_named(page.read_bytes()),
                source_path=page.relative_to(folder).as_posix(),
            )
