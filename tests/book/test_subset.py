"""The README's tables name exactly what the builder accepts."""

from __future__ import annotations

import re

import pytest
from support import ROOT

from shardwise_book.config import SCHEMA
from shardwise_book.scan import CELL_OPTIONS, FRONT_MATTER

README = (ROOT / "tools/shardwise_book/README.md").read_text(encoding="utf-8")
FILTER = (ROOT / "tools/shardwise_book/filter.lua").read_text(encoding="utf-8")


def row(first: str) -> set[str]:
    """Return the names in code style of the second column of one row."""
    (found,) = re.findall(rf"^\| {re.escape(first)} \| (.*) \|$", README, re.MULTILINE)
    return set(re.findall(r"`([^`]+)`", found))


@pytest.mark.parametrize("name", ["project", "book"])
def test_settings(name: str) -> None:
    assert row(f"`{name}`") == set(SCHEMA[name])


def test_top_and_format() -> None:
    assert row("at the top") == set(SCHEMA)
    assert row("`format.html`") == set(SCHEMA["format"]["html"])


def test_front_matter() -> None:
    assert row("front matter") == set(FRONT_MATTER)


def test_cell_options() -> None:
    table = README[README.index("| option |") :].partition("\n\n")[0]
    first = [line.split("|")[1] for line in table.splitlines()[2:]]
    assert {name for cell in first for name in re.findall(r"`([^`]+)`", cell)} == set(CELL_OPTIONS)


def test_callouts() -> None:
    (table,) = re.findall(r"CALLOUTS = \{(.*)\}", FILTER)
    named = {name.removeprefix("::: {.callout-").removesuffix("}") for name in row("callouts")}
    assert set(re.findall(r"(\w+) =", table)) <= named
