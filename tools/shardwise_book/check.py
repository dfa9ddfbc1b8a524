"""Reads a built book as a careful visitor would, and lists what is broken.

The rules hold for pages of our own builder and for those of Quarto: they look at what a browser
would load, follow or read out, and at no class name that only one of the two writes.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from lxml import etree, html  # type: ignore[import-untyped]

from shardwise_book import addresses
from shardwise_book.errors import BookError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Folders of tools that the book carries: what they load counts, their pages are no pages of ours.
TOOLS = ("site_libs", "pagefind")
REFERENCE = re.compile(r"\?@[\w-]+|(?<![\w@./])@(?:fig|tbl|eq|sec|lst)-[\w-]+")
NOT_PROSE = {"script", "style", "pre", "code", "textarea", "template", "math"}
Element = Any  # lxml has no types
Fault = tuple[Element, str, str]


@dataclass(frozen=True)
class Document:
    """One page: its address inside the book and its parsed tree."""

    name: str
    tree: Element

    @classmethod
    def read(cls, folder: Path, name: str) -> Document:
        """Parse the page `name` of the book in `folder`."""
        parser = html.HTMLParser(encoding="utf-8", huge_tree=True)
        try:
            tree = html.document_fromstring((folder / name).read_bytes(), parser=parser)
        except etree.ParserError:  # there is no element in it
            tree = html.document_fromstring(b"<html></html>")
        return cls(name, tree)

    @cached_property
    def ids(self) -> Counter[str]:
        """How often each id occurs, outside templates (whose content is not in the page)."""
        return Counter(self.tree.xpath("//@id[not(ancestor::template)]"))

    @cached_property
    def anchors(self) -> set[str]:
        """What a fragment of an address can point at."""
        return {*self.ids, *self.tree.xpath("//a/@name")}

    @property
    def main(self) -> Element:
        """The part of the page that holds its text."""
        return next(iter(self.tree.xpath("//main")), self.tree)


def check_site(folder: Path) -> list[Problem]:
    """Return the faults of the pages below `folder`, in the order of their files and lines.

    Args:
        folder: a built book, by `shardwise_book` or by Quarto.

    Returns:
        One `Problem` for each unresolved reference, nameless figure, link or button, broken link,
        address that would be loaded from elsewhere, repeated id, missing title or language, and
        jump in the order of headings. The files are relative to `folder`.

    Raises:
        BookError: `folder` is no folder.
    """
    if not folder.is_dir():
        raise BookError(
            Problem(str(folder), None, "there is no such folder", "build it: make book")
        )
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    pages = {
        name: Document.read(folder, name)
        for name in sorted(files)
        if name.endswith((".html", ".htm")) and PurePosixPath(name).parts[0] not in TOOLS
    }
    problems = [] if "index.html" in pages else [_no_index()]
    for page in pages.values():
        problems += [
            Problem(page.name, element.sourceline, message, remedy)
            for rule in RULES
            for element, message, remedy in rule(page)
        ]
        problems += addresses.check_page(page.name, page.tree, files, _anchors_of(pages))
    problems += addresses.check_assets(folder, files)
    return sorted(set(problems), key=lambda p: (p.file, p.line or 0, p.message))


def _no_index() -> Problem:
    return Problem("index.html", None, "the book has no first page", "add index.qmd to _quarto.yml")


def _anchors_of(pages: dict[str, Document]) -> Callable[[str], set[str] | None]:
    return lambda name: pages[name].anchors if name in pages else None


def _text(element: Element) -> str:
    """Return what a screen reader would say for the element's content."""
    if element.get("aria-hidden") == "true" or not isinstance(element.tag, str):
        return ""
    own = element.get("aria-label") or (element.get("alt") if element.tag == "img" else None)
    if own:
        return str(own).strip()
    inner = (element.text or "") + "".join(_text(child) + (child.tail or "") for child in element)
    return inner.strip() or str(element.get("title") or "").strip()


def _name(page: Document, element: Element) -> str:
    """Return the name that the element is given by its attributes, or an empty text."""
    for target in (element.get("aria-labelledby") or "").split():
        labels = page.tree.xpath("//*[@id=$id]", id=target)
        if labels and (label := _text(labels[0])):
            return label
    return (element.get("aria-label") or "").strip()


def _hidden(element: Element) -> bool:
    chain = (element, *element.iterancestors())
    return any(
        e.get("aria-hidden") == "true" or e.get("hidden") is not None or e.tag == "template"
        for e in chain
    )


def _head(page: Document) -> Iterator[Fault]:
    if not (page.tree.get("lang") or page.tree.get("xml:lang") or "").strip():
        yield page.tree, "the page does not say its language", 'write <html lang="en">'
    if not "".join(page.tree.xpath("/html/head/title//text()")).strip():
        yield page.tree, "the page has no title", "give the chapter a title"


def _references(page: Document) -> Iterator[Fault]:
    for text in page.tree.xpath("/html/body//text()"):
        element = text.getparent()
        if text.is_tail:
            element = element.getparent()
        if not isinstance(element.tag, str):
            continue
        chain = {element.tag, *(parent.tag for parent in element.iterancestors())}
        if not chain & NOT_PROSE:
            for found in REFERENCE.findall(text):
                label = found.lstrip("?@")
                yield (
                    element,
                    f"the cross-reference @{label} is not resolved",
                    f"give its target the label {label!r}, or correct the reference",
                )
    for missing in page.tree.xpath("//*[contains(@class, 'citation')]//strong"):
        if (key := missing.text_content()).endswith("?") and " " not in key:
            remedy = "add the key to chapter/references.bib, or correct it"
            yield missing, f"the citation @{key.rstrip('?')} is not in the bibliography", remedy


def _figures(page: Document) -> Iterator[Fault]:
    write_alt = "say in fig-alt (or alt) what the picture shows"
    for image in page.tree.xpath("//img"):
        alt = image.get("alt")
        decorative = image.get("role") in {"presentation", "none"} or not image.xpath(
            "ancestor::figure"
        )
        if not _hidden(image) and (alt is None or not (alt.strip() or decorative)):
            yield image, "an image has no alternative text", write_alt
    for drawing in page.main.xpath(".//svg[not(ancestor::svg)]"):
        named_above = any(
            e.get("role") == "img" and _name(page, e) for e in drawing.iterancestors()
        )
        name = _name(page, drawing) or "".join(drawing.xpath("./title//text()")).strip()
        if not (_hidden(drawing) or named_above or (drawing.get("role") and name)):
            remedy = (
                'give it role="img" and an aria-label, or aria-hidden="true" if it only decorates'
            )
            yield drawing, "a drawing has no alternative text", remedy
    for widget in page.tree.xpath("//figure[@data-widget]"):
        captions = widget.xpath("./figcaption | ancestor::figure/figcaption")
        if not (_name(page, widget) or any(map(_text, captions))):
            message = f"the widget {widget.get('data-widget')} has no accessible name"
            yield widget, message, "put it into a figure with a caption, or give it an aria-label"


def _ids(page: Document) -> Iterator[Fault]:
    for name, count in page.ids.items():
        if count > 1:
            second = page.tree.xpath("//*[@id=$id][not(ancestor::template)]", id=name)[1]
            remedy = "give each element its own id"
            yield second, f"the id {name!r} occurs {count} times", remedy


def _controls(page: Document) -> Iterator[Fault]:
    for control in page.tree.xpath(
        "//a[@href] | //button | //input[@type='submit' or @type='button']"
    ):
        name = _name(page, control) or _text(control) or (control.get("value") or "").strip()
        drawn = control.xpath(".//svg[@role and not(@aria-hidden='true')]")
        if not (name or _hidden(control) or any(_name(page, svg) for svg in drawn)):
            kind = "link" if control.tag == "a" else "button"
            yield control, f"a {kind} has no name", "give it a text, or an aria-label"


def _headings(page: Document) -> Iterator[Fault]:
    level = 0
    headings = [
        h
        for h in page.main.iter("h1", "h2", "h3", "h4", "h5", "h6")
        if not _hidden(h) and h.get("role") not in {"presentation", "none"}
    ]
    if [h.tag for h in headings].count("h1") != 1:
        found = [h.tag for h in headings].count("h1")
        yield page.main, f"the page has {found} headings of level 1", "give it one, its title"
    for heading in headings:
        deeper = int(heading.tag[1])
        if level and deeper > level + 1:
            message = f"the heading {_text(heading)!r} jumps from level {level} to level {deeper}"
            yield heading, message, f"make it a heading of level {level + 1}"
        level = deeper


RULES: tuple[Callable[[Document], Iterator[Fault]], ...] = (
    _head,
    _references,
    _figures,
    _ids,
    _controls,
    _headings,
)
