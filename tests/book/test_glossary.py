"""The glossary: one file for the page and for the terms that explain themselves."""

from __future__ import annotations

import re

import pytest
import yaml
from support import ROOT

from shardwise_book.glossary import glossary, terms

FILE = ROOT / "chapter" / "glossary.yml"
RING = {"term": "ring", "id": "term-ring", "definition": "A circle."}
TREE = {"term": "Tree", "id": "term-tree", "definition": "Not a circle.", "see": "sec-ring"}


@pytest.fixture
def file(tmp_path):
    def write(*entries):
        target = tmp_path / "glossary.yml"
        target.write_text(yaml.safe_dump(list(entries)))
        return target

    return write


def test_every_link_of_the_book_leads_to_an_entry_and_every_entry_is_met():
    known = {term.id for term in terms(FILE)}
    pages = [ROOT / "index.qmd", *(ROOT / "chapter").glob("*.qmd")]
    met = {name for page in pages for name in re.findall(r"#(term-[\w-]+)\)", page.read_text())}
    assert met <= known
    assert known - met == set(), "a term that no page links to"


def test_the_page_has_an_anchor_for_each_term(file, capsys):
    glossary(file(RING, TREE))
    printed = capsys.readouterr().out
    assert "[**ring**]{#term-ring}\n:   A circle.\n" in printed
    assert ":   Not a circle. (@sec-ring)" in printed


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([TREE, RING], "'ring' belongs before 'Tree'"),
        ([RING, RING], "'term-ring' must be one of a kind"),
        ([{**RING, "id": "ring"}], "'ring' must be one of a kind, as 'term-all-reduce'"),
        ([{"term": "ring"}], "must have term, id and definition"),
        ([{**RING, "colour": "red"}], "must have term, id and definition"),
    ],
)
def test_what_is_wrong_with_an_entry_is_said(file, entries, message):
    with pytest.raises(ValueError, match=message):
        terms(file(*entries))
