"""All widgets in one page: our host against the Jupyter HTML manager, and frames while they play.

Run from the repository's root: `python benchmarks/bench_widgets.py`. Both pages come from a server
on this machine and hold the same widgets in the same states; every number is the median over rounds
in which the two take turns, each in a context of its own with nothing cached. The manager's bundle
and require.js are fetched by npm into .shardwise/, once.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tarfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ipywidgets.embed import embed_data
from playwright.sync_api import sync_playwright

import shardwise_widgets
from shardwise_widgets.base import ShardwiseWidget, built

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from support import CHROMIUM_FLAGS, find_chromium  # noqa: E402 - the tests know the browser

ROUNDS = 9
PLAYED = ("RingAllReduce", "RingAttention", "PipelineSchedule")
SECONDS = 6  # of play that are watched
PACKAGES = {"@jupyter-widgets/html-manager@1.0.15": "embed-amd.js", "requirejs@2.3.8": "require.js"}
KINDS = [
    kind
    for name in shardwise_widgets.__all__
    if isinstance(kind := getattr(shardwise_widgets, name), type)
    and issubclass(kind, ShardwiseWidget)
]
HEAD = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Widgets</title>'
    '<link rel="icon" href="data:,">'
)

# When all are drawn, seen from the page itself: it looks at every frame.
WATCH = """(() => {
  const drawn = () => document.querySelectorAll('%s').length;
  const look = () => {
    if (drawn() < %d) requestAnimationFrame(look);
    else window.drawnAt = performance.now();
  };
  requestAnimationFrame(look);
})()"""


def say(line: str) -> None:
    """Write a line of the result at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def peer(folder: Path) -> None:
    """Lay the manager, require.js and anywidget's front end beside the pages.

    Raises:
        SystemExit: if npm can't fetch the two packages.
    """
    store = ROOT / ".shardwise" / "bench"
    store.mkdir(parents=True, exist_ok=True)
    for package, name in PACKAGES.items():
        if not (store / name).exists():
            packed = subprocess.run(
                ["npm", "pack", "--silent", package],
                cwd=store,
                check=False,
                capture_output=True,
                text=True,
            )
            if packed.returncode:
                sys.exit(f"npm can't fetch {package}, the peer: {packed.stderr.strip()}")
            with tarfile.open(store / packed.stdout.split()[-1]) as archive:
                found = next(m for m in archive.getnames() if m.endswith(f"/{name}"))
                content = archive.extractfile(found)
                assert content is not None  # noqa: S101 - a file by its name
                (store / name).write_bytes(content.read())
        (folder / name).write_bytes((store / name).read_bytes())
    front = resources.files("anywidget") / "nbextension" / "index.js"
    (folder / "anywidget.js").write_text(front.read_text("utf-8"), "utf-8")


def write_ours(folder: Path, name: str, widgets: list[ShardwiseWidget]) -> None:
    """Write a page as the book's are: styles, frames, script."""
    frames = [
        re.search(r"````\{=html\}\n(.*?)\n````", widget.book_markdown(), re.DOTALL)
        for widget in widgets
    ]
    body = "\n".join(frame[1] for frame in frames if frame)
    style = f"<style>{built('look.css')}{built('widgets.css')}</style>"
    (folder / name).write_text(f"{HEAD}{style}<body>{body}{built('page.html')}", "utf-8")


def write_theirs(folder: Path, widgets: list[ShardwiseWidget]) -> None:
    """Write the same widgets as ipywidgets embeds them."""
    data = embed_data(views=widgets, drop_defaults=False)  # one default is the module
    views = "".join(
        f'<script type="application/vnd.jupyter.widget-view+json">{json.dumps(view)}</script>'
        for view in data["view_specs"]
    )
    state = json.dumps(data["manager_state"]).replace("<", "\\u003c")
    (folder / "theirs.html").write_text(
        f"""{HEAD}<script src="require.js"></script>
<script>require.config({{ baseUrl: '/' }})</script>
<script src="embed-amd.js"></script>
<script type="application/vnd.jupyter.widget-state+json">{state}</script>
<body>{views}""",
        "utf-8",
    )


def visit(browser: Browser, url: str, marks: str) -> dict[str, float]:
    """Open a page with nothing cached; what it took until all widgets were drawn."""
    context = browser.new_context(viewport={"width": 1000, "height": 1000})
    page = context.new_page()
    page.add_init_script(WATCH % (marks, len(KINDS)))
    client = context.new_cdp_session(page)
    client.send("Performance.enable")
    page.goto(url)
    page.wait_for_function("window.drawnAt", timeout=60_000)
    client.send("HeapProfiler.collectGarbage")
    metrics = {m["name"]: m["value"] for m in client.send("Performance.getMetrics")["metrics"]}
    drawn = float(page.evaluate("drawnAt"))
    context.close()
    return {
        "drawn": drawn,
        "script": 1000 * metrics["ScriptDuration"],
        "heap": metrics["JSHeapUsedSize"] / 1e6,
    }


FRAMES = """(seconds) => new Promise((done) => {
  const times = [];
  const tick = (now) => {
    times.push(now);
    if (now - times[0] < 1000 * seconds) requestAnimationFrame(tick);
    else done(times.slice(1).map((time, i) => time - times[i]));
  };
  requestAnimationFrame(tick);
})"""


def frames(page: Page, name: str) -> list[float]:
    """Milliseconds from frame to frame while a widget plays from its beginning."""
    figure = page.locator(f'figure[data-widget="{name}"]')
    figure.scroll_into_view_if_needed()
    figure.get_by_role("button", name="First step").press("Enter")
    page.wait_for_timeout(500)
    figure.get_by_role("button", name="Play").press("Enter")
    times: list[float] = page.evaluate(FRAMES, SECONDS)
    return times


def serve(folder: Path) -> ThreadingHTTPServer:
    """Serve a folder on this machine."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main() -> None:
    """Print what the README's table holds."""
    os.environ.pop("SHARDWISE_BOOK", None)
    chromium = find_chromium()
    if chromium is None:
        sys.exit("no Chromium found: install it, or set CHROMIUM=/path/to/it")
    script = built("page.html").removeprefix("<script>").removesuffix("</script>\n")
    size = len(gzip.compress(script.encode(), 9))
    say(f"page script with {len(KINDS)} widgets: {size / 1000:.1f} kB gzip")
    with TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        write_ours(folder, "ours.html", [kind() for kind in KINDS])
        write_theirs(folder, [kind() for kind in KINDS])
        peer(folder)
        server = serve(folder)
        home = f"http://127.0.0.1:{server.server_port}"
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        ways = {
            "ours": ("ours.html", "figure[data-ready] svg.sw-svg"),
            "the HTML manager": ("theirs.html", ".sw-root svg.sw-svg"),
        }
        rounds = [
            {way: visit(browser, f"{home}/{page}", marks) for way, (page, marks) in ways.items()}
            for _ in range(ROUNDS + 1)
        ][1:]  # the first one warms the browser up
        for way in ways:
            middle = {k: statistics.median(r[way][k] for r in rounds) for k in rounds[0][way]}
            say(
                f"{way}: all drawn after {middle['drawn']:.0f} ms, "
                f"script {middle['script']:.0f} ms, heap {middle['heap']:.1f} MB"
            )
        ratios = [r["ours"]["drawn"] / r["the HTML manager"]["drawn"] for r in rounds]
        say(f"ratio: 1/{1 / statistics.median(ratios):.1f}")
        page = browser.new_page(viewport={"width": 1000, "height": 1000})
        page.goto(f"{home}/ours.html")
        for kind in PLAYED:
            times = frames(page, kind)
            late = sum(time > 32 for time in times)  # noqa: PLR2004 - two frames of a 60 Hz screen
            say(
                f"{kind} playing: frames every {statistics.median(times):.1f} ms, "
                f"the longest {max(times):.1f} ms, {late} over 32 ms of {len(times)}"
            )
        browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
