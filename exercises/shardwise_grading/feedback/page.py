"""Pages that stand alone: no script, no outside address, and no student's text taken for markup."""

from __future__ import annotations

import base64
import functools
import hashlib
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
