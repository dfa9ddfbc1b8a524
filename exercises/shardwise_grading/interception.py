"""Answer calls of a library function ourselves, under every name that anybody holds it by.

A student who wrote ``from shardwise.memory import zero_memory_per_device as z`` holds the function
object, so patching the module's attribute would not reach ``z``. The code of the object itself is
exchanged instead, for as long as a context lasts.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any

Function = Callable[..., Any]

_answers: dict[str, Function] = {}
_serial = itertools.count()


def _gate(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
    # Runs with the globals of the function that it stands in for, so it has to import.
    from shardwise_grading.interception import answer  # noqa: PLC0415

    return answer("<token>", args, kwargs)


def answer(token: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ANN401
    """Pass a call on to whoever answers for the function now."""
    return _answers[token](*args, **kwargs)


def find(path: str) -> FunctionType:
    """Return the plain function at a dotted path, below any decorators.

    Raises:
        ValueError: there is nothing at that path.
        TypeError: what is there is not a Python function, or closes over variables.
    """
    module, _, name = path.rpartition(".")
    found = getattr(importlib.import_module(module), name, None)
    if found is None:
        raise ValueError(f"path={path!r} names nothing in {module}; give module.function")
    function = inspect.unwrap(found)
    if not isinstance(function, FunctionType) or function.__code__.co_freevars:
        raise TypeError(f"path={path!r} is {function!r}; only plain functions can be answered for")
    return function


@contextmanager
def intercepted(path: str, make: Callable[[Function], Function]) -> Iterator[None]:
    """Answer calls of a function ourselves inside the context, and give it back afterwards.

    Args:
        path: where it is defined, such as ``"shardwise.memory.zero_memory_per_device"``.
        make: takes the original, which still works, and returns what answers in its place.
    """
    function = find(path)
    code = function.__code__
    original = FunctionType(code, function.__globals__, path, function.__defaults__)
    original.__kwdefaults__ = function.__kwdefaults__
    token = f"{path}#{next(_serial)}"
    _answers[token] = make(original)
    function.__code__ = _gate_code(token)
    try:
        yield
    finally:
        function.__code__ = code
        del _answers[token]


def _gate_code(token: str) -> CodeType:
    """The gate with its own token in place of the placeholder."""
    code = _gate.__code__
    constants = tuple(token if value == "<token>" else value for value in code.co_consts)
    return code.replace(co_consts=constants)
