"""Read a student's own notebook: what runs, and which of it are visible checks."""

from __future__ import annotations

import ast
import builtins
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

LARGEST = 20_000_000  # bytes, as the grader takes
FORMAT = 4
HIDDEN = re.compile(
    r"^ *### BEGIN HIDDEN TESTS$.*?^ *### END HIDDEN TESTS$", re.MULTILINE | re.DOTALL
)
STUB = "# Your code here."
DEFINES = re.compile(
    r"^(?:(?:async +)?(?:def|class) +(\w+)|(\w+) *(?::[^=\n]+)?=(?!=))", re.MULTILINE
)


class CannotCheckError(Exception):
    """There is nothing to check; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell with code.

    Args:
        role: ``"visible"`` is a check, ``"solution"`` an answer, ``"own"`` anything else.
        source: its code; nothing where hidden checks will be.
        grade_id: the instructor's name for it; empty for a cell of the student's own.
    """

    role: Literal["own", "solution", "visible"]
    source: str
    grade_id: str = ""

    @property
    def is_stub(self) -> bool:
        """Whether it still is as it was given out."""
        return STUB in self.source and all(
            line.strip() in ("", STUB, "pass") for line in _body(self.source)
        )


def defined(source: str) -> list[str]:
    r"""Return the functions, classes and variables that code defines, also where it is broken.

    Example:
        >>> defined("import torch\nsize = f(2)\nprint(size)\ndef double(x):\n    y = x +")
        ['size', 'double']
    """
    return [found[1] or found[2] for found in DEFINES.finditer(source)]


def used(source: str) -> list[str]:
    r"""Return the names that code takes from other cells, in order; none where it is broken.

    Example:
        >>> used("import torch\nmeans = mean(torch.ones(2))\nassert len(means) == size")
        ['mean', 'size']
    """
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    own = set(dir(builtins))
    names = []
    for node in nodes:
        if isinstance(node, ast.alias):
            own.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            own.add(node.name)
        elif isinstance(node, ast.arg):
            own.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.Name):
            names.append((node.lineno, node.col_offset, node.id))
    return list(dict.fromkeys(name for *_, name in sorted(names) if name not in own))


def read_cells(path: Path) -> list[Cell]:
    """Read the cells with code of a notebook, in order.

    Raises:
        CannotCheckError: there is no such file, it is no notebook, or no cell in it is a check.
    """
    every = _all_cells(path, _content(path))
    cells = [cell for cell in every if cell.source.strip() or cell.role == "solution"]
    if not any(cell.role == "visible" for cell in cells):
        raise CannotCheckError(
            f"{path.name} has no visible checks; name a notebook of the course, "
            "whose cells with checks are still in it"
        )
    return cells


def _content(path: Path) -> Any:  # noqa: ANN401
    try:
        if path.stat().st_size > LARGEST:
            raise CannotCheckError(
                f"{path.name} is larger than {LARGEST // 10**6} MB; clear its outputs and save it"
            )
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        near = sorted(other.name for other in path.absolute().parent.glob("*.ipynb"))
        there = f"there are {', '.join(near)}" if near else "there is no notebook in that folder"
        raise CannotCheckError(f"{path} does not exist; {there}") from None
    except IsADirectoryError:
        raise CannotCheckError(f"{path} is a folder; name a notebook in it") from None
    except OSError as error:
        raise CannotCheckError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise CannotCheckError(
            f"{path.name} is no notebook: there is no JSON in it; "
            "get the file again, and copy your code into it"
        ) from None


def _all_cells(path: Path, content: Any) -> list[Cell]:  # noqa: ANN401
    try:
        if content["nbformat"] != FORMAT:
            raise CannotCheckError(
                f"{path.name} is in notebook format {content['nbformat']}; "
                f"open it in JupyterLab and save it, which makes it {FORMAT}"
            )
        return [_cell(cell) for cell in content["cells"] if cell["cell_type"] == "code"]
    except (TypeError, KeyError, AttributeError):
        raise CannotCheckError(
            f"{path.name} is no notebook: it has no list of cells; "
            "get the file again, and copy your code into it"
        ) from None


def _cell(cell: dict[str, Any]) -> Cell:
    source = HIDDEN.sub("", "".join(cell["source"]))
    settings = cell["metadata"].get("nbgrader", {})
    if settings.get("solution"):
        return Cell("solution", source, settings["grade_id"])
    if not settings.get("grade"):
        return Cell("own", source)
    is_code = any(line.strip() and not line.startswith("#") for line in source.splitlines())
    # Where hidden checks will be there are only comments.
    return Cell("visible", source if is_code else "", settings["grade_id"])


def _body(source: str) -> list[str]:
    """The lines of a stub that a student would change: all but definitions and explanations."""
    code = re.sub(r'"""(?s:.*?)"""', "", source)
    lines = [line for line in code.splitlines() if line.strip() != STUB]
    given = re.compile(r"\s*#|def |import |from |\w+ = \{$|\}$")
    return [line for line in lines if not given.match(line)]
