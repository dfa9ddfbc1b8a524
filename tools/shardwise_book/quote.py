"""Quotes a function of the library in a chapter, so that the page can't drift from the code."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def source(function: Callable[..., Any]) -> str:
    """Return the code of `function` without its docstring, which the chapter's prose replaces.

    Args:
        function: a function written in Python.

    Returns:
        The source, dedented, with comments kept that are meant for readers and not for the linter.

    Raises:
        TypeError: `function` has no Python source, such as a builtin.

    Example:
        >>> print(source(textwrap.dedent).splitlines()[0])
        def dedent(text):
    """
    lines = textwrap.dedent(inspect.getsource(function)).splitlines()
    definition = ast.parse("\n".join(lines)).body[0]
    if isinstance(definition, ast.FunctionDef) and ast.get_docstring(definition) is not None:
        docstring = definition.body[0]
        del lines[docstring.lineno - 1 : docstring.end_lineno]
    return re.sub(r" +# noqa.*", "", "\n".join(lines)).strip()


def quote(*functions: Callable[..., Any]) -> None:
    """Print the functions as one fenced code block, for a cell with `output: asis`."""
    print("```python\n" + "\n\n\n".join(map(source, functions)) + "\n```")  # noqa: T201
