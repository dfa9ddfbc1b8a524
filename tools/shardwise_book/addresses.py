"""The addresses in a built book: which lead nowhere, and which would be loaded from elsewhere."""

from __future__ import annotations

import base64
import contextlib
import posixpath
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from lxml import etree, html  # type: ignore[import-untyped]

from shardwise_book.errors import Problem

Element = Any  # lxml has no types
Anchors = Callable[[str], set[str] | None]

# Attributes whose address a browser fetches, at the latest when a form or a link is used.
LOADED = {"src", "poster", "background", "data", "ping", "action", "formaction", "manifest"}
HREFS = {"href", "xlink:href"}
# The href of these is only followed, or is looked at by its rel; that of any other is fetched.
FOLLOWED = {"a", "area", "link"}
# Attributes that are text, whatever they say.
SILENT = re.compile(r"data-|aria-|xmlns|(?:alt|title|content|value|placeholder|cite)$")
# A document inside an address; one in an image loads nothing.
FRAMES = {"iframe", "frame", "object", "embed"}
DOCUMENT = re.compile(r"\s*data:(?:text/html|image/svg\+xml|application/xhtml\+xml)", re.IGNORECASE)
LOADING_RELS = {
    "stylesheet",
    "icon",
    "apple-touch-icon",
    "mask-icon",
    "manifest",
    "preload",
    "modulepreload",
    "prefetch",
    "preconnect",
    "dns-prefetch",
    "prerender",
}
INLINE_SCHEMES = {"data", "blob", "about", "javascript", "mailto", "tel"}
CSS_ADDRESS = re.compile(
    r"""(?:@import\s+(?:url\(\s*)?|url\(\s*)(?:"([^"]*)"|'([^']*)'|([^\s"')]+))""", re.IGNORECASE
)
# Comments, and names of XML vocabularies, which are written as addresses and never fetched.
CSS_SILENT = re.compile(r"/\*.*?\*/|@namespace[^;]*;", re.DOTALL)
CSS_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})[ \t]?|([g-zG-Z]))")
IMAGE_SET = re.compile(r"image-set\([^;{}]*", re.IGNORECASE)
# Any address in a text that is a program, or says what to load.
QUOTED = re.compile(r"""["'`]\s*((?:https?:|wss?:)?//(?!www\.w3\.org/)[^\s"'`]+)["'`]""")
JS_ADDRESS = re.compile(
    r"""(?:(?:^|[;}\s])(?:import|export)\b[^;"'`()]*|\bimport\s*\(\s*|\bimportScripts\s*\(\s*"""
    r"""|\bfetch\s*\(\s*|\.src\s*=\s*|\bsendBeacon\s*\(\s*"""
    r"""|\bnew\s+(?:SharedWorker|Worker|WebSocket|EventSource)\s*\(\s*)"""
    r"""["'`]((?:https?:|wss?:)?//[^"'`]+)["'`]""",
    re.MULTILINE,
)
# A data address holds commas of its own.
SRCSET = re.compile(r"(data:\S+|[^\s,]+)[^,]*")
RULE_TYPES = {"importmap", "speculationrules"}
SCRIPT_TYPES = {"", "module", "text/javascript", "application/javascript"}
# Some versions of Quarto put this script into every book. It asks another site for a program only
# on a page that holds what Quarto's option `axe` writes, and `_quarto.yml` has no such option here.
NEVER_ASKS = {"site_libs/quarto-html/axe/axe-check.js"}
SHOWN = 80
NO_NETWORK = "put the file into the book: its pages load nothing from elsewhere"


def is_elsewhere(address: str) -> bool:
    """Return whether the address leaves the book's folder by naming a scheme or a host.

    >>> is_elsewhere("https://example.org/a.js"), is_elsewhere("//example.org/a.js")
    (True, True)
    >>> is_elsewhere("../a.js"), is_elsewhere("data:text/css,")
    (False, False)
    """
    parts = urlsplit(address.strip())
    return bool(parts.netloc or parts.scheme) and parts.scheme not in INLINE_SCHEMES


def check_page(name: str, tree: Element, files: set[str], anchors_of: Anchors) -> list[Problem]:
    """Return the faults of the page's addresses.

    Args:
        name: the page's path from the book's folder.
        tree: its parsed tree.
        files: the paths of everything in the book.
        anchors_of: for a page's path, the ids in it; None for what is no page.
    """
    problems = []
    for element, address in _loads(tree):
        fault = _readable(address) or _load_fault(name, address, files)
        if fault:
            problems.append(Problem(name, element.sourceline, *fault))
    for element in tree.xpath("//a[@href] | //area[@href]"):
        address = element.get("href")
        fault = _readable(address) or _link_fault(name, address, files, anchors_of)
        if fault:
            problems.append(Problem(name, element.sourceline, *fault))
    return problems


def check_assets(folder: Path, files: set[str]) -> list[Problem]:
    """Return the faults of the addresses in the book's stylesheets and scripts."""
    problems = []
    for name in sorted(files):
        if not name.endswith((".css", ".js", ".mjs")) or name in NEVER_ASKS:
            continue
        text = (folder / name).read_text(encoding="utf-8", errors="replace")
        found = _in_css(text) if name.endswith(".css") else _in_js(text)
        for line, address in found:
            fault = _readable(address) or _load_fault(name, address, files)
            if fault:
                problems.append(Problem(name, line + 1, *fault))
    return problems


def _loads(tree: Element) -> Iterator[tuple[Element, str]]:
    for element in tree.iter("*"):
        for name, value in element.attrib.items():
            yield from ((element, address) for address in _in_attribute(element.tag, name, value))
    for element in tree.iter("link"):
        if set((element.get("rel") or "").lower().split()) & LOADING_RELS:
            yield element, element.get("href") or ""
    for attribute in ("srcset", "imagesrcset"):
        for element in tree.xpath(f"//*[@{attribute}]"):
            yield from ((element, found) for found in SRCSET.findall(element.get(attribute)))
    for element in tree.xpath("//meta[translate(@http-equiv, 'REFSH', 'refsh')='refresh']"):
        if address := (element.get("content") or "").partition("=")[2].strip(" '\""):
            yield element, address
    yield from _embedded(tree)


def _embedded(tree: Element) -> Iterator[tuple[Element, str]]:
    for element in tree.iter("style"):
        yield from ((element, address) for _, address in _in_css(element.text or ""))
    for element in tree.iter("script"):
        kind, text = (element.get("type") or "").strip().lower(), element.text or ""
        if kind in RULE_TYPES:
            yield from ((element, address) for address in QUOTED.findall(text))
        elif kind in SCRIPT_TYPES:
            yield from ((element, address) for _, address in _in_js(text))


def _in_attribute(tag: str, name: str, value: str) -> Iterator[str]:
    """Yield the addresses that a browser may fetch because of one attribute."""
    if SILENT.match(name):
        return
    if name == "srcdoc" or (tag in FRAMES and DOCUMENT.match(value)):
        yield from _in_document(value)
    elif name.startswith("on") or value.strip().lower().startswith("javascript:"):
        yield from QUOTED.findall(value)
    elif name == "ping":
        yield from value.split()
    elif name in LOADED or (name in HREFS and tag not in FOLLOWED):
        yield value
    elif name not in HREFS:  # style, and what SVG has beside it: fill, filter, mask, …
        yield from (address for _, address in _in_css(value))


def _in_document(value: str) -> Iterator[str]:
    """Yield what a document would load that is written into an attribute."""
    head, _, text = value.partition(",") if DOCUMENT.match(value) else ("", "", value)
    if head:
        text = unquote(text)
    if head.lower().endswith(";base64"):
        with contextlib.suppress(ValueError):
            text = base64.b64decode(text).decode(errors="replace")
    with contextlib.suppress(etree.ParserError):
        yield from (address for _, address in _loads(html.document_fromstring(text)))


def _in_css(text: str) -> Iterator[tuple[int, str]]:
    """Yield each address with the number of line ends before it."""
    visible = CSS_SILENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    visible = CSS_ESCAPE.sub(_unescaped, visible)
    for match in CSS_ADDRESS.finditer(visible):
        yield visible.count("\n", 0, match.start()), next(filter(None, match.groups()), "")
    for match in IMAGE_SET.finditer(visible):
        line = visible.count("\n", 0, match.start())
        yield from ((line, address) for address in QUOTED.findall(match[0]))


def _unescaped(match: re.Match[str]) -> str:
    number = int(match[1] or "0", 16)
    return match[2] or (chr(number) if 0 < number < sys.maxunicode else " ")


def _in_js(text: str) -> Iterator[tuple[int, str]]:
    """Yield each address with the number of line ends before it."""
    for match in JS_ADDRESS.finditer(text):
        yield text.count("\n", 0, match.start(1)), match[1]


def _readable(address: str) -> tuple[str, str] | None:
    try:
        urlsplit(address.strip())
    except ValueError as error:
        return f"the address {_short(address)} cannot be read: {error}", "correct it"
    return None


def _load_fault(name: str, address: str, files: set[str]) -> tuple[str, str] | None:
    address = address.strip()
    if is_elsewhere(address):
        return f"the page would load {_short(address)} from elsewhere", NO_NETWORK
    if not address or address.startswith("#") or urlsplit(address).scheme:
        return None
    target = _target(name, address)
    if target not in files:
        return (
            f"the file {_short(address)} is missing",
            "add it to the book, or correct the address",
        )
    return None


def _link_fault(
    name: str, address: str, files: set[str], anchors_of: Anchors
) -> tuple[str, str] | None:
    parts = urlsplit(address.strip())
    if parts.scheme or parts.netloc:
        return None
    target = _target(name, address) if parts.path else name
    if target not in files:
        return (
            f"the link to {_short(address)} leads nowhere",
            "correct the address, or add the page",
        )
    anchors = anchors_of(target)
    fragment = unquote(parts.fragment.partition(":~:")[0])
    if anchors is not None and fragment not in {"", "top"} and fragment not in anchors:
        where = "this page" if target == name else target
        return (
            f"the link to #{_short(fragment)} leads nowhere in {where}",
            "give its target that id",
        )
    return None


def _target(name: str, address: str) -> str:
    """Return the file that an address means, as a path from the book's folder.

    An address from the root of a server works neither from disk nor below another path, so it is
    left as it is, and names no file of the book.
    """
    path = unquote(urlsplit(address).path)
    target = posixpath.normpath(posixpath.join(PurePosixPath(name).parent, path))
    is_folder = path.endswith("/") or PurePosixPath(path).name in {".", ".."}
    return posixpath.normpath(f"{target}/index.html") if is_folder else target


def _short(address: str) -> str:
    return address if len(address) <= SHOWN else f"{address[: SHOWN - 3]}..."
