"""Where a page leads beyond the book: all of it from one setting, the address of the repository."""

from __future__ import annotations

import re
from urllib.parse import quote, urlencode

GITHUB = re.compile(r"https://github\.com/(?P<name>[\w.-]+/[\w.-]+?)/?$")
BRANCH = "gh-pages"  # where a book is published, and its notebooks with it


def report(repo: str, title: str, href: str) -> str:
    """Return the address at which a reader reports a problem with a page.

    >>> report("https://github.com/o/r", "The ring", "chapter/ring.html")
    'https://github.com/o/r/issues/new?title=The+ring%3A+&body=Page%3A+chapter%2Fring.html%0A%0A'
    """
    query = urlencode({"title": f"{title}: ", "body": f"Page: {href}\n\n"})
    return f"{repo.rstrip('/')}/issues/new?{query}"


def runners(repo: str | None, notebook: str) -> list[tuple[str, str]]:
    """Return names and addresses of places that run a notebook of the published book.

    >>> runners("https://github.com/o/r", "notebooks/ring.ipynb")[0][1]
    'https://colab.research.google.com/github/o/r/blob/gh-pages/notebooks/ring.ipynb'
    """
    found = GITHUB.match(repo or "")
    if not found:
        return []
    name, path = found["name"], quote(notebook)
    return [
        ("Colab", f"https://colab.research.google.com/github/{name}/blob/{BRANCH}/{path}"),
        (
            "JupyterLab on Binder",
            f"https://mybinder.org/v2/gh/{name}/{BRANCH}?labpath={quote(notebook, safe='')}",
        ),
    ]
