"""Look for hidden checks and solutions in what students can get, however it is packed."""

from __future__ import annotations

import ast
import base64
import binascii
import gzip
import html
import io
import json
import re
import tarfile
import zipfile
from functools import cache
from typing import TYPE_CHECKING, Any

from support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HIDDEN = ROOT / "exercises" / "hidden"
SOURCE = ROOT / "exercises" / "source"
LIBRARY = ROOT / "lib" / "shardwise"
BASE64 = re.compile(rb"[A-Za-z0-9+/]{80,}={0,2}")
TAG = re.compile(r"<[^<>]*>")
NAME = re.compile(r'"shardwise[\w.]+",')
WORD = re.compile(rb"\w+")
DEEPEST = 5


def hidden_code() -> dict[str, set[str]]:
    """Lines of each module of hidden checks that no message or package has a reason to hold."""
    found = {}
    for path in HIDDEN.glob("*.py"):
        source, lines = path.read_text(encoding="utf-8"), set()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.Assign) and node.col_offset == 0:
                lines |= {line.strip() for line in ast.unparse(node).splitlines()[1:]}
                lines |= {line.strip() for line in ast.get_source_segment(source, node).split("\n")}
        found[path.stem] = {line for line in lines if len(line) > 25}
    return found


def solution_code() -> dict[str, set[str]]:
    """Lines between the solution marks of each source notebook."""
    found = {}
    for path in SOURCE.rglob("*.ipynb"):
        lines = set()
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            for region in re.findall(r"BEGIN SOLUTION\n(.*?)### END", source, re.DOTALL):
                lines |= {line.strip() for line in region.splitlines()}
        found[path.stem] = {line for line in lines if len(line) > 15}
    return found


@cache
def forbidden() -> set[str]:
    """Lines of hidden checks and of solutions that nothing public has a reason to hold.

    The library shares some of them, and a name of the library's alone gives nothing away.
    """
    public = "\n".join(path.read_text(encoding="utf-8") for path in LIBRARY.rglob("*.py"))
    parts = {**hidden_code(), **solution_code()}
    kept = {
        name: {n for n in lines if n not in public and not NAME.fullmatch(n)}
        for name, lines in parts.items()
    }
    assert all(len(lines) > 1 for lines in kept.values()), "each needs lines of its own"
    return set().union(*kept.values())


def leaks(what: Path | bytes) -> set[str]:
    """Return which of the forbidden lines are in a folder, a file or its bytes."""
    # A line can be only where the longest of its words is, and few files hold any of these.
    by_word: dict[bytes, list[bytes]] = {}
    for line in forbidden():
        word = max(WORD.findall(line.encode()), key=len)
        by_word.setdefault(word, []).append(line.encode())
    return {
        line.decode()
        for name, content in contents(what)
        for text in readings(name, content)
        for word in by_word.keys() & set(WORD.findall(text))
        for line in by_word[word]
        if line in text
    }


def contents(what: Path | bytes, name: str = "", depth: int = 0) -> Iterator[tuple[str, bytes]]:
    """Yield every file in a folder or an archive, unpacked, and archives in archives."""
    if not isinstance(what, bytes):
        paths = sorted(path for path in [what, *what.rglob("*")] if path.is_file())
        for path in paths:
            yield from contents(path.read_bytes(), path.name, depth)
        return
    yield name, what
    if depth < DEEPEST:
        for inner_name, inner in _unpacked(what):
            yield from contents(inner, inner_name, depth + 1)


def _unpacked(content: bytes) -> Iterator[tuple[str, bytes]]:
    stream = io.BytesIO(content)
    if content.startswith(b"PK"):
        with zipfile.ZipFile(stream) as archive:
            yield from ((name, archive.read(name)) for name in archive.namelist())
    elif content.startswith(b"\x1f\x8b"):
        plain = gzip.decompress(content)
        try:
            with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
                files = [member for member in archive if member.isfile()]
                yield from ((file.name, archive.extractfile(file).read()) for file in files)
        except tarfile.TarError:
            yield "", plain
    for run in BASE64.findall(content):
        try:
            yield "", base64.b64decode(run + b"=" * (-len(run) % 4))
        except binascii.Error:
            continue


def readings(name: str, content: bytes) -> Iterator[bytes]:
    """Yield a file as it is, as the text that a page shows, and as the strings of its JSON."""
    yield content
    text = content.decode("utf-8", "replace")
    if name.endswith((".html", ".xhtml")):
        yield html.unescape(TAG.sub("", text)).encode()
    start = text.find("{")
    if 0 <= start < 20:  # a search index has a word of its own before its JSON
        try:
            yield "\n".join(_strings(json.JSONDecoder().raw_decode(text[start:])[0])).encode()
        except (ValueError, RecursionError):
            return


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            yield "".join(value)
        for item in inner:
            yield from _strings(item)


def packed_in_every_way(line: str) -> Iterator[bytes]:
    """Yield packages of a line: what `leaks` must see through."""
    text = f"before\n    {line}\nafter".encode()
    yield text
    yield base64.b64encode(text * 3)
    yield gzip.compress(text)
    yield json.dumps({"cells": [{"source": ["a\n", line + "\n"]}]}).encode()
    for form in ("zip", "tar.gz"):
        stream = io.BytesIO()
        if form == "zip":
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("a/b.html", f"<p>{html.escape(line)}</p>")
        else:
            with tarfile.open(fileobj=stream, mode="w:gz") as archive:
                member = tarfile.TarInfo("x.py")
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))
        yield stream.getvalue()
    yield base64.b64encode(stream.getvalue())
