"""One book that uses every part of the subset, built once and read as HTML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from book.books import Book, words

if TYPE_CHECKING:
    from pathlib import Path

    from bs4 import Tag

FEATURES = r"""---
description: All that the subset holds.
---

# The features {#sec-features}

See @sec-deep, @fig-cell, @fig-div, @fig-file, @tbl-pipe,
@tbl-cell, @eq-sum, @sec-other and [-@fig-cell].
Two at once: [@fig-cell; @tbl-pipe].
An agreement with @knuth1984, and in parentheses [@lamport1978, p. 7].
A [link](other.qmd#sec-other) and a note.[^1]

[^1]: The text of the note.

## First section {#sec-first}

```{python}
value = 6
print(value)
print("to stdout")
value + 1
```

Inline: `{python} value * 1000` and `{python} f"{value:.1f} *stars*"` in one line.
The syntax is ``{python} value``, quoted.

### Deeper {#sec-deep}

```{python}
#| echo: false
#| output: asis
print("**bold** from a cell")
```

```{python}
#| code-fold: true
#| code-summary: "How \"it\" is made"
folded = True
```

```{python}
#| output: false
print("never seen")
```

```{python}
#| include: false
hidden = "never seen either"
print(hidden)
```

```{python}
#| warning: true
import sys
print("careful", file=sys.stderr)
```

```{python}
#| warning: false
print("quiet now", file=sys.stderr)
```

```{python}
#| label: fig-cell
#| fig-cap: A square, *drawn* by a cell; see @tbl-pipe.
#| fig-alt: 'A square, "filled" & \ black'
#| echo: false
from IPython.display import SVG, Markdown
SVG('<svg xmlns="http://www.w3.org/2000/svg"><rect width="1" height="1"/></svg>')
```

::: {#fig-div}

````{python}
#| echo: false
Markdown('''
::: {.content-visible when-format="html:js"}
```{=html}
<p class="live">live</p>
```
:::

::: {.content-visible unless-format="html:js"}
still
:::
''')
````

A div around a cell.

:::

![From a file](picture.svg){#fig-file fig-alt="A dot"}

| a | b |
|:--|--:|
| 1 | 2 |

: A pipe table {#tbl-pipe}

::: {#tbl-cell}

```{python}
#| echo: false
#| output: asis
print("| x |\n|---|\n| 1 |")
```

A table from a cell.

:::

$$
s = \sum_i x_i
$$ {#eq-sum}

Inline math $x^2$.

## Boxes {.unnumbered}

::: {.callout-note title="The *question*"}
What?
:::

::: {.callout-tip}
## Key insight
That.
:::

::: {.callout-warning collapse="true"}
Folded.

::: {.callout-important title="Inner"}
Nested.
:::
:::

::: {.mine}
My own class.
:::

::: {.content-hidden when-format="html"}
Not for HTML.
:::

```python
fenced = "code"
```
"""

OTHER = """---
title: The "other" & last
---

## A section {#sec-other}

Back to @fig-cell and @eq-sum as in [@knuth1984].

::: {#fig-second}

![](picture.svg){fig-alt="A dot again"}

The first figure of this chapter.

:::
"""

BIBLIOGRAPHY = """
@misc{knuth1984, author={Knuth, Donald}, title={Literate programming}, year={1984}}
@misc{lamport1978, author={Lamport, Leslie}, title={Time}, year={1978}}
@misc{unused2000, author={Nobody, No}, title={Never cited}, year={2000}}
"""
DOT = '<svg xmlns="http://www.w3.org/2000/svg"><circle r="1"/></svg>'


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    root = tmp_path_factory.mktemp("a book with a space")
    chapters = {
        "index.qmd": "# Welcome {.unnumbered}\n\nStart with @sec-features or @fig-cell.\n",
        "chapter/features.qmd": FEATURES,
        "chapter/other.qmd": OTHER,
        "chapter/references.qmd": "# References {.unnumbered}\n\n::: {#refs}\n:::\n",
    }
    made = Book(root, chapters, "bibliography: chapter/references.bib\n")
    made.write("chapter/references.bib", BIBLIOGRAPHY)
    made.write("chapter/picture.svg", DOT)
    report = made.build()
    assert report.executed == ["chapter/features.qmd"]
    return made


@pytest.fixture
def page(book: Book) -> Tag:
    return book.page("chapter/features.html")


def one(page: Tag, selector: str) -> Tag:
    found = page.select(selector)
    assert len(found) == 1, f"{selector}: {len(found)} elements"
    return found[0]


def test_sections_and_chapters_have_numbers(book: Book, page: Tag) -> None:
    headings = [words(h) for h in page.select("h2, h3")]
    assert headings == ["1.1 First section", "1.1.1 Deeper", "Boxes"]
    assert words(one(page, "h1#sec-features")) == "The features"
    assert words(one(book.page("chapter/other.html"), "h2")) == "2.1 A section"
    assert words(one(book.page("chapter/other.html"), "h1")) == 'The "other" & last'
    assert "Chapter" not in words(one(book.page("index.html"), "header"))


@pytest.mark.parametrize(
    ("name", "target", "text"),
    [
        ("deep", "#sec-deep", "Section 1.1.1"),
        ("cell", "#fig-cell", "Figure 1.1"),
        ("div", "#fig-div", "Figure 1.2"),
        ("file", "#fig-file", "Figure 1.3"),
        ("pipe", "#tbl-pipe", "Table 1.1"),
        ("table", "#tbl-cell", "Table 1.2"),
        ("equation", "#eq-sum", "Equation 1.1"),
        ("other page", "other.html#sec-other", "Section 2.1"),
        ("bare", "#fig-cell", "1.1"),
    ],
)
def test_references_are_numbered_links(page: Tag, name: str, target: str, text: str) -> None:
    links = [words(a) for a in page.select("a.quarto-xref") if a["href"] == target]
    assert text in links


def test_references_lead_to_other_folders(book: Book) -> None:
    links = {a["href"]: words(a) for a in book.page("index.html").select("a.quarto-xref")}
    assert links == {
        "chapter/features.html#sec-features": "Chapter 1",
        "chapter/features.html#fig-cell": "Figure 1.1",
    }


def test_two_references_in_one_bracket(page: Tag) -> None:
    assert "Two at once: Figure 1.1, Table 1.1." in words(page)


def test_floats_hold_content_and_caption(page: Tag) -> None:
    figure = one(page, "#fig-cell figure")
    assert words(figure.figcaption) == "Figure 1.1: A square, drawn by a cell; see Table 1.1."
    assert one(figure, "img")["alt"] == 'A square, "filled" & \\ black'
    assert words(one(page, "#fig-div figcaption")) == "Figure 1.2: A div around a cell."
    assert words(one(page, "#fig-file figcaption")) == "Figure 1.3: From a file"
    assert one(page, "#fig-file img")["alt"] == "A dot"
    for name, caption in (("pipe", "A pipe table"), ("cell", "A table from a cell.")):
        table = one(page, f"#tbl-{name} figure")
        assert words(table.figcaption).endswith(caption)
        assert table.select_one("figcaption ~ * table, figcaption ~ table") is not None


def test_images_are_copied_and_written(book: Book, page: Tag) -> None:
    for image in page.select("img"):
        assert (book.output / "chapter" / str(image["src"])).is_file()
    assert (book.output / "chapter/picture.svg").read_text(encoding="utf-8") == DOT


def test_equation_is_mathml_with_its_number_beside_it(page: Tag) -> None:
    formula, number = one(page, "#eq-sum").find_all("span", recursive=False)
    assert "1.1" not in one(formula, "math[display=block]").get_text()
    assert words(number) == "(1.1)"
    assert number["class"] == ["equation-number"]
    assert len(page.select("math")) == 2


def test_cells_show_code_and_outputs(page: Tag) -> None:
    first = page.select("div.cell")[0]
    assert words(one(first, "code.sourceCode")).startswith("value = 6")
    outputs = [words(output) for output in first.select(".cell-output")]
    assert outputs == ["6 to stdout", "7"]
    assert first.select("code span.dv")


def test_cell_options(page: Tag) -> None:
    shown = " ".join(words(output) for output in page.select(".cell-output"))
    assert "never seen" not in shown
    assert "quiet now" not in shown
    assert "hidden" not in words(page)
    assert words(one(page, ".cell-output-stderr")) == "careful"
    assert [words(b) for b in page.select("div.cell > p > strong")] == ["bold"]
    fold = one(page, "details.code-fold")
    assert words(fold.summary) == 'How "it" is made'
    assert words(fold.code) == "folded = True"
    assert "open" not in fold.attrs


def test_inline_results_are_text(page: Tag) -> None:
    assert "Inline: 6000 and 6.0 *stars* in one line." in words(page)
    assert "The syntax is {python} value, quoted." in words(page)


def test_conditional_content(page: Tag) -> None:
    figure = one(page, "#fig-div")
    assert one(figure, "p.live")
    assert "still" not in words(figure)
    assert "Not for HTML" not in words(page)


def test_callouts(page: Tag) -> None:
    note = one(page, "div.callout-note")
    assert note["class"] == ["callout", "callout-style-default", "callout-note", "callout-titled"]
    assert one(note, ".callout-title-container em").get_text() == "question"
    assert words(one(note, ".callout-body")) == "What?"
    tip = one(page, "div.callout-tip")
    assert "Key insight" in words(one(tip, ".callout-title-container"))
    folded = one(page, "details.callout-warning")
    assert "open" not in folded.attrs
    assert words(one(folded, ":scope > summary .callout-title-container")) == "Warning: Warning"
    assert not folded.select(":scope > summary div")  # a summary may hold no block
    assert words(one(folded, "div.callout-important .callout-body")) == "Nested."
    assert "Key insight" not in [words(h) for h in page.select("h2")]


def test_citations_lead_to_the_one_list(book: Book, page: Tag) -> None:
    assert "Knuth (1984)" in words(page)
    assert "(Lamport 1978, 7)" in words(page)
    assert page.select('a[href="references.html#ref-knuth1984"]')
    assert not page.select("#refs .csl-entry")
    entries = book.page("chapter/references.html").select("#refs .csl-entry")
    assert [str(entry["id"]) for entry in entries] == ["ref-knuth1984", "ref-lamport1978"]


def test_links_footnotes_and_own_classes(page: Tag) -> None:
    assert words(one(page, 'a[href="other.html#sec-other"]:not(.quarto-xref)')) == "link"
    assert "The text of the note." in words(one(page, "section.footnotes"))
    assert words(one(page, "div.mine")) == "My own class."


def test_nothing_is_left_over(book: Book) -> None:
    for name, content in book.content().items():
        if name.endswith(".html"):
            assert not re.search(rb"sw-ref|:::|\{#|\?@", content), name


def test_the_same_book_is_the_same_bytes(book: Book, tmp_path: Path) -> None:
    first = book.content()
    (book.output / "index.html").unlink()
    (book.root / ".shardwise/cache/built.json").unlink()
    (book.output / "index.html").write_text("touched", encoding="utf-8")
    assert book.build().executed == []
    assert book.content() == first


def test_without_a_list_of_references_each_page_has_its_own(tmp_path: Path) -> None:
    chapters = {"one.qmd": "# One\n\nBy @knuth1984.\n", "two.qmd": "# Two\n\nNobody.\n"}
    book = Book(tmp_path, chapters, "bibliography: references.bib\n")
    book.write("references.bib", BIBLIOGRAPHY)
    book.build()
    page = book.page("one.html")
    assert page.select('a[href="#ref-knuth1984"]')
    assert [str(entry["id"]) for entry in page.select("#refs .csl-entry")] == ["ref-knuth1984"]
    assert [words(h) for h in page.select("h2")] == ["References"]
    assert not book.page("two.html").select("h2, #refs")


def test_resources_lie_where_links_expect_them_and_bring_a_build_about(tmp_path: Path) -> None:
    book = Book(tmp_path, {"a/one.qmd": "# One {#sec-one}\n\n[A file](files/x.ipynb)\n"})
    settings = (tmp_path / "_quarto.yml").read_text(encoding="utf-8")
    resources = "  execute-dir: project\n  resources: [a/files/x.ipynb]\n"
    book.write("_quarto.yml", settings.replace("  execute-dir: project\n", resources))
    for content in ("{}", "[]"):
        book.write("a/files/x.ipynb", content)
        assert book.build().changed
        assert (book.output / "a/files/x.ipynb").read_text(encoding="utf-8") == content
    assert not book.build().changed
    (tmp_path / "a/files/x.ipynb").unlink()
    (found,) = book.problems()
    assert "file 'a/files/x.ipynb' does not exist" in found.message
