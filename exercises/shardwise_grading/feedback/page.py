"""Pages that stand alone: no script, no outside address, and no student's text taken for markup."""

from __future__ import annotations

import base64
import functools
import hashlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from shardwise_grading.feedback.plain import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

TEMPLATES = Path(__file__).parent / "templates"


def render(template: str, values: Mapping[str, object], folder: Path = TEMPLATES) -> bytes:
    """Fill a template; every text in it is made plain and escaped.

    Args:
        template: a file name in the folder.
        values: what it names.
        folder: where it is, beside the templates that all pages share.

    Returns:
        The page in UTF-8; the same bytes for the same values.
    """
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    shared = {"style": Markup(style), "style_hash": digest}  # noqa: S704 - a file of ours
    return _environment(folder).get_template(template).render({**values, **shared}).encode()


def put(path: Path, content: bytes) -> Path:
    """Write a file beside its place and rename it, so that nobody ever sees half of it.

    Args:
        path: where it goes; missing folders are made.
        content: all of it.

    Returns:
        The path.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor is no path
            file.write(content)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return path


@functools.cache
def _environment(folder: Path) -> Environment:
    return Environment(
        loader=FileSystemLoader([folder, TEMPLATES]),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@functools.cache
def _style() -> str:
    return (TEMPLATES / "style.css").read_text(encoding="utf-8").strip()


def _finalize(value: object) -> object:
    """Make plain whatever a template prints, except for what a macro of ours has already built."""
    return value if isinstance(value, Markup) else plain(str(value))
