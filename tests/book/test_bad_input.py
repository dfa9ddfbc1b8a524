"""Each mistake an author can make stops the build with file, line and remedy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from book.books import SETTINGS, Book

from shardwise_book.compose import Composed
from shardwise_book.errors import BookError
from shardwise_book.outputs import render_cell, render_inline
from shardwise_book.scan import Cell, Line, scan

if TYPE_CHECKING:
    from pathlib import Path


def assert_found(book: Book, file: str, line: int | None, message: str, remedy: str) -> None:
    """The mistake is the only one that the build names, with its place and what would be right."""
    (problem,) = book.problems()
    assert (problem.file, problem.line) == (file, line)
    assert message in problem.message
    assert remedy in problem.remedy


# What stands in the chapter after its title and an empty line; the line, the message, the remedy.
TEXT_MISTAKES = {
    "unknown figure": ("See @fig-none.", 3, "'fig-none'", "there is none of this kind"),
    "near miss": ("See @sec-ona.", 3, "'sec-ona'", "labels of this kind: sec-one"),
    "missing key": ("As in [@nobody2000].", 3, "no entry 'nobody2000'", "add the entry"),
    "key after reference": ("See @sec-one [@knuth1984].", 3, "shares a citation", "a word before"),
    "duplicate label": ("## A {#sec-a}\n\n## B {#sec-a}", 5, "'sec-a' is used twice", "of its own"),
    "reference without number": (
        "## A {#sec-a .unnumbered}\n\n@sec-a",
        5,
        "'sec-a' has no number",
        "write a link",
    ),
    "unknown div": ("::: {.panel-tabset}\n:::", 3, "class 'panel-tabset'", "the subset"),
    "unknown span": ("A [word]{.aside}.", 3, "class 'aside'", "the subset"),
    "unknown callout attribute": (
        '::: {.callout-note icon="false"}\nText.\n:::',
        3,
        "attribute 'icon'",
        "leave it out",
    ),
    "open div": ("::: {.callout-note}\nText.", 3, "not closed", "':::'"),
    "closed twice": ("Text.\n\n:::", 5, "closes nothing", "open a div"),
    "div glued to text": (
        "Text.\n::: {.callout-note}\nText.\n:::",
        4,
        "':::' is read as text",
        "empty line",
    ),
    "open fence": ("```python\nx = 1", 3, "not closed", "```"),
    "shortcode": ("{{< video a.mp4 >}}", 3, "shortcodes", "itself"),
    "other language": ("```{r}\n1\n```", 3, "cannot run a cell '{r}'", "```{python}"),
    "cell with attributes": ("```{python #a}\n1\n```", 3, "'{python #a}'", "#| key: value"),
    "indented cell": ("- a\n\n  ```{python}\n  1\n  ```", 5, "indented", "first column"),
    "code with attributes": (
        '```{.python filename="a.py"}\n1\n```',
        3,
        "code block",
        "```language",
    ),
    "other inline": ("So `{r} 1 + 1` is.", 3, "`{r} 1 + 1`", "`{python} expression`"),
    "bad option": ("```{python}\n#| ecco: false\n1\n```", 4, "unknown setting 'ecco'", "echo"),
    "bad value": (
        "```{python}\n\n```\n\n```{python}\n#| echo: maybe\n1\n```",
        8,
        "'maybe'",
        "true or false",
    ),
    "bad YAML": ("```{python}\n#| echo: [\n1\n```", 4, "broken YAML", "key: value"),
    "figure cell without caption": (
        "```{python}\n#| label: fig-a\n1\n```",
        3,
        "no caption",
        "fig-cap",
    ),
    "caption without label": ("```{python}\n#| fig-cap: A\n1\n```", 3, "needs a label", "fig-name"),
    "table cell": ("```{python}\n#| label: tbl-a\n1\n```", 3, "cannot be 'tbl-a'", "::: {#tbl-a}"),
    "figure without caption": (
        '::: {#fig-a}\n![](dot.svg){fig-alt="A"}\n:::',
        3,
        "no caption",
        "paragraph",
    ),
    "image without alt text": ("Text.\n\n![](dot.svg)", 5, "no alt text", 'fig-alt="…"'),
    "missing image": ("![A dot](dott.svg)", 3, "'dott.svg' does not exist", "relative"),
    "image outside": ("![A dot](../../../dot.svg)", 3, "does not exist", "inside the project"),
    "missing chapter": ("[x](two.qmd#sec-two)", 3, "'two.qmd' is no chapter", "relative"),
    "second title": ("# Again", 3, "one title", "'##'"),
    "equation label nowhere": ("Text {#eq-a}", 3, "belongs to nothing", "equation"),
    "raw LaTeX": ("A \\newpage here.", 3, "raw tex", "{=html}"),
    "broken equation": ("$$ \\frac{1 $$", 3, "CouldNotConvertTeXMath", "correct"),
    "unknown attribute on image": (
        '![A](dot.svg){fig-align="left"}',
        3,
        "'fig-align'",
        "leave it out",
    ),
}


@pytest.mark.parametrize("name", TEXT_MISTAKES)
def test_text_mistakes(tmp_path: Path, name: str) -> None:
    text, line, message, remedy = TEXT_MISTAKES[name]
    book = Book(
        tmp_path, {"chapter/one.qmd": f"# One {{#sec-one}}\n\n{text}\n"}, "bibliography: a.bib\n"
    )
    book.write("a.bib", "@misc{knuth1984, title={Literate programming}}\n")
    book.write("chapter/dot.svg", "<svg/>")
    book.write("_book/index.html", "the previous book")
    book.write("_book/.shardwise-book", "")
    assert_found(book, "chapter/one.qmd", line, message, remedy)


CELL_MISTAKES = """# Cells

```{python}
def deep():
    raise OSError("no such luck")
```

```{python}
x = 1

deep()
```
"""


def test_a_cell_that_raises(tmp_path: Path) -> None:
    (problem,) = Book(tmp_path, {"chapter/one.qmd": CELL_MISTAKES}).problems()
    assert str(problem).startswith("chapter/one.qmd:11: the cell raised OSError: no such luck")
    assert "correct the cell" in problem.remedy


def test_an_inline_expression_that_raises(tmp_path: Path) -> None:
    (problem,) = Book(
        tmp_path, {"one.qmd": "# One\n\nText.\n\nIs `{python} 1 / 0` much?\n"}
    ).problems()
    assert (problem.file, problem.line) == ("one.qmd", 5)
    assert "ZeroDivisionError" in problem.message


def test_a_kernel_that_dies(tmp_path: Path) -> None:
    text = "# One\n\n```{python}\nimport os\nos._exit(3)\n```\n"
    (problem,) = Book(tmp_path, {"one.qmd": text}).problems()
    assert (problem.line, problem.message) == (4, "the kernel died")


OUTPUTS = """# Outputs

```{python}
from IPython.display import HTML, Latex, SVG
HTML("<b>bold</b>")
```

```{python}
Latex("$x$")
```

```{python}
import warnings
warnings.warn("about to change")
```

```{python}
SVG('<svg xmlns="http://www.w3.org/2000/svg"/>')
```

Nothing: `{python} None`.
"""


def test_outputs_that_a_page_cannot_show(tmp_path: Path) -> None:
    book = Book(tmp_path, {"one.qmd": OUTPUTS})
    html, latex, stderr, nothing = book.problems()
    assert (html.line, html.message) == (3, "the cell's output is text/html")
    assert "load scripts from another site" in html.remedy
    assert (latex.line, latex.message) == (8, "the cell's output is text/latex")
    assert stderr.line == 12
    assert "stderr" in stderr.message
    assert "#| warning: true" in stderr.remedy
    assert nothing.line == 21
    lines = OUTPUTS.split("\n")
    book.write(
        "one.qmd",
        "# One\n\n" + "\n".join([*lines[2:4], "```", *lines[15:19]]),
    )
    (alt,) = book.problems()
    assert (alt.line, "no alt text" in alt.message, "fig-alt" in alt.remedy) == (7, True, True)


# What is replaced in the settings, and by what; the line, the message, the remedy.
SETTINGS_MISTAKES = {
    "unknown key": (
        ("book:\n", "book:\n  sidebar: true\n"),
        6,
        "unknown setting 'book.sidebar'",
        "one of appendices, author, chapters",
    ),
    "wrong value": (
        ("mathml", "katex"),
        11,
        "'format.html.html-math-method' is 'katex'",
        "expected mathml",
    ),
    "missing file": (("style.css", "stile.css"), 13, "'stile.css' does not exist", "create it"),
    "missing chapter": (
        ("[index.qmd", "[index.qmd, none.qmd"),
        8,
        "'none.qmd' does not exist",
        "correct the path",
    ),
    "no index": (
        ("[index.qmd", "[one.qmd, index.qmd"),
        8,
        "a book starts with index.qmd",
        "list index.qmd first",
    ),
    "twice": (
        ("[index.qmd", "[index.qmd, index.qmd"),
        8,
        "'index.qmd' is listed twice",
        "list each chapter once",
    ),
    "same key": (("lang: en\n", "lang: en\nlang: en\n"), 5, "'lang' is set twice", "each key once"),
    "required": (
        ("    number-sections: true\n", ""),
        None,
        "'format.html.number-sections' is missing",
        "expected true",
    ),
    "broken": (("lang: en", "lang: [en"), 5, "broken YAML", "'key: value' on each line"),
    "not a mapping": (
        ("  type: book\n  execute-dir: project\n", "  - book\n"),
        2,
        "not a mapping",
        "execute-dir, output-dir, resources, type",
    ),
}


@pytest.mark.parametrize("name", SETTINGS_MISTAKES)
def test_settings_mistakes(tmp_path: Path, name: str) -> None:
    (old, new), line, message, remedy = SETTINGS_MISTAKES[name]
    book = Book(tmp_path, {})
    book.write("one.qmd", "# One\n")
    settings = SETTINGS.format(chapters="index.qmd", more="")
    assert old in settings
    book.write("_quarto.yml", settings.replace(old, new, 1))
    assert_found(book, "_quarto.yml", line, message, remedy)


def test_a_title_is_needed_once(tmp_path: Path) -> None:
    chapters = {
        "a.qmd": "Text.\n",
        "b.qmd": "---\ntitle: B\n---\n\n# B\n",
        "c.qmd": "---\ntitle: C\n",
    }
    messages = [(p.file, p.message) for p in Book(tmp_path, chapters).problems()]
    assert ("a.qmd", "the chapter has no title") in messages
    assert ("b.qmd", "two titles: front matter and '# …'") in messages
    assert ("c.qmd", "the front matter does not end") in messages


def test_mistakes_of_all_chapters_are_listed_together(tmp_path: Path) -> None:
    chapters = {f"{name}.qmd": f"# {name}\n\n@fig-{name} and @nobody\n" for name in "ab"}
    lines = [f"{p.file}:{p.line}" for p in Book(tmp_path, chapters).problems()]
    assert lines == ["a.qmd:3", "b.qmd:3"]  # a missing key is found before a missing figure


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    book = Book(tmp_path, {"one.qmd": ""})
    (tmp_path / "one.qmd").write_bytes(b"# One\n\xff\n")
    (problem,) = book.problems()
    assert "UTF-8" in problem.message


def test_a_page_that_the_check_refuses(tmp_path: Path) -> None:
    text = '# One\n\n```{=html}\n<script src="https://example.org/a.js"></script>\n```\n'
    (problem,) = Book(tmp_path, {"one.qmd": text}).problems()
    assert (problem.file, problem.line) == ("one.qmd", 4)
    assert problem.message.startswith("its page one.html: ")
    assert "example.org" in problem.message


def test_a_stylesheet_that_the_check_refuses(tmp_path: Path) -> None:
    book = Book(tmp_path, {})
    book.write("style.css", "\n@import 'https://example.org/a.css';\n")
    (problem,) = book.problems()
    assert (problem.file, problem.line) == ("style.css", 2)


def test_titles_and_notes_get_into_nobodys_way(tmp_path: Path) -> None:
    names = ("Main", "Menu", "Toc", "Announce", "Search box")
    text = "".join(f"## {name}\n\n" for name in names)
    book = Book(tmp_path, {"one.qmd": f"# One\n\n{text}## A [link](#main)^[A note.]\n"})
    book.build()
    book.write("one.qmd", "# One^[A note.]\n")
    (problem,) = book.problems()
    assert (problem.line, "footnote" in problem.message) == (1, True)


@pytest.mark.parametrize("kind", ["file", "project", "strange"])
def test_the_output_folder_must_be_a_book(tmp_path: Path, kind: str) -> None:
    book = Book(tmp_path, {})
    if kind == "file":
        book.write("_book", "a file")
    elif kind == "project":
        book.write(
            "_quarto.yml",
            SETTINGS.format(chapters="index.qmd", more="").replace(
                "type: book", "type: book\n  output-dir: ."
            ),
        )
    else:
        book.write("_book/holiday.txt", "precious")
    (problem,) = book.problems()
    assert "the output folder" in problem.message
    assert "empty folder" in problem.remedy


FENCES = """# Fences

{marker}```python
{indent}x = "`{{r}} 1`"
{indent}```

After.
"""


@pytest.mark.parametrize("marker", ["- ", "1. ", "> ", "> - ", "[^1]: ", "(a) ", ":   ", "- - "])
def test_a_fence_behind_a_marker_is_a_fence(tmp_path: Path, marker: str) -> None:
    indent = "".join(">" if character == ">" else " " for character in marker)
    Book(tmp_path, {"one.qmd": FENCES.format(marker=marker, indent=indent)})
    lines = scan(tmp_path, "one.qmd").parts
    assert [part.verbatim for part in lines if isinstance(part, Line)][2:] == [
        *[True] * 3,
        *[False] * 2,
    ]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("<!-- \n# One\n-->\n\nText.\n", 2, "the chapter has no title"),
        ('::: {.content-hidden when-format="html"}\n# One\n:::\n', 2, "the chapter has no title"),
        ("Words\n# One\n", 2, "the chapter has no title"),
        ("---\ntitle: 2024-99-99\n---\n", 2, "YAML that cannot be read"),
        ('---\ntitle: "a\\0b"\n---\n', 2, "'title' is"),
        ('---\ntitle: "\\ud800"\n---\n', 2, "'title' is"),
        (f"---\ntitle: {'[' * 3000}\n---\n", 2, "YAML that cannot be read"),
        ("---\ntitle: \x01\n---\n", 2, "YAML that cannot be read"),
        ("# One\n\n    - ```\n    `{python} 1`\n", 3, "not closed"),
        ("# One\n\n    ```\n\nSo `{python} 1`.\n\n    ```\n", 5, "stands where it is not run"),
        ("# One\n\n<a href='http://['>x</a>\n", None, "cannot be read"),
    ],
)
def test_what_no_reader_expects(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    problems = Book(tmp_path, {"one.qmd": text}).problems()
    problem = next(problem for problem in problems if message in problem.message)
    assert "fault of the builder" not in problem.message
    assert line is None or (problem.file, problem.line) == ("one.qmd", line)


def test_a_byte_order_mark_is_no_obstacle(tmp_path: Path) -> None:
    book = Book(tmp_path, {})
    book.write("one.qmd", "\ufeff---\ntitle: One\n---\n")
    assert scan(tmp_path, "one.qmd").title == "One"


@pytest.mark.parametrize("what", ["css: style.css", "include-in-header: style.css"])
def test_an_included_file_that_is_not_text(tmp_path: Path, what: str) -> None:
    book = Book(tmp_path, {})
    settings = SETTINGS.format(chapters="index.qmd", more="").replace("css: style.css", what)
    book.write("_quarto.yml", settings)
    (tmp_path / "style.css").write_bytes(b"\xff")
    (problem,) = book.problems()
    assert (problem.file, "not UTF-8" in problem.message) == ("style.css", True)


def test_a_bibliography_may_be_long_and_the_broken_one_is_named(tmp_path: Path) -> None:
    book = Book(tmp_path, {"one.qmd": "# One\n"}, "bibliography: [a.bib, b.bib]\n")
    book.write("a.bib", "".join(f"@misc{{{'k' * 80}{i}, title={{T}}}}\n" for i in range(2000)))
    book.write("b.bib", "")
    book.build()
    book.write("b.bib", "@misc{a, title={")
    (problem,) = book.problems()
    assert (problem.file, "pandoc cannot read it" in problem.message) == ("b.bib", True)


CELL = Cell(3, 4, "1", {"fig-alt": "A"})


def result(data: dict[str, str], kind: str = "execute_result") -> dict[str, Any]:
    return {"output_type": kind, "data": data}


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (result({}), "the cell's output is empty"),
        (result({"image/png": "a"}), "the cell's image/png is damaged"),
        (result({"image/svg+xml": "\ud800"}), "the cell's image/svg+xml is damaged"),
        ({"output_type": "stream", "name": "stderr", "text": "\n"}, None),
    ],
)
def test_strange_outputs(output: dict[str, Any], message: str | None) -> None:
    problems = render_cell("one.qmd", CELL, [output], "x").problems
    assert len(problems) == (message is not None)
    assert all(message in str(problem) for problem in problems if message)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([result({"text/html": "<b>"})], "nothing to show"),
        (
            [
                {"output_type": "stream", "name": "stderr", "text": "Warn\n"},
                result({"text/plain": "1"}),
            ],
            "stderr: Warn",
        ),
    ],
)
def test_strange_inline_outputs(outputs: list[dict[str, Any]], message: str) -> None:
    (problem,) = render_inline("one.qmd", 3, outputs)[1]
    assert message in problem.message


def test_half_a_character(tmp_path: Path) -> None:
    with pytest.raises(BookError, match=r"one\.qmd:3: .*lone surrogate"):
        Composed("one.qmd").add("\ud800", 3)
    assert not list(tmp_path.iterdir())


def test_a_fault_of_the_builder_names_the_chapter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("shardwise_book.chapters.convert", fail)
    book = Book(tmp_path, {"one.qmd": "# One\n"})
    assert [problem.file for problem in book.problems()] == ["index.qmd", "one.qmd"]
    (problem, _) = book.problems()
    assert "a fault of the builder, converting it: KeyError: 'x'" in problem.message


@pytest.mark.parametrize(
    "kept", ["[]", '{"folder": 1}', '{"folder": "F", "inputs": "I", "files": 3}']
)
def test_a_damaged_stamp_is_no_obstacle(tmp_path: Path, kept: str) -> None:
    book = Book(tmp_path, {})
    book.build()
    stamp = tmp_path / ".shardwise/cache/built.json"
    state = json.loads(stamp.read_text(encoding="utf-8"))
    for key, letter in (("folder", "F"), ("inputs", "I")):
        kept = kept.replace(f'"{letter}"', json.dumps(state[key]))
    stamp.write_text(kept, encoding="utf-8")
    assert book.build().changed
