"""While hidden checks run, the library does not answer for the student."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from shardwise_grading.interception import Function, intercepted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class LockedError(RuntimeError):
    """A library function that solves the exercise was called while it is graded."""


@contextmanager
def lockdown(paths: Iterable[str]) -> Iterator[None]:
    """Make functions raise `LockedError` inside the context, by whatever name they are called.

    Args:
        paths: dotted paths of the functions that would solve the exercise.

    Example:
        >>> from textwrap import dedent as under_another_name
        >>> with lockdown(["textwrap.dedent"]):
        ...     under_another_name("  text")
        Traceback (most recent call last):
        shardwise_grading.lockdown.LockedError: textwrap.dedent is locked while ...
        >>> under_another_name("  text")
        'text'
    """
    with ExitStack() as stack:
        for path in paths:
            stack.enter_context(intercepted(path, _refusal(path)))
        yield


def _refusal(path: str) -> Any:  # noqa: ANN401
    def refuse(*_: object, **__: object) -> NoReturn:
        raise LockedError(f"{path} is locked while your work is graded")

    def make(_: Function) -> Function:
        return refuse

    return make
