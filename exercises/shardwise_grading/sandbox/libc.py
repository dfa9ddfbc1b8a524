"""Calls into the C library, with errors as `OSError`."""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache
from typing import Any


@cache
def _library() -> Any:  # noqa: ANN401
    return ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: int | bytes | ctypes.Array[Any] | ctypes.Structure | None) -> int:
    """Call a function of the C library.

    Args:
        name: the function, such as ``"unshare"``.
        arguments: whole numbers, texts as bytes, memory that is passed by reference, or NULL.

    Raises:
        OSError: the function returned -1, or there is none of that name.

    Example:
        >>> call("getppid") == os.getppid()
        True
    """
    try:
        function = getattr(_library(), name)
    except AttributeError:
        raise OSError(errno.ENOSYS, f"{name}: {os.strerror(errno.ENOSYS)}") from None
    result: int = function(*map(_as_c, arguments))
    if result == -1:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")
    return result


def _as_c(argument: int | bytes | ctypes.Array[Any] | ctypes.Structure | None) -> Any:  # noqa: ANN401
    if isinstance(argument, int):
        return ctypes.c_long(argument)
    if isinstance(argument, bytes) or argument is None:
        return ctypes.c_char_p(argument)
    return ctypes.byref(argument)
