"""The book offers the notebooks of the release, and holds neither hidden checks nor solutions."""

from __future__ import annotations

import subprocess
import sys

import pytest
from leaks import leaks
from support import ROOT

DOWNLOADS = ROOT / "chapter" / "exercises"
FILES = sorted(path.name for path in DOWNLOADS.iterdir())


def test_the_book_offers_them_and_nothing_more():
    """Built by `make test` before the suites run; only what changed since is made anew."""
    output = ROOT / ".shardwise" / "tested"
    command = [sys.executable, "-m", "shardwise_book", "build", "--output", str(output)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    page = (output / "chapter" / "exercises.html").read_text(encoding="utf-8")
    for file in FILES:
        assert f'href="exercises/{file}"' in page or f"/exercises/{file}" in page
        made = (output / "chapter" / "exercises" / file).read_bytes()
        assert made == (DOWNLOADS / file).read_bytes()
    assert leaks(output) == set()


@pytest.mark.long
def test_the_epub_holds_neither_checks_nor_solutions(tmp_path):
    command = [sys.executable, "-m", "shardwise_book", "epub", str(tmp_path / "book.epub")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    assert leaks(tmp_path) == set()
