"""Turns what a cell put out into Markdown: text, Markdown and images, and nothing else."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shardwise_book.errors import Problem

if TYPE_CHECKING:
    from shardwise_book.scan import Cell

IMAGES = {"image/svg+xml": "svg", "image/png": "png", "image/jpeg": "jpg"}
# In the order in which one of several forms of the same result is chosen.
ALLOWED = ("text/markdown", *IMAGES, "text/plain")
WHY_NOT = {
    "text/html": "HTML output makes Quarto load scripts from another site",
    "application/javascript": "script output makes Quarto load scripts from another site",
    "application/vnd.jupyter.widget-view+json": "a live widget needs a kernel, and a page has none",
}
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
MARKDOWN_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>@$^~\"'&:])")


@dataclass
class Rendered:
    """Markdown blocks of one cell, the image files that they show, and what is wrong with them."""

    blocks: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def fenced(text: str, info: str = "") -> str:
    r"""Return the text as a code block whose fence is longer than any inside.

    >>> fenced("x = 1", "python")
    '```python\nx = 1\n```'
    """
    longest = max((len(ticks) for ticks in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{info}\n{text}\n{fence}"


def div(content: str, *classes: str) -> str:
    """Return the content inside a fenced div."""
    return f"::: {{{' '.join('.' + name for name in classes)}}}\n\n{content}\n\n:::"


def render_cell(file: str, cell: Cell, outputs: list[dict[str, Any]], stem: str) -> Rendered:
    """Return the cell's outputs as Markdown blocks.

    Args:
        file: the chapter, for messages.
        cell: the cell with its options.
        outputs: nbformat outputs.
        stem: path of the image files, relative to the chapter, without number and extension.
    """
    rendered = Rendered()
    if cell.options.get("include") is False:
        return rendered
    show = cell.options.get("output", True)
    for output in _merged(outputs):
        if output["output_type"] != "stream":
            if show is not False:
                _display(file, cell, output["data"], f"{stem}-{len(rendered.files) + 1}", rendered)
        elif output["name"] == "stderr":
            _stderr(file, cell, output["text"], rendered)
        elif show == "asis":
            rendered.blocks.append(output["text"])
        elif show:
            text = ANSI.sub("", output["text"]).rstrip("\n")
            rendered.blocks.append(div(fenced(text), "cell-output", "cell-output-stdout"))
    return rendered


def render_inline(file: str, line: int, outputs: list[dict[str, Any]]) -> tuple[str, list[Problem]]:
    """Return the value of an inline expression as Markdown, with plain text escaped."""
    streams = (o for o in _merged(outputs) if o.get("name") == "stderr")
    if said := "".join(o["text"] for o in streams).strip():
        remedy = "remove the cause, or compute it in a cell with '#| warning: true' or 'false'"
        message = f"the inline expression wrote to stderr: {said.splitlines()[-1]}"
        return "", [Problem(file, line, message, remedy)]
    data = next((o["data"] for o in outputs if o["output_type"] == "execute_result"), None)
    if data is None or not {"text/markdown", "text/plain"} & data.keys():
        remedy = "write an expression with a value, and print or assign in a cell"
        return "", [Problem(file, line, "the inline expression gives nothing to show", remedy)]
    if "text/markdown" in data:
        return str(data["text/markdown"]), []
    text = str(data["text/plain"])
    quoted = re.fullmatch(r"(['\"])(.*)\1", text, re.DOTALL)
    return MARKDOWN_SPECIAL.sub(r"\\\1", quoted[2] if quoted else text), []


def _merged(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join neighbouring pieces of one stream, which arrive in pieces of arbitrary size."""
    merged: list[dict[str, Any]] = []
    for output in outputs:
        last = merged[-1] if merged else {}
        if output["output_type"] == "stream" and last.get("name") == output["name"]:
            merged[-1] = last | {"text": last["text"] + output["text"]}
        else:
            merged.append(output)
    return merged


def _stderr(file: str, cell: Cell, text: str, rendered: Rendered) -> None:
    """Show, hide or refuse a warning, as the author decided; without a decision it is a mistake."""
    text = ANSI.sub("", text).strip("\n")
    if not text.strip():
        return
    decision = cell.options.get("warning")
    if decision is None:
        message = f"the cell wrote to stderr: {text.strip().splitlines()[-1]}"
        remedy = "remove the cause, or decide with '#| warning: true' (show) or 'false' (hide)"
        rendered.problems.append(Problem(file, cell.line, message, remedy))
    elif decision:
        rendered.blocks.append(div(fenced(text), "cell-output", "cell-output-stderr"))


def _display(file: str, cell: Cell, data: dict[str, Any], stem: str, rendered: Rendered) -> None:
    for mime in data:
        if mime not in ALLOWED:
            why = WHY_NOT.get(mime, "a book's page shows text, Markdown and images")
            remedy = f"{why}: display text, IPython.display.Markdown or an image instead"
            rendered.problems.append(
                Problem(file, cell.line, f"the cell's output is {mime}", remedy)
            )
            return
    mime = next((name for name in ALLOWED if name in data), "")
    if not mime:
        remedy = "display text, IPython.display.Markdown or an image"
        rendered.problems.append(Problem(file, cell.line, "the cell's output is empty", remedy))
        return
    content = str(data[mime])
    if mime == "text/markdown":
        rendered.blocks.append(
            div(content, "cell-output", "cell-output-display", "cell-output-markdown")
        )
    elif mime == "text/plain":
        rendered.blocks.append(
            div(fenced(ANSI.sub("", content)), "cell-output", "cell-output-display")
        )
    else:
        name = f"{stem}.{IMAGES[mime]}"
        is_text = mime == "image/svg+xml"
        try:
            rendered.files[name] = content.encode() if is_text else base64.b64decode(content)
        except ValueError as error:
            what = f"the cell's {mime} is damaged: {error}"
            rendered.problems.append(Problem(file, cell.line, what, "display a whole image"))
            return
        rendered.blocks.append(div(_image(cell, name), "cell-output", "cell-output-display"))


def _image(cell: Cell, name: str) -> str:
    alt = str(cell.options.get("fig-alt", "")).replace("\\", "\\\\").replace('"', '\\"')
    return f'![]({name}){{fig-alt="{alt}"}}'
