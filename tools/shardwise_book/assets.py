"""The files beside the text: images, stylesheets and scripts that the pages load."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from shardwise_book.errors import Problem
from shardwise_book.files import read_text, write_new
from shardwise_book.render import TEMPLATES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from shardwise_book.config import Config
    from shardwise_book.convert import Converted


def local_problems(config: Config, converted: Converted) -> Iterator[Problem]:
    """Yield a problem for each link or image of a chapter that leads to no file of the book."""
    composed = converted.composed
    for target in converted.data["links"]:
        path = target.partition("#")[0]
        if path.endswith(".qmd") and _from_root(converted, path) not in config.chapters:
            line = composed.locate(target)
            remedy = "link to a chapter of _quarto.yml, relative to this file"
            yield Problem(composed.file, line, f"'{path}' is no chapter of the book", remedy)
    for source in converted.data["images"]:
        if source not in composed.files and _image(config, converted, source) is None:
            line = composed.locate(source)
            remedy = "give the path of a file inside the project, relative to this chapter"
            yield Problem(composed.file, line, f"image '{source}' does not exist", remedy)


def image_files(config: Config, chapters: list[Converted]) -> list[str]:
    """Return the image files that the chapters show, relative to the project's folder."""
    found = (_image(config, c, source) for c in chapters for source in c.data["images"])
    return sorted({name for name in found if name is not None})


def copy_images(config: Config, chapters: list[Converted], into: Path) -> None:
    """Put the images of files and of cells where the pages look for them."""
    for name in image_files(config, chapters):
        write_new(into, name, (config.root / name).read_bytes())
    for chapter in chapters:
        for name, content in chapter.composed.files.items():
            write_new(into, _from_root(chapter, name), content)


def copy_resources(config: Config, into: Path) -> None:
    """Put the files that the settings offer for download where links expect them."""
    for name in config.resources:
        write_new(into, name, (config.root / name).read_bytes())


def copy_assets(config: Config, into: Path) -> tuple[list[str], list[str]]:
    """Copy what every page loads; return the addresses of stylesheets and of scripts."""
    for name in ("style.css", "page.js"):
        write_new(into, f"assets/{name}", (TEMPLATES / name).read_bytes())
    # Under their whole paths: two may have one name, or that of a file above.
    for name in config.css:
        write_new(into, f"assets/book/{name}", read_text(config.root, name).encode())
    return ["assets/style.css", *(quote(f"assets/book/{n}") for n in config.css)], [
        "assets/page.js"
    ]


def _from_root(converted: Converted, name: str) -> str:
    folder = posixpath.dirname(converted.composed.file)
    return posixpath.normpath(posixpath.join(folder, unquote(name)))


def _image(config: Config, converted: Converted, source: str) -> str | None:
    name = _from_root(converted, source)
    inside = not name.startswith(("../", "/"))
    return name if inside and (config.root / name).is_file() else None
