"""Makes the EPUB: the chapters as pages have them, with a picture in the place of each widget."""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from shardwise_book.assets import copy_images
from shardwise_book.chapters import prepare
from shardwise_book.config import Config, load
from shardwise_book.convert import run_pandoc
from shardwise_book.crossref import page_of
from shardwise_book.errors import BookError, Problem, faults_in
from shardwise_book.execute import CACHE

if TYPE_CHECKING:
    from rich.console import Console

    from shardwise_book.chapters import Chapters

STYLE = Path(__file__).parent / "template" / "epub.css"
PAGE = re.compile(r'href="(?!https?:|mailto:)[^"#]*#([^"]+)"')
WHOLE_PAGE = re.compile(r'href="(?:\.\./)?([\w/-]+\.html)"')
# What pandoc says once more itself: roles of lists, anchors of lines of code.
AGAIN = re.compile(r' role="list(?:item)?"|<a href="#cb[^>]*></a>')
LINE = re.compile(r' id="cb\d+(?:-\d+)?"')
IMAGE = re.compile(r'(<img src=")(?!data:|https?:)([^"]+)')


def epub(root: Path, output: Path, console: Console) -> Path:
    """Write the book of the project in `root` as an EPUB 3.

    Args:
        root: the folder that holds `_quarto.yml`.
        output: the file; an older one is replaced only when the new one is whole.
        console: where the progress of cells is shown.

    Raises:
        BookError: whatever is wrong with the book, or what pandoc says of it.
    """
    root = root.resolve()
    with faults_in(output.name, "making the EPUB"):
        config = load(root)
        (root / CACHE).mkdir(parents=True, exist_ok=True)
        book = prepare(root, config, console, form="epub")
        with tempfile.TemporaryDirectory(dir=root / CACHE) as folder:
            made = _write(config, book, Path(folder))
            output.parent.mkdir(parents=True, exist_ok=True)
            made.replace(output)
    return output


def _write(config: Config, book: Chapters, folder: Path) -> Path:
    copy_images(config, book.converted, folder)
    whole, made = folder / "book.html", folder / "book.epub"
    whole.write_text(_html(config.title, book), encoding="utf-8")
    about = folder / "about.json"
    about.write_text(json.dumps(_about(config)), encoding="utf-8")
    done = run_pandoc(
        "--from=html",
        "--to=epub3",
        "--mathml",
        "--toc",
        f"--toc-depth={config.toc_depth}",
        "--split-level=1",
        f"--resource-path={folder}",
        f"--css={STYLE}",
        f"--metadata-file={about}",
        f"--output={made}",
        str(whole),
    )
    if done.returncode or done.stderr.strip():
        message = f"pandoc: {done.stderr.strip() or done.returncode}"
        raise BookError(Problem("the EPUB", None, message, "correct what pandoc names"))
    return made


def _about(config: Config) -> dict[str, str]:
    known = {
        "title": config.title,
        "subtitle": config.subtitle,
        "author": config.author,
        "description": config.description,
        "lang": "en",
        "rights": "Text CC BY 4.0, code MIT",
    }
    return {key: value for key, value in known.items() if value}


def _html(title: str, book: Chapters) -> str:
    """Return all chapters as one document, in which every link stays inside."""
    # To the EPUB the book is one file: no reference leads to another page.
    together = replace(
        book.targets,
        labels={name: replace(label, file="") for name, label in book.targets.labels.items()},
        references=None,
    )
    titles = {
        page_of(chapter.file): chapter.title_id or f"page-{place}"
        for place, chapter in enumerate(book.converted)
    }
    parts = []
    for chapter in book.converted:
        number = f"{chapter.number} " if chapter.number else ""
        heading = f'<h1 id="{titles[page_of(chapter.file)]}">{number}{chapter.title_html}</h1>'
        folder = Path(chapter.file).parent.as_posix()
        body = IMAGE.sub(rf"\1{folder}/\2", chapter.html) if folder != "." else chapter.html
        parts.append(together.resolve(f"{heading}\n{body}", ""))
    text = PAGE.sub(r'href="#\1"', "\n".join(parts))
    text = LINE.sub("", AGAIN.sub("", text))
    text = WHOLE_PAGE.sub(lambda found: f'href="#{_anchor(titles, found[1])}"', text)
    head = f"<head><title>{escape(title)}</title></head>"
    return f"<!DOCTYPE html>\n<html>{head}<body>\n{text}\n</body></html>"


def _anchor(titles: dict[str, str], page: str) -> str:
    """Return the anchor of a page, which a link of a chapter names without its folder."""
    return next((anchor for name, anchor in titles.items() if name.endswith(page)), "")
