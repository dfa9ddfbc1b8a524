"""Makes the pages of the book from its converted chapters, with the links between them."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING
from urllib.parse import quote

from markupsafe import Markup

from shardwise_book.assets import copy_assets, copy_images, copy_resources
from shardwise_book.crossref import page_of, relative
from shardwise_book.elsewhere import report, runners
from shardwise_book.errors import faults_in
from shardwise_book.files import read_text, write_new
from shardwise_book.notebooks import path_of
from shardwise_book.reading import minutes
from shardwise_book.render import Link, Page, Site, TocEntry, render

if TYPE_CHECKING:
    from pathlib import Path

    from shardwise_book.config import Config
    from shardwise_book.convert import Converted
    from shardwise_book.crossref import Targets


def write_pages(
    config: Config,
    chapters: list[Converted],
    targets: Targets,
    notebooks: dict[str, str],
    into: Path,
) -> None:
    """Write all pages, and the files that they load, into an empty folder."""
    css, scripts = copy_assets(config, into)
    copy_images(config, chapters, into)
    copy_resources(config, into)
    links = [Link(page_of(c.file), c.title_text, c.number) for c in chapters]
    head, after_body = _joined(config, config.head), _joined(config, config.after_body)
    for at, chapter in enumerate(chapters):
        href = page_of(chapter.file)
        root = "../" * href.count("/")
        seen = [
            Link(relative(link.href, href), link.title, link.number, current=link.href == href)
            for link in links
        ]
        with faults_in(chapter.file, "writing its page"):
            page = Page(
                href=quote(href),
                title=chapter.title_text,
                title_html=_html(targets.resolve(chapter.title_html, chapter.file)),
                id=chapter.title_id,
                number=chapter.number,
                description=chapter.description,
                body=_html(targets.resolve(chapter.html, chapter.file)),
                toc=_contents(chapter, targets, config.toc_depth),
                previous=seen[at - 1] if at else None,
                next=seen[at + 1] if at + 1 < len(seen) else None,
                root=root,
                minutes=minutes(config.root / chapter.file),
                links=_links(config, chapter, href, notebooks),
                head=head,
                after_body=after_body,
                css=[root + name for name in css],
                scripts=[root + name for name in scripts],
            )
            write_new(into, href, render(_site(config, seen), page).encode())
    for file, text in notebooks.items():
        write_new(into, path_of(file), text.encode())


def _links(
    config: Config, chapter: Converted, href: str, notebooks: dict[str, str]
) -> list[tuple[str, str]]:
    """Return what a reader can do with a page elsewhere: words and addresses."""
    links = []
    if chapter.file in notebooks:
        path = path_of(chapter.file)
        links.append(("Download as a notebook", relative(path, href)))
        links += [(f"Open in {name}", address) for name, address in runners(config.repo, path)]
    if config.repo:
        links.append(("Report a problem", report(config.repo, chapter.title_text, href)))
    return links


def _site(config: Config, chapters: list[Link]) -> Site:
    return Site(
        title=config.title,
        subtitle=config.subtitle,
        author=config.author,
        description=config.description,
        version=version("shardwise"),
        repo=config.repo,
        chapters=chapters,
    )


def _contents(chapter: Converted, targets: Targets, depth: int) -> list[TocEntry]:
    """Return the headings as a tree, as deep as the book's settings say."""
    top: list[TocEntry] = []
    path: list[TocEntry] = []
    for heading in chapter.data["headings"]:
        if heading["level"] > depth:
            continue
        title = _html(targets.resolve(heading["title"], chapter.file))
        entry = TocEntry(heading["id"], title, heading["level"], heading.get("number"))
        while path and path[-1].level >= entry.level:
            path.pop()
        (path[-1].children if path else top).append(entry)
        path.append(entry)
    return top


def _joined(config: Config, names: list[str]) -> Markup:
    return _html("\n".join(read_text(config.root, name) for name in names))


def _html(text: str) -> Markup:
    """Mark text as HTML: it is pandoc's output or a file that the book's settings name."""
    return Markup(text)  # noqa: S704
