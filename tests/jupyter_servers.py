"""Jupyter servers of a test's own, which share no folder with the user's, and notebooks in them."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from playwright.sync_api import Browser, Page

FOLDERS = {
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_RUNTIME_DIR": "runtime",
    "JUPYTERLAB_SETTINGS_DIR": "settings",
    "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    "IPYTHONDIR": "ipython",
}
LAB_OPTIONS = (
    "--expose-app-in-browser",
    "--JupyterNotebookApp.expose_app_in_browser=True",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
)
OUTSIDE = re.compile(r"^(?!(https?|wss?)://127\.0\.0\.1[:/]|data:|blob:)")
RUN_ALL = """async () => {
  await jupyterapp.restored;
  const { context, sessionContext } = jupyterapp.shell.currentWidget;
  await context.ready;
  await sessionContext.ready;
  await jupyterapp.commands.execute('notebook:run-all-cells');
}"""


@contextmanager
def server(
    program: str, home: Path, root: Path, *options: str, **environment: str
) -> Iterator[tuple[str, str]]:
    """Start a server that serves a folder; its address, and the token that lets in.

    Args:
        program: the server's module.
        home: where all that it writes goes.
        root: the folder.
        options: more of the program's own.
        environment: more variables.
    """
    strange = ("JUPYTER", "JPY", "QUARTO", "SHARDWISE_BOOK")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(strange)}
    own = {name: str(home / folder) for name, folder in FOLDERS.items()}
    token = secrets.token_hex(16)
    command = [
        *(sys.executable, "-m", program, "--no-browser", "--allow-root", "--port=0"),
        *("--ip=127.0.0.1", f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={root}"),
    ]
    with (home / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, *options],
            cwd=root,
            env=kept | own | environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        yield _address(process, home), token
    finally:
        process.terminate()
        process.wait(timeout=30)


def jupyterlab(home: Path, **environment: str) -> AbstractContextManager[tuple[str, str]]:
    """Start JupyterLab, and Notebook 7 with it, on the folder ``root`` in its home."""
    return server("jupyterlab", home, home / "root", *LAB_OPTIONS, **environment)


def _address(process: subprocess.Popen[bytes], home: Path) -> str:
    """The address that the server wrote down when it was ready."""
    for _ in range(600):
        for found in (home / "runtime").glob("jpserver-*.json"):
            try:
                return str(json.loads(found.read_text())["url"])
            except (json.JSONDecodeError, KeyError):
                break
        if process.poll() is not None:
            break
        time.sleep(0.1)
    pytest.fail(f"the server did not start:\n{(home / 'log').read_text()}")


def open_notebook(browser: Browser, url: str, height: int) -> Page:
    """Open a notebook with nothing reached but its server, and run all of it.

    JupyterLab takes cells out of the page that are out of sight, so the page is as high as is said.
    """
    context = browser.new_context(viewport={"width": 1280, "height": height})
    context.route(OUTSIDE, lambda route: route.abort())
    page = context.new_page()
    page.goto(url)
    ready = "window.jupyterapp?.shell?.currentWidget?.sessionContext"
    page.wait_for_function(ready, timeout=90_000)
    page.evaluate(RUN_ALL)
    return page
