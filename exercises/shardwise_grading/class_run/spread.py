"""Spread units of work over workers so that a lost worker costs no more than what it had."""

from __future__ import annotations

import multiprocessing
from contextlib import closing
from typing import TYPE_CHECKING, Any

from shardwise_grading.class_run.worker import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from shardwise_grading.class_run.pool import Pool, Unit


def spread(
    function: Callable[[Any], Any], units: Iterable[Unit], pool: Pool
) -> Generator[Answer[Any], None, None]:
    """Yield one answer for each unit of work, as they come.

    A pool whose worker dies cannot say which unit that worker had. So every unit that was under
    way runs again, alone; one that then takes its worker with it gets an answer with an error.

    Args:
        function: what to call with each argument; a worker must be able to import it.
        units: a key, each its own, and an argument; asked for as workers become free.
        pool: where to run.
    """
    waiting = iter(units)
    while True:
        under_way: dict[str, Any] = {}
        try:
            with closing(pool.answers(function, _noted(waiting, under_way))) as answers:
                for answer in answers:
                    del under_way[answer.key]
                    yield answer
        except Exception:  # each backend has its own for a lost worker
            if not under_way:
                raise
        if not under_way:
            return
        for unit in list(under_way.items()):
            yield _alone(function, unit, pool)


def _noted(units: Iterator[Unit], under_way: dict[str, Any]) -> Iterator[Unit]:
    """Pass units on, and note which are under way."""
    for key, argument in units:
        under_way[key] = argument
        yield key, argument


def _alone(function: Callable[[Any], Any], unit: Unit, pool: Pool) -> Answer[Any]:
    try:
        (answer,) = pool.answers(function, [unit], alone=True)
    except multiprocessing.TimeoutError:  # joblib's, which is not Python's own
        return Answer(unit[0], None, "the process that graded it did not answer in time")
    except Exception as error:  # noqa: BLE001
        reason = type(error).__name__
        return Answer(unit[0], None, f"it ended the process that graded it, twice ({reason})")
    return answer
