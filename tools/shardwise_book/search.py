"""Indexes the text of a built book, so that its search box finds words in it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from lxml import html  # type: ignore[import-untyped]
from pagefind.service import get_executable

from shardwise_book.errors import BookError, Problem
from shardwise_book.files import place

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
OPTIONS = (
    "--quiet",
    "--root-selector=main",
    f"--exclude-selectors={','.join(NOT_TEXT)}",
    "--force-language=en",
    "--keep-index-url",
    # Names such as `reduce_scatter` and `zero.py` are searched for as they are written.
    "--include-characters=_.@",
)
SECONDS = 120


def index(folder: Path) -> None:
    """Write the search index of the pages below `folder` into `folder/pagefind`.

    Only what stands in a page's `<main>` is found. The same pages give the same files.

    Args:
        folder: a built book.

    Raises:
        BookError: `folder` holds no page, or the index cannot be written.
    """
    pages = sorted(
        path for path in folder.rglob("*.html") if path.relative_to(folder).parts[0] != "pagefind"
    )
    if not pages:
        raise BookError(Problem(str(folder), None, "there is no page in it", "build it: make book"))
    target = folder / "pagefind"
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="shardwise-") as copies:
        for page in pages:
            copy = place(Path(copies), page.relative_to(folder).as_posix())
            copy.write_text(_with_headings_named(page.read_bytes()), encoding="utf-8")
        _write(Path(copies), target.resolve())
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


def _write(pages: Path, target: Path) -> None:
    """Run pagefind, and end it where the build is interrupted or it takes far too long."""
    program = get_executable() or "pagefind"
    command = [program, *OPTIONS, "--site", pages, "--output-path", target]
    try:
        done = subprocess.run(
            command,
            # In a folder without a settings file of pagefind's.
            cwd=pages,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        said = f"it took more than {SECONDS} s"
    except OSError as error:
        said = str(error)
    else:
        if done.returncode == 0 and (target / "pagefind.js").is_file():
            return
        lines = (done.stdout + done.stderr).strip().splitlines() or ["it said nothing"]
        said = f"it ended with exit code {done.returncode}: {lines[-1]}"
    remedy = "see that the disk has room and the folder can be written, then build again"
    raise BookError(Problem("the search index", None, f"pagefind failed: {said}", remedy))
