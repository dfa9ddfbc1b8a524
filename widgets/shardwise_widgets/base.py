"""The base of all widgets: live in a notebook, markdown with a first frame in the book."""

from __future__ import annotations

import functools
import html
import itertools
import json
import shutil
import subprocess
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar

import anywidget
import traitlets

from shardwise_widgets._checks import TraitValueError
from shardwise_widgets.book import in_book, two_branches
from shardwise_widgets.links import Links, check_link

if TYPE_CHECKING:
    from collections.abc import Iterator

STATIC = resources.files("shardwise_widgets") / "static"
_frames: Iterator[int] = itertools.count(1)


@functools.cache
def built(name: str) -> str:
    """Return a file of the bundle, or say how to build it."""
    try:
        return (STATIC / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise RuntimeError(
            f"the widget bundle {name} is not built: run `make setup`, "
            "or `npm ci` and `npm run build` in widgets/"
        ) from None


def prerender(widget: str, state: dict[str, object]) -> dict[str, str]:
    """Draw a first frame with the code that draws in the page.

    Args:
        widget: class name of the widget.
        state: its traits.

    Returns:
        "title", "state" (JSON for a script element, as the frame's seal has it), "html", "svg" (an
        image that stands alone, in light colours) and "alt".

    Raises:
        RuntimeError: if Node.js is missing, the bundle is not built, or drawing failed.
    """
    node = shutil.which("node")
    if node is None:
        raise RuntimeError("drawing a widget for the book needs Node.js 20 or newer on PATH")
    built("prerender.mjs")
    job = {"widget": widget, "state": state, "id": f"frame{next(_frames)}"}
    with resources.as_file(STATIC / "prerender.mjs") as program:
        done = subprocess.run(
            [node, str(program)],
            input=json.dumps(job),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"drawing {widget} failed:\n{done.stderr.strip()}")
    frame: dict[str, str] = json.loads(done.stdout)
    return frame


class ShardwiseWidget(anywidget.AnyWidget):
    """A widget drawn by the module of its name.

    Attributes:
        shown: the traits that a page gets.
        note: what the view says beside its buttons, until something else happens.
        linked: the traits that it shares with the widgets whose `link` names them too.
    """

    shown: ClassVar[tuple[str, ...]] = ()
    note = traitlets.Unicode().tag(sync=True)
    _links = Links()

    def __init__(self, *, link: str | None = None, **traits: object) -> None:
        """Set the traits and share those that `link` names.

        Args:
            link: a trait, or several with commas between them, that this widget shares with every
                other one of the page, or of the kernel, whose link names it too.
            **traits: what the class gives them.

        Raises:
            ValueError: if `link` names a trait that can't be shared.
            TypeError: if `link` is no text.
        """
        open_to_others = [name for name in self.shown if not self.traits()[name].read_only]
        self.linked = check_link(link, open_to_others, type(self).__name__)
        super().__init__(**traits)
        for name in self.linked:
            self._links.join(name, self)

    def close(self) -> None:
        """Close the channel to the front end, and share nothing any more."""
        self._links.leave(self)
        super().close()

    @property
    def _esm(self) -> str:
        """The front-end module, read when the first instance needs it."""
        return built(f"{type(self).__name__}.js")

    @property
    def _css(self) -> str:
        return built("widgets.css")

    def open(self) -> None:
        """Open the channel to the front end; the book has none."""
        if not in_book():
            super().open()

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take a state from the front end as a whole, or refuse it as a whole.

        Args:
            sync_data: values by the names of traits.

        Raises:
            traitlets.TraitError: if a value is wrong or its trait is not the front end's to set;
                every trait keeps its value, and the front end is told them.
        """
        try:
            for name in sync_data:
                if name in self.keys and self.traits()[name].read_only:
                    raise TraitValueError(f"{name} is read-only: set the traits that it follows")
            super().set_state(sync_data)
        except traitlets.TraitError:
            self.send_state([name for name in sync_data if name in self.keys])
            raise

    def book_state(self) -> dict[str, object]:
        """Return what the page needs to run the widget without a kernel."""
        return {name: getattr(self, name) for name in self.shown}

    def book_markdown(self) -> str:
        """Return the widget for the book: mount, state and first frame, and an ordinary image."""
        name = type(self).__name__
        state = self.book_state()
        frame = prerender(name, state)
        link = f'data-link="{",".join(self.linked)}" ' if self.linked else ""
        page = (
            f'<figure class="shardwise-widget" data-widget="{name}" {link}'
            f'aria-label="{html.escape(frame["title"])}">\n'
            f'<script type="application/json">{frame["state"]}</script>\n'
            f'<div class="shardwise-mount">{frame["html"]}</div>\n</figure>'
        )
        return two_branches(page, frame["svg"], frame["alt"])

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:  # noqa: ANN401 - the protocol of IPython
        if in_book():
            return {"text/markdown": self.book_markdown()}
        return super()._repr_mimebundle_(**kwargs)
