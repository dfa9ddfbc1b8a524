"""Notebooks of the chapters: the same cells, in the words of the pages, and they run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from support import ROOT

from shardwise_book.crossref import Label
from shardwise_book.elsewhere import report, runners
from shardwise_book.notebooks import Words, is_for_running, notebook, sources
from shardwise_book.scan import scan

PAGE = """# The ring {#sec-ring}

::: {.callout-note title="The question about $N$"}
How many? See @sec-ring, [-@fig-one] and [the end](end.qmd#sec-end).
:::

A [term](glossary.qmd#term-x){.term}, after @ho2020, says [@ho2020; @li2019, p. 3]
of `@sec-ring` `{python} 6 * 7`.

$$
x = 1
$$ {#eq-x}

::: {#fig-one}

```{python}
#| echo: false
x = 1
```

The caption.

:::

```{python}
#| output: asis
quoted = "quoted"
print(quoted)
```

```text
@sec-ring stays
```

```{python}
#| output: asis
z = 3
print(f"| {z} |")
```

::: {.callout-tip title="A box"}
Before.

```{python}
y = x + z
```
:::
"""
TEXT = {"output_type": "execute_result", "data": {"text/plain": "42"}}
ASIS = {
    "output_type": "stream",
    "name": "stdout",
    "text": "```python\ndef ring(): ...\n```\n:::: {.quiz}\n\nWhy @eq-x?\n\n::::\n",
}


@pytest.fixture
def cells(tmp_path):
    (tmp_path / "ring.qmd").write_text(PAGE)
    chapter = scan(tmp_path, "ring.qmd")
    labels = {
        name: Label(name, name.split("-")[0], number, "ring.qmd")
        for name, number in {"sec-ring": "2", "fig-one": "2.1", "eq-x": "2.7"}.items()
    }
    words = Words(labels, {"ho2020": "Ho 2020", "li2019": "Li 2019"}, frozenset({"ring", "end"}))
    assert is_for_running(chapter)
    text = notebook(chapter, [[TEXT], [], [ASIS], [ASIS], []], words)
    nbformat.validate(nbformat.reads(text, as_version=4))
    return [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]]


def test_cells_stand_between_text_in_reading_order(cells):
    kinds = [kind for kind, _ in cells]
    assert kinds == ["markdown", "markdown", "code", "markdown", "code", "markdown", "code"]
    code = [text for kind, text in cells if kind == "code"]
    assert code == ["x = 1", 'z = 3\nprint(f"| {z} |")', "y = x + z"], "what a later cell may need"


def test_the_text_is_in_the_words_of_the_page(cells):
    before, after = cells[1][1], cells[3][1]
    assert before.startswith("# The ring\n\n> **The question about $N$**\n>\n> How many? See")
    assert "See Section 2, 2.1 and [the end](end.ipynb)." in before
    assert (
        "A [term](../chapter/glossary.html), after Ho 2020, says (Ho 2020; Li 2019, p. 3)" in before
    )
    assert "of `@sec-ring` 42." in before
    assert before.endswith("$$\nx = 1\n\\tag{2.7}\n$$")
    assert after.startswith("The caption.\n\n```python\ndef ring(): ...\n```\n\nWhy Equation 2.7?")
    assert after.endswith("@sec-ring stays\n```")
    assert cells[5][1] == "> **A box**\n>\n> Before."
    assert ":::" not in before + after


def test_sources_are_named_by_their_authors():
    def entry(*names):
        return {"id": "a", "author": [{"family": name} for name in names], "title": "T"}

    assert sources([entry("A", "B", "C")]) == {"a": "A et al."}
    assert sources([entry("A", "B") | {"issued": {"date-parts": [[2009, 1]]}}]) == {
        "a": "A and B 2009"
    }
    assert sources([entry()]) == {"a": "T"}


def test_the_address_of_the_repository_leads_to_all_places():
    repo = "https://github.com/someone/shard-wise.book"
    names = dict(runners(repo, "notebooks/ring.ipynb"))
    assert names["Colab"].endswith(
        "github/someone/shard-wise.book/blob/gh-pages/notebooks/ring.ipynb"
    )
    assert names["JupyterLab on Binder"].endswith("?labpath=notebooks%2Fring.ipynb")
    assert runners("https://example.org/x/y", "n.ipynb") == runners(None, "n.ipynb") == []
    assert report(repo + "/", "A & B", "a.html").startswith(f"{repo}/issues/new?title=A+%26+B")


RUN = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell

for path in sys.argv[1:]:
    shell = InteractiveShell()
    for cell in json.load(open(path, encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            result = shell.run_cell("".join(cell["source"]), store_history=False, silent=True)
            if not result.success:
                sys.exit(f"{path}: {''.join(cell['source'])}")
"""


@pytest.mark.long
def test_every_notebook_of_the_book_runs(tmp_path):
    book = tmp_path / "book"
    build = [sys.executable, "-m", "shardwise_book", "build", "--output", str(book)]
    subprocess.run(build, cwd=ROOT, check=True)
    found = sorted(str(path) for path in Path(book, "notebooks").glob("*.ipynb"))
    assert found
    for path in found:
        nbformat.validate(nbformat.read(path, as_version=4))
    environment = {**os.environ, "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, "-c", RUN, *found],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
