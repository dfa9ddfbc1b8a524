"""Quotes definitions of the library in a chapter, so that the page can't drift from the code."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap

Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


def source(path: str) -> str:
    """Return the code of one definition without its docstring, which the chapter's prose replaces.

    Args:
        path: module and name of a function, class, constant or method, such as
            "shardwise.memory.recipes.RECIPES".

    Returns:
        The source, with comments kept that are meant for readers and not for the linter.

    Raises:
        ValueError: the module defines nothing of that name at its top level.

    Example:
        >>> print(source("shardwise.collectives.ring_all_reduce").splitlines()[0])
        def ring_all_reduce(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """
    module, _, name = path.rpartition(".")
    owner = None
    if module.rpartition(".")[2][:1].isupper():  # a method: module.Class.method
        module, _, owner = module.rpartition(".")
    text = inspect.getsource(importlib.import_module(module))
    body: list[ast.stmt] = ast.parse(text).body
    if owner:
        classes = (node for node in body if isinstance(node, ast.ClassDef) and node.name == owner)
        body = next(classes, ast.ClassDef(owner, [], [], [], [])).body
    for node in body:
        if isinstance(node, Definition) and name in _names(node):
            return textwrap.dedent(_without_docstring(node, text.splitlines()))
    where = f"{module}.{owner}" if owner else module
    raise ValueError(f"path={path!r}: {where} defines no {name!r}; quote it where it is defined")


def quote(*paths: str) -> None:
    """Print definitions as one fenced code block, for a cell with `output: asis`."""
    print("```python\n" + "\n\n\n".join(map(source, paths)) + "\n```")  # noqa: T201


def _names(node: Definition) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _without_docstring(node: Definition, lines: list[str]) -> str:
    kept = list(range(node.lineno - 1, node.end_lineno or node.lineno))
    if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
        docstring = node.body[0]
        gone = range(docstring.lineno - 1, docstring.end_lineno or docstring.lineno)
        kept = [index for index in kept if index not in gone]
    return re.sub(r" +# noqa.*", "", "\n".join(lines[index] for index in kept)).rstrip()
