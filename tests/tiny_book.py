"""A book of three pages through the real template, with one of everything that a chapter may hold."""

# ruff: noqa: E501 - a line of markup is easier to read whole

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pypandoc
from markupsafe import Markup
from support import ROOT

from shardwise_book.render import TEMPLATES, Link, Page, Site, TocEntry, render

STATIC = ROOT / "widgets" / "shardwise_widgets" / "static"
LOOK = STATIC / "look.css"
STYLES = [ROOT / "chapter" / "style" / name for name in ("shardwise.css", "reader.css")]
ASSETS = ("style.css", "look.css", "shardwise.css", "reader.css")

HOME = """
::: {.hero}
::: {.lead}
A promise in one sentence, and a reason to go on.
:::

About 40 minutes to read.

::: {.actions}
[Start reading](chapter/memory.html) [Exercises](chapter/ring.html#sec-cost) [Teach with it](chapter/ring.html)
:::
:::

## What is here {#sec-here}

Three pages.
"""

MEMORY = """
Mixed-precision training keeps `2 + 2 + 12` bytes for each of the $\\Psi$ parameters, as @tbl says.
The words in this paragraph are there so that a line of the text is as long as lines are in a chapter,
and a reader can tell whether the measure suits the eye that has to come back to the next line's start.
It links to [the ring](ring.html#sec-cost) and has a footnote.[^1]

[^1]: A footnote, with a word of its own.

<div class="callout callout-style-default callout-note callout-titled">
<div class="callout-header"><div class="callout-title-container">Two conventions</div></div>
<div class="callout-body-container callout-body"><p>A gibibyte is 2³⁰ bytes; the word quagga is only here.</p></div>
</div>

<details class="callout callout-style-default callout-tip callout-titled">
<summary class="callout-header"><span class="callout-title-container">A tip that opens</span></summary>
<div class="callout-body-container callout-body"><p>Inside the tip.</p></div>
</details>

<div class="callout callout-style-default callout-warning callout-titled">
<div class="callout-header"><div class="callout-title-container">A warning</div></div>
<div class="callout-body-container callout-body"><p>Mind the units.</p></div>
</div>

<div class="callout callout-style-default callout-important callout-titled">
<div class="callout-header"><div class="callout-title-container">Takeaway</div></div>
<div class="callout-body-container callout-body"><p>Adam's state dominates.</p></div>
</div>

<div class="callout callout-style-default callout-caution callout-titled">
<div class="callout-header"><div class="callout-title-container">Caution</div></div>
<div class="callout-body-container callout-body"><p>Sharp edges.</p></div>
</div>

## What each device keeps {#sec-keeps}

$$ M(\\Psi, N) = \\frac{(2 + 2 + 12)\\,\\Psi}{N} $$

$$ a_1 + a_2 + a_3 + a_4 + a_5 + a_6 + a_7 + a_8 + a_9 + a_{10} + a_{11} + a_{12} + a_{13} + a_{14} + a_{15} + a_{16} + a_{17} + a_{18} + a_{19} + a_{20} = b $$

<div class="cell">

```python
# A comment that explains why, and that is long enough to have to scroll inside its box on every screen there is.
from shardwise.distributed import zero_memory_per_device

def okapi(psi: float, n: int = 64) -> float:
    \"\"\"Bytes per device.\"\"\"
    return zero_memory_per_device(psi, n, 3) / 1e9 if n > 1 else None

print(f"{okapi(7.5e9):.2f} GB", okapi)
```

<div class="cell-output cell-output-stdout"><pre><code>1.88 GB</code></pre></div>
</div>

<div class="cell">
<details class="code-fold"><summary>Code</summary>

```python
folded = sum(range(10))
```

</details>
</div>

```
plain text in a box
```

### A table {#sec-table}

<div id="tbl-stages" class="quarto-float quarto-float-tbl"><figure class="quarto-float quarto-float-tbl">
<figcaption>Table 1.1: Memory of each stage, in gigabytes.</figcaption>

| stage | parameters | gradients | optimizer | total | what is cut into pieces |
|------:|-----------:|----------:|----------:|------:|:-----------------------------|
| 0 | 15.00 | 15.00 | 90.00 | 120.00 | nothing at all |
| 1 | 15.00 | 15.00 | 1.41 | 31.41 | optimizer_state_that_cannot_be_broken |

</figure></div>

## A figure {#sec-figure}

<div id="fig-one" class="quarto-float quarto-float-fig"><figure class="quarto-float">
<div class="cell-output cell-output-display">
<svg role="img" aria-label="Two bars, the second half as long" viewBox="0 0 640 60" width="640" height="60">
<rect width="300" height="24" fill="var(--sw-parameters)"/><rect y="32" width="150" height="24" fill="var(--sw-gradients)"/></svg>
</div>
<figcaption>Figure 1.1: Two bars.</figcaption></figure></div>

> A quotation, quietly set.
"""

RING = (
    "The ring sends each chunk to its neighbour.\n\n"
    + "\n\n".join(
        f"## Step {step} {{#sec-step-{step}}}\n\n" + "Words and words. " * 60 for step in range(6)
    )
    + "\n\n## Cost {#sec-cost}\n\nThe cost of an "
    + "[all-reduce](#term-all-reduce){.term} is bounded, says the numbat.[]{#term-all-reduce}\n"
    + """
::::: {.quiz data-quiz="ring/pick" data-kind="choice" data-right="1"}
Which of these is a ring?

1. a tree
2. a *circle*
3. a star

:::: {.callout .callout-note}
1. **No.** A tree has leaves.
2. **Right.** A circle has no end.
3. **No.** A star has a middle.
::::
:::::

::::: {.quiz data-quiz="ring/count" data-kind="number" data-right="0" data-answers="1.75 2" data-tolerance="0.005" data-unit="GB"}
How much is sent?

:::: {.callout .callout-note}
**1.75 GB.** Seven eighths, twice.

Not 2 GB: that is the limit.
::::
:::::

::::: {.quiz data-quiz="ring/sort" data-kind="order" data-right="0"}
In which order?

1. gather
2. scatter
3. step

:::: {.callout .callout-note}
1. scatter
2. gather
3. step

Nobody steps with half a sum.
::::
:::::
"""
)

PAGES = {
    "index.html": ("Distributed training", None, HOME),
    "chapter/memory.html": ("Training memory", "1", MEMORY),
    "chapter/ring.html": ("Data parallelism", "2", RING),
}


def write_book(folder: Path) -> Path:
    """Write the three pages and what they load into `folder`, and return it."""
    assets = folder / "assets"
    assets.mkdir(parents=True)
    for source in (TEMPLATES / "style.css", TEMPLATES / "page.js", LOOK, *STYLES):
        (assets / source.name).write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    for href in PAGES:
        target = folder / href
        target.parent.mkdir(exist_ok=True)
        target.write_text(render(site_for(href), page_for(href)), encoding="utf-8")
    return folder


def site_for(current: str) -> Site:
    """Return what the page at `current` knows of the book."""
    return Site(
        title="Distributed Training",
        subtitle="From one device to many",
        author="The authors",
        description="A tiny book.",
        version="0.1.0",
        repo=None,
        chapters=[replace(link_to(current, href), current=href == current) for href in PAGES],
    )


def page_for(href: str) -> Page:
    """Return one page of the tiny book."""
    title, number, source = PAGES[href]
    names = list(PAGES)
    at = names.index(href)
    root = root_of(href)
    body = pypandoc.convert_text(
        source, "html", format="markdown", extra_args=["--mathml", "--section-divs"]
    )
    return Page(
        href=href,
        title=title,
        title_html=Markup(title),
        id="sec-" + Path(href).stem,
        number=number,
        description=None,
        body=Markup(body),
        toc=contents_of(source, number),
        previous=link_to(href, names[at - 1]) if at else None,
        next=link_to(href, names[at + 1]) if at + 1 < len(names) else None,
        root=root,
        minutes=7,
        links=[] if href == "index.html" else [("Download as a notebook", "../index.html")],
        head=Markup(""),
        after_body=Markup((STATIC / "reader.html").read_text(encoding="utf-8")),
        css=[f"{root}assets/{name}" for name in ASSETS],
        scripts=[f"{root}assets/page.js"],
    )


def root_of(href: str) -> str:
    """Return the way from the page to the book's folder."""
    return "../" * href.count("/")


def link_to(current: str, href: str) -> Link:
    """Return a link to the page `href` as the page `current` shows it."""
    title, number, _ = PAGES[href]
    return Link(root_of(current) + href, title, number)


def contents_of(source: str, number: str | None) -> list[TocEntry]:
    """Return the headings of level 2, each with those of level 3 below it."""
    entries: list[TocEntry] = []
    for line in source.splitlines():
        marks, _, rest = line.partition(" ")
        if marks not in {"##", "###"}:
            continue
        title, _, name = rest.removesuffix("}").partition(" {#")
        siblings = entries if marks == "##" else entries[-1].children
        label = f"{number}.{len(entries) + 1}" if number and marks == "##" else None
        siblings.append(TocEntry(name, Markup(title), len(marks), label))
    return entries
