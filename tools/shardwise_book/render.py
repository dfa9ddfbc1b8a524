"""Puts a chapter's HTML into the page template: what a page knows about itself and its book."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

if TYPE_CHECKING:
    from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "template"


@dataclass(frozen=True)
class Link:
    """A page of the book as another page names it; `href` is relative to the page that shows it."""

    href: str
    title: str
    number: str | None = None
    current: bool = False


@dataclass(frozen=True)
class TocEntry:
    """A heading of the page, from level 2 on; `title` is HTML and `number` is "1.2" or None."""

    id: str
    title: Markup
    level: int
    number: str | None
    children: list[TocEntry] = field(default_factory=list)


@dataclass(frozen=True)
class Site:
    """What all pages share.

    `chapters` is the sidebar as seen from the page: the hrefs are relative to it.
    """

    title: str
    subtitle: str | None
    author: str | None
    description: str | None
    version: str
    repo: str | None
    chapters: list[Link]


@dataclass(frozen=True)
class Page:
    """One page.

    `root` leads from the page to the book's folder ("" or "../"). `body`, `head` and `after_body`
    are HTML. `minutes` is what reading takes, `links` what a reader can do with the page elsewhere
    (words and addresses). `body` starts after the title: the template writes the one `<h1>`, with
    `title_html`, `id` (or None) and `number` (or None). `css` and `scripts` are hrefs in the order
    of loading.
    """

    href: str
    title: str
    title_html: Markup
    id: str | None
    number: str | None
    description: str | None
    body: Markup
    toc: list[TocEntry]
    previous: Link | None
    next: Link | None
    root: str
    minutes: int
    links: list[tuple[str, str]]
    head: Markup
    after_body: Markup
    css: list[str]
    scripts: list[str]


def render(site: Site, page: Page, templates: Path = TEMPLATES) -> str:
    """Return the page as one HTML document, from `page.html.j2`."""
    return _template(templates).render(site=site, page=page)


@cache
def _template(folder: Path) -> Template:
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("page.html.j2")
