"""``%check`` in a notebook: the same check of the saved file, answered below the cell."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shardwise_grading.check.command import as_text, check
from shardwise_grading.check.notebook import CannotCheckError, defined, read_cells
from shardwise_grading.check.page import as_html

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shardwise_grading.check.notebook import Cell
    from shardwise_grading.check.verdict import Verdict

UNKNOWN = (
    "%check does not know which file this notebook is saved in; name it, as in "
    "%check 1-all-reduce-mean.ipynb"
)
GRADED = "%check does nothing while a notebook is checked or graded."


class Shown:
    """A verdict as a notebook or a terminal shows it.

    Args:
        verdict: what the check found.
        warnings: what differs between the notebook and its file, a sentence each.
    """

    def __init__(self, verdict: Verdict, warnings: Iterable[str]) -> None:
        """Keep both."""
        self._verdict, self._warnings = verdict, tuple(warnings)

    def __repr__(self) -> str:
        """Write it for a terminal."""
        return "\n".join([*self._warnings, as_text(self._verdict)])

    def _repr_html_(self) -> str:
        return as_html(self._verdict, self._warnings)


def register(shell: Any) -> None:  # noqa: ANN401
    """Give an IPython shell the magic."""
    shell.register_magic_function(lambda line: magic(shell, line), "line", "check")


def magic(shell: Any, line: str) -> Shown | None:  # noqa: ANN401
    """Check the file that the notebook is saved in, or the one that the line names.

    Args:
        shell: the notebook's IPython.
        line: what follows ``%check``.
    """
    if "NBGRADER_EXECUTION" in os.environ or "SHARDWISE_CHECKING" in os.environ:
        print(GRADED)  # noqa: T201
        return None
    path = Path(line.strip()) if line.strip() else _own_file(shell)
    if path is None:
        print(UNKNOWN)  # noqa: T201
        return None
    try:
        warnings = unsaved(read_cells(path), shell.history_manager.input_hist_raw)
        return Shown(check(path), warnings)
    except CannotCheckError as error:
        print(error)  # noqa: T201
        return None


def unsaved(cells: Iterable[Cell], ran: Iterable[str]) -> list[str]:
    r"""Say which answers ran last in another form than the one that is saved.

    Args:
        cells: the saved ones.
        ran: what was run in the notebook, in order.

    Example:
        >>> from shardwise_grading.check.notebook import Cell
        >>> unsaved([Cell("solution", "def f():\n    pass")], ["def f():\n    return 1"])
        ['Save first: the f that you ran last is not the one in the file.']
    """
    saved = list(cells)
    texts = {cell.source.strip() for cell in saved}
    history = list(ran)
    stale = []
    for cell in saved:
        for name in defined(cell.source) if cell.role == "solution" else ():
            last = next((text for text in reversed(history) if name in defined(text)), "")
            if last and last.strip() not in texts and name not in stale:
                stale.append(name)
    return [
        f"Save first: the {name} that you ran last is not the one in the file." for name in stale
    ]


def _own_file(shell: Any) -> Path | None:  # noqa: ANN401
    """Where the notebook is saved, as VS Code or the Jupyter server says it."""
    name = shell.user_ns.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME")
    path = Path(name) if name else None
    return path if path and path.suffix == ".ipynb" else None
