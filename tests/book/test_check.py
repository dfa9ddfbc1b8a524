"""Each fault that a finished page can have is found once, where it is, and a sound page has none."""

# ruff: noqa: E501 - a line of markup is easier to read whole

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shardwise_book.addresses import is_elsewhere
from shardwise_book.check import check_site
from shardwise_book.errors import BookError

if TYPE_CHECKING:
    from pathlib import Path

PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>A page</title>{head}</head>
<body>
<main>
<h1 id="top-title">A page</h1>
{body}
</main>
</body>
</html>
"""

# A body or head with one fault; the words that the message must hold; the line where it stands.
FAULTS = {
    "unresolved reference of Quarto": (
        "<p><strong>?@fig-ring</strong> shows it.</p>",
        "cross-reference @fig-ring",
    ),
    "reference left in the text": ("<p>As @tbl-stages says.</p>", "cross-reference @tbl-stages"),
    "reference left in a tail": ("<p><em>as</em> @eq-one says</p>", "cross-reference @eq-one"),
    "unknown citation": (
        '<p><span class="citation" data-cites="who">(<strong>who?</strong>)</span></p>',
        "citation @who",
    ),
    "image without alt": ('<img src="data:image/gif;base64,AA">', "no alternative text"),
    "figure with an empty alt": (
        '<figure><img src="data:image/gif;base64,AA" alt=" "></figure>',
        "no alternative text",
    ),
    "drawing without a role": (
        '<figure><svg aria-label="Bars"><g/></svg></figure>',
        "drawing has no alternative text",
    ),
    "drawing without a name": ('<svg role="img"></svg>', "drawing has no alternative text"),
    "widget without a name": (
        '<figure class="shardwise-widget" data-widget="RingAllReduce"><p>state</p></figure>',
        "widget RingAllReduce has no accessible name",
    ),
    "link to no page": (
        '<p><a href="chapter/none.html">there</a></p>',
        "chapter/none.html leads nowhere",
    ),
    "link out of the book": (
        '<p><a href="../README.md">there</a></p>',
        "../README.md leads nowhere",
    ),
    "link from the server's root": (
        '<p><a href="/index.html">up</a></p>',
        "/index.html leads nowhere",
    ),
    "link to no anchor": (
        '<p><a href="#sec-none">there</a></p>',
        "#sec-none leads nowhere in this page",
    ),
    "link to no anchor of a page": (
        '<p><a href="other.html#sec-none">there</a></p>',
        "#sec-none leads nowhere in other.html",
    ),
    "missing picture": ('<img src="none.png" alt="Nothing">', "none.png is missing"),
    "script from elsewhere": (
        '<script src="https://cdn.example.org/a.js"></script>',
        "cdn.example.org/a.js",
    ),
    "script without a scheme": (
        '<script src="//cdn.example.org/a.js"></script>',
        "//cdn.example.org/a.js",
    ),
    "image from elsewhere": ('<img src="http://example.org/a.png" alt="A">', "example.org/a.png"),
    "image set": (
        '<img src="data:,x" srcset="data:,a,b 1x, https://example.org/2.png 2x" alt="A">',
        "example.org/2.png",
    ),
    "frame": ('<iframe title="x" src="https://example.org/f"></iframe>', "example.org/f"),
    "source": ('<video><source src="https://example.org/v.mp4"></video>', "example.org/v.mp4"),
    "poster": ('<video poster="https://example.org/p.png"></video>', "example.org/p.png"),
    "inline style": (
        '<p style="background: url(https://example.org/b.png)">x</p>',
        "example.org/b.png",
    ),
    "style element": ('<style>@import "https://example.org/c.css";</style>', "example.org/c.css"),
    "drawing's image": (
        '<svg role="img" aria-label="A"><image href="https://example.org/i.png"/></svg>',
        "example.org/i.png",
    ),
    "static import": (
        '<script type="module">import { a } from "https://example.org/m.js";</script>',
        "example.org/m.js",
    ),
    "dynamic import": ('<script>import("https://example.org/m.js")</script>', "example.org/m.js"),
    "fetch": ('<script>fetch("https://example.org/d.json")</script>', "example.org/d.json"),
    "refresh": (
        '<meta http-equiv="Refresh" content="0; url=https://example.org/r">',
        "example.org/r",
    ),
    "start of all addresses": ('<base href="https://example.org/">', "example.org/"),
    "page in an attribute": (
        "<iframe title='x' srcdoc='<img src=https://example.org/i.png>'></iframe>",
        "example.org/i.png",
    ),
    "page in an address": (
        '<iframe title="x" src="data:text/html,%3Cimg src=https://example.org/i.png%3E"></iframe>',
        "example.org/i.png",
    ),
    "page in base64": (
        '<iframe title="x" src="data:text/html;base64,PGltZyBzcmM9Imh0dHBzOi8vZXhhbXBsZS5vcmcvaSI+"></iframe>',
        "example.org/i",
    ),
    "program in a link": (
        "<a href=\"javascript:fetch('https://example.org/j')\">x</a>",
        "example.org/j",
    ),
    "program in an attribute": (
        "<p onload=\"this.a='https://example.org/o'\">x</p>",
        "example.org/o",
    ),
    "program that shows an image": (
        "<script>new Image().src='https://example.org/n'</script>",
        "example.org/n",
    ),
    "drawing's script": (
        '<svg role="img" aria-label="A"><script href="https://example.org/s.js"></script></svg>',
        "example.org/s.js",
    ),
    "type in capitals": (
        '<script type="Text/JavaScript">fetch("https://example.org/t")</script>',
        "example.org/t",
    ),
    "import map": (
        '<script type="importmap">{"imports": {"a": "https://example.org/a.js"}}</script>',
        "example.org/a.js",
    ),
    "speculation rules": (
        '<script type="speculationrules">{"prefetch": [{"urls": ["https://example.org/p"]}]}</script>',
        "example.org/p",
    ),
    "ping": ('<a href="other.html" ping="https://example.org/p">x</a>', "example.org/p"),
    "form": ('<form action="https://example.org/f"></form>', "example.org/f"),
    "background": ('<table background="https://example.org/b.png"></table>', "example.org/b.png"),
    "fill": (
        '<svg role="img" aria-label="A"><g fill="url(https://example.org/f.svg#a)"/></svg>',
        "example.org/f.svg",
    ),
    "set of images": (
        "<style>a { background: image-set('https://example.org/i.png' 1x) }</style>",
        "example.org/i.png",
    ),
    "escapes": ("<style>a { background: u\\72l(https://example.org/e) }</style>", "example.org/e"),
    "no address": ('<a href="http://[">x</a>', "the address http://[ cannot be read"),
    "repeated id": ('<p id="a">x</p><p id="a">y</p>', "id 'a' occurs 2 times"),
    "link without a name": ('<p><a href="other.html"></a></p>', "a link has no name"),
    "link around a hidden icon": (
        '<p><a href="other.html"><svg aria-hidden="true"></svg></a></p>',
        "a link has no name",
    ),
    "button without a name": (
        '<button type="button"><i class="bi"></i></button>',
        "a button has no name",
    ),
    "jump of headings": ("<h2>Two</h2><h4>Four</h4>", "'Four' jumps from level 2 to level 4"),
    "second title": ("<h1>Again</h1>", "2 headings of level 1"),
}

CLEAN = """
<link rel="canonical" href="https://example.org/book">
<p>Write <code>@fig-x</code> or a@fig-y.org; see <a class="quarto-xref" href="other.html#there">Figure 1.1</a>,
<a href="https://example.org">elsewhere</a>, <a href="mailto:a@example.org">a letter</a>, <a href="#">the top</a>,
<a href="other.html?ring=4,3#th%65re">a state</a>, <a href="./">the start</a>, <a href="#a:~:text=x">a text</a>.</p>
<pre><code><a href="#a" aria-hidden="true" tabindex="-1"></a>see @fig-z and ?@fig-w</code></pre>
<figure id="a"><img src="data:image/gif;base64,AA" alt="One pixel"><figcaption>Figure 1.1: It.</figcaption></figure>
<figure><svg role="img" aria-labelledby="a-title"><title id="a-title">Bars</title></svg></figure>
<figure><div role="img" aria-label="Bars"><svg><svg></svg></svg></div></figure>
<figure><figure data-widget="RingAllReduce"></figure><figcaption>Figure 1.2: A ring.</figcaption></figure>
<figure class="shardwise-widget" data-widget="RingAllReduce" aria-label="Ring all-reduce">
<script type="application/json">{"text": "fetch('https://example.org/x')"}</script>
<svg role="img" aria-label="Four devices"></svg></figure>
<img src="pixel.gif" alt=""><template><p id="a"></p></template>
<p style="background: url('data:image/svg+xml,<svg xmlns=http://www.w3.org/2000/svg>url(https://a.b)</svg>')">x</p>
<button aria-label="Copy"><svg aria-hidden="true"></svg></button>
<a href="" title="Toggle dark mode"><i></i></a>
<a href="other.html"><img src="pixel.gif" alt="Other"></a>
<script>const note = "from https://example.org"; import("./script.js");</script>
<h2>Two</h2><h3>Three</h3><h2>Two again</h2>
"""


def write_site(folder: Path, body: str = "", head: str = "") -> Path:
    (folder / "index.html").write_text(PAGE.format(body=body, head=head), encoding="utf-8")
    (folder / "other.html").write_text(
        PAGE.format(body='<p id="there">x</p>', head=""), encoding="utf-8"
    )
    (folder / "pixel.gif").write_bytes(b"GIF89a")
    (folder / "script.js").write_text('import "./other.js";\n', encoding="utf-8")
    return folder


@pytest.mark.parametrize(("body", "words"), FAULTS.values(), ids=FAULTS)
def test_finds_the_fault_once_and_says_where(tmp_path: Path, body: str, words: str):
    (problem,) = check_site(write_site(tmp_path, body))
    assert words in problem.message
    assert problem.file == "index.html"
    assert problem.line in {5, 7}  # where the element stands; 5 is <main>, for a missing title
    assert problem.remedy


@pytest.mark.parametrize(
    "rel", ["stylesheet", "icon", "modulepreload", "preconnect", "shortcut icon"]
)
def test_a_link_that_loads_is_a_fault(tmp_path: Path, rel: str):
    (problem,) = check_site(
        write_site(tmp_path, head=f'<link rel="{rel}" href="https://example.org/x">')
    )
    assert "example.org/x" in problem.message
    assert problem.line == 3


def test_a_sound_site_has_no_fault(tmp_path: Path):
    assert check_site(write_site(tmp_path, CLEAN)) == []


def test_a_page_must_say_its_title_and_language(tmp_path: Path):
    page = "<!DOCTYPE html><html><head></head><body><main><h1>A</h1><svg role='img'><title>A</title></svg></main>"
    (tmp_path / "index.html").write_text(page, encoding="utf-8")
    messages = {problem.message for problem in check_site(tmp_path)}
    assert messages == {"the page does not say its language", "the page has no title"}


def test_stylesheets_and_scripts_are_read_too(tmp_path: Path):
    write_site(tmp_path)
    style = "/* url(https://example.org/no) */\n@namespace svg url(http://www.w3.org/2000/svg);\n"
    style += '@import url("https://example.org/yes.css");\na { background: url(gone.png) }\n'
    (tmp_path / "style.css").write_text(style, encoding="utf-8")
    (tmp_path / "script.js").write_text(
        '\nimport a from "https://example.org/yes.js";\n', encoding="utf-8"
    )
    found = [(p.file, p.line, p.message) for p in check_site(tmp_path)]
    assert found == [
        ("script.js", 2, "the page would load https://example.org/yes.js from elsewhere"),
        ("style.css", 3, "the page would load https://example.org/yes.css from elsewhere"),
        ("style.css", 4, "the file gone.png is missing"),
    ]


def test_only_the_one_script_that_never_asks_may_name_another_site(tmp_path: Path):
    write_site(tmp_path)
    folder = tmp_path / "site_libs/quarto-html/axe"
    folder.mkdir(parents=True)
    for name in ("axe-check.js", "other.js"):
        (folder / name).write_text('(await import("https://example.org/a.js"));', encoding="utf-8")
    assert [p.file for p in check_site(tmp_path)] == ["site_libs/quarto-html/axe/other.js"]


def test_a_book_without_a_first_page_is_a_fault(tmp_path: Path):
    write_site(tmp_path)
    (tmp_path / "index.html").unlink()
    (problem,) = check_site(tmp_path)
    assert problem.message == "the book has no first page"


def test_pages_of_tools_are_no_pages_of_the_book(tmp_path: Path):
    write_site(tmp_path)
    (tmp_path / "site_libs").mkdir()
    (tmp_path / "site_libs" / "demo.html").write_text("<img src=x>", encoding="utf-8")
    assert check_site(tmp_path) == []


def test_problems_come_in_the_order_of_files_and_lines(tmp_path: Path):
    write_site(
        tmp_path, '<p id="a">\n</p><p id="a"></p>\n<a href="gone.html">x</a>\n<img src="pixel.gif">'
    )
    lines = [problem.line for problem in check_site(tmp_path)]
    assert lines == sorted(lines)
    assert len(lines) == 3


@pytest.mark.parametrize("content", ["", " \n", "<!-- -->"])
def test_an_empty_page_has_faults(tmp_path: Path, content: str):
    write_site(tmp_path)
    (tmp_path / "index.html").write_text(content, encoding="utf-8")
    assert "the page has no title" in [problem.message for problem in check_site(tmp_path)]


def test_a_missing_folder_is_named(tmp_path: Path):
    with pytest.raises(BookError, match=r"gone: there is no such folder\n.*make book"):
        check_site(tmp_path / "gone")


@pytest.mark.parametrize(
    "address", ["https://a.org", "//a.org/x", " HTTP://a.org", "file:///etc/x", "ws://a.org"]
)
def test_elsewhere(address: str):
    assert is_elsewhere(address)


# What Quarto writes around a chapter: none of it is a fault.
QUARTO = """<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="en" xml:lang="en"><head>
<meta charset="utf-8"><meta name="generator" content="quarto-1.10.2"><title>1&nbsp; Training memory</title>
<link href="./other.html" rel="next"><link href="./index.html" rel="prev">
<meta name="quarto:offset" content="./">
<script src="site_libs/quarto-nav/quarto-nav.js"></script>
<link href="site_libs/bootstrap/bootstrap.min.css" rel="stylesheet" class="quarto-color-scheme">
<script id="quarto-search-options" type="application/json">{"location": "sidebar", "src": "https://example.org"}</script>
</head><body class="nav-sidebar floating quarto-light">
<div id="quarto-search-results"></div>
<header id="quarto-header" class="headroom fixed-top"><nav class="quarto-secondary-nav">
<button type="button" class="quarto-btn-toggle btn" aria-label="Toggle sidebar navigation"><i class="bi bi-layout-text-sidebar-reverse"></i></button>
<a class="flex-grow-1" role="navigation" data-bs-toggle="collapse" href="#" aria-label="Toggle sidebar navigation"></a>
</nav></header>
<nav id="quarto-sidebar" class="sidebar"><a href="" class="quarto-color-scheme-toggle quarto-navigation-tool" onclick="return false;" title="Toggle dark mode"><i class="bi"></i></a></nav>
<nav id="TOC" role="doc-toc"><h2 id="toc-title">Table of contents</h2><ul><li><a href="#sec-a" class="nav-link">1.1 A</a></li></ul></nav>
<main class="content" id="quarto-document-content">
<header id="title-block-header" class="quarto-title-block default"><h1 class="title"><span id="sec-memory">Training memory</span></h1></header>
<section id="sec-a" class="level2"><h2 class="anchored" data-anchor-id="sec-a">A</h2>
<div class="callout callout-style-default callout-note callout-titled"><div class="callout-header d-flex" data-bs-toggle="collapse" aria-controls="callout-1"><div class="callout-icon-container"><i class="callout-icon"></i></div></div></div>
<div id="fig-a" class="quarto-float"><figure class="quarto-float"><div aria-describedby="x"><img src="data:image/png;base64,AA" class="img-fluid figure-img" alt="A curve"></div></figure></div>
<div class="sourceCode cell-code" id="cb1"><pre class="sourceCode python"><code><span id="cb1-1"><a href="#cb1-1" aria-hidden="true" tabindex="-1"></a>x</span></code></pre></div>
</section></main></body></html>
"""


def test_a_page_of_quarto_is_no_fault(tmp_path: Path):
    write_site(tmp_path)
    (tmp_path / "index.html").write_text(QUARTO, encoding="utf-8")
    for name in ("quarto-nav/quarto-nav.js", "bootstrap/bootstrap.min.css"):
        path = tmp_path / "site_libs" / name
        path.parent.mkdir(parents=True)
        path.write_text("", encoding="utf-8")
    assert check_site(tmp_path) == []
