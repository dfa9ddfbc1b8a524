"""The addresses outside the book, in one list, and whether they still answer."""

from __future__ import annotations

import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from lxml import html  # type: ignore[import-untyped]

from shardwise_book.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

LIST = "chapter/outside.txt"
SECONDS = 20
# Some publishers answer a program with these although the page is there.
CLOSED = {401, 403, 405, 406, 418, 429}


def outside(folder: Path) -> dict[str, str]:
    """Return each outside address of a built book, and a page that links to it."""
    found: dict[str, str] = {}
    for page in sorted(folder.rglob("*.html")):
        document = html.fromstring(page.read_bytes())
        for address in document.xpath("//a/@href[starts-with(., 'http')]"):
            name = page.relative_to(folder).as_posix()
            found.setdefault(str(address).partition("#")[0], name)
    return found


def silent(addresses: dict[str, str]) -> list[Problem]:
    """Ask for each address, and return a problem for each that doesn't answer."""
    with ThreadPoolExecutor(max_workers=8) as pool:
        answers = pool.map(_answer, addresses)
    pairs: Iterable[tuple[tuple[str, str], str | None]] = zip(
        addresses.items(), answers, strict=True
    )
    remedy = "correct the address, or name another place"
    return [
        Problem(page, None, f"{address} {answer}", remedy)
        for (address, page), answer in pairs
        if answer is not None
    ]


def _answer(address: str) -> str | None:
    """Return what is wrong with an address, or None."""
    headers = {"User-Agent": "Mozilla/5.0 (a check of a book's links)"}
    request = urllib.request.Request(address, headers=headers)  # noqa: S310 - http(s), as collected
    try:
        with urllib.request.urlopen(request, timeout=SECONDS):  # noqa: S310
            return None
    except urllib.error.HTTPError as error:
        return None if error.code in CLOSED else f"answers {error.code}"
    except OSError as error:
        return f"doesn't answer ({error})"
