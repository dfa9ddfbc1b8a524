"""All widgets in one page: our host against the Jupyter HTML manager, and frames while they play.

Run from the repository's root: `python benchmarks/bench_widgets.py`. Both pages come from a server
on this machine and hold the same widgets in the same states. Rounds take turns between the two,
each page in a new window that has come to rest, with nothing cached; a number is the median over
rounds. Each is opened in a window of a reader's height and in one that shows all ten widgets at
once, where the browser can leave out nothing. The manager's bundle and require.js are fetched by
npm into .shardwise/, once.
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
    from playwright.sync_api import Browser, CDPSession, Page

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from support import CHROMIUM_FLAGS, find_chromium  # noqa: E402 - the tests know the browser

ROUNDS = 9
REST = 1000  # milliseconds that a new window gets for what the browser does of its own
WINDOWS = {"a window of 1000 px": 1000, "all ten in sight": 12_000}
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

# When all widgets are drawn, and when all live, which a first frame of ours does later and one of
# the manager's, which has none, at once. The page itself looks before every frame, and the time is
# that after the frame is laid out and painted.
WATCH = """(() => {
  window.times = {};
  const marks = %s;
  const look = () => {
    for (const name in marks) {
      if (name in times || document.querySelectorAll(marks[name]).length < %d) continue;
      times[name] = 0;
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => { times[name] = performance.now(); };
      port2.postMessage(0);
    }
    if (Object.keys(times).length < Object.keys(marks).length) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})()"""
OURS, SILENT, PEER = "ours.html", "no-script.html", "html-manager.html"
DRAWN = "svg.sw-svg"
PAGES = {
    OURS: {"drawn": DRAWN, "live": f"figure[data-ready] {DRAWN}"},
    SILENT: {"drawn": DRAWN},
    PEER: {"live": f".sw-root {DRAWN}"},
}
DONE = "Object.values(times).length === %d && Object.values(times).every(Boolean)"


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


def write_ours(folder: Path, widgets: list[ShardwiseWidget]) -> None:
    """Write a page as the book's are, styles, frames, script, and one without the script."""
    frames = [
        re.search(r"````\{=html\}\n(.*?)\n````", widget.book_markdown(), re.DOTALL)
        for widget in widgets
    ]
    body = "\n".join(frame[1] for frame in frames if frame)
    style = f"<style>{built('look.css')}{built('widgets.css')}</style>"
    (folder / OURS).write_text(f"{HEAD}{style}<body>{body}{built('page.html')}", "utf-8")
    (folder / SILENT).write_text(f"{HEAD}{style}<body>{body}", "utf-8")


def write_theirs(folder: Path, widgets: list[ShardwiseWidget]) -> None:
    """Write the same widgets as ipywidgets embeds them."""
    data = embed_data(views=widgets, drop_defaults=False)  # one default is the module
    views = "".join(
        f'<script type="application/vnd.jupyter.widget-view+json">{json.dumps(view)}</script>'
        for view in data["view_specs"]
    )
    state = json.dumps(data["manager_state"]).replace("<", "\\u003c")
    (folder / PEER).write_text(
        f"""{HEAD}<script src="require.js"></script>
<script>require.config({{ baseUrl: '/' }})</script>
<script src="embed-amd.js"></script>
<script type="application/vnd.jupyter.widget-state+json">{state}</script>
<body>{views}""",
        "utf-8",
    )


def visit(browser: Browser, url: str, marks: dict[str, str], height: int) -> dict[str, float]:
    """Open a page with nothing cached; what it took until all widgets were drawn, and lived."""
    context = browser.new_context(viewport={"width": 1000, "height": height})
    page = context.new_page()
    page.wait_for_timeout(REST)
    page.add_init_script(WATCH % (json.dumps(marks), len(KINDS)))
    client = context.new_cdp_session(page)
    client.send("Performance.enable", {"timeDomain": "threadTicks"})  # CPU time, whatever else runs
    page.goto(url)
    page.wait_for_function(DONE % len(marks), timeout=60_000)
    busy = metrics(client)
    client.send("HeapProfiler.collectGarbage")
    heap = metrics(client)["JSHeapUsedSize"] / 1e6
    times: dict[str, float] = page.evaluate("times")
    context.close()
    cpu = {"script": 1000 * busy["ScriptDuration"], "thread": 1000 * busy["TaskDuration"]}
    return {**times, **cpu, "heap": heap}


def metrics(client: CDPSession) -> dict[str, float]:
    """What the browser has counted of the page up to now."""
    return {m["name"]: m["value"] for m in client.send("Performance.getMetrics")["metrics"]}


def compare(browser: Browser, home: str, height: int) -> None:
    """Open the pages in turns, and print what they took and how they compare."""
    rounds = [
        {page: visit(browser, f"{home}/{page}", marks, height) for page, marks in PAGES.items()}
        for _ in range(ROUNDS + 1)
    ][1:]  # the first one warms the browser up
    for page, marks in PAGES.items():
        seen = {what: [r[page][what] for r in rounds] for what in rounds[0][page]}
        middle = {what: statistics.median(values) for what, values in seen.items()}
        times = (
            f"all {what} after {middle[what]:.0f} ms (least {min(seen[what]):.0f})"
            for what in marks
        )
        thread = (
            f"main thread {middle['thread']:.0f} ms of CPU, {middle['script']:.0f} of them script"
        )
        more = f"{thread}, heap {middle['heap']:.1f} MB"
        say(f"  {page}: {', '.join(times)}, {more}")
    for page in (OURS, SILENT):
        for what in PAGES[page]:
            parts = sorted(r[PEER]["live"] / r[page][what] for r in rounds)
            low, usual, high = parts[0], statistics.median(parts), parts[-1]
            say(f"  {page} {what}: 1/{usual:.1f} of {PEER} (rounds 1/{low:.1f} to 1/{high:.1f})")


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
        write_ours(folder, [kind() for kind in KINDS])
        write_theirs(folder, [kind() for kind in KINDS])
        peer(folder)
        server = serve(folder)
        home = f"http://127.0.0.1:{server.server_port}"
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        for window, height in WINDOWS.items():
            say(f"{window}:")
            compare(browser, home, height)
        page = browser.new_page(viewport={"width": 1000, "height": 1000})
        page.goto(f"{home}/{OURS}")
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
