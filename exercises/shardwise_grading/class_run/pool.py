"""Where units of work run: processes of this machine, or a Dask cluster."""

from __future__ import annotations

import os
import warnings
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import joblib

from shardwise_grading.class_run.interrupts import deaf_children
from shardwise_grading.class_run.worker import Answer, attempt, end_with, whereabouts

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

Unit = tuple[str, Any]


class Pool(Protocol):
    """Something that runs units of work."""

    def answers(
        self, function: Callable[[Any], Any], units: Iterable[Unit], *, alone: bool = False
    ) -> Generator[Answer[Any], None, None]:
        """Yield answers as they come; raise when a worker is lost.

        Args:
            function: what to call; a worker must be able to import it.
            units: a key and an argument each; asked for as workers become free.
            alone: run one at a time, so that it is known whose worker was lost.
        """


@dataclass(frozen=True, slots=True)
class JoblibPool:
    """How joblib is to spread the work.

    Args:
        backend: joblib's backend, with its own options.
        jobs: units of work at a time.
        patience: seconds after which a worker that says nothing counts as lost.
    """

    backend: dict[str, Any]
    jobs: int
    patience: float

    def answers(
        self, function: Callable[[Any], Any], units: Iterable[Unit], *, alone: bool = False
    ) -> Generator[Answer[Any], None, None]:
        """Yield answers as they come, as a `Pool` does."""
        # joblib would run a single job in this very process, which a student's fault may end.
        processes = 2 if alone else max(2, self.jobs)
        with joblib.parallel_config(n_jobs=processes, **self.backend):
            parallel = joblib.Parallel(
                batch_size=1,
                pre_dispatch=1 if alone or self.jobs == 1 else 2 * self.jobs,
                return_as="generator_unordered",
                timeout=self.patience,
                max_nbytes=None,
            )
            here = whereabouts()
            calls = (joblib.delayed(attempt)(function, key, unit, here) for key, unit in units)
            with deaf_children():
                started = parallel(calls)
        with warnings.catch_warnings(), closing(started):
            # Leaving early is our wish; joblib warns of it.
            warnings.filterwarnings("ignore", message=".*(not used|cancelled)", module="joblib")
            yield from started


def most_jobs() -> int:
    """Return how many submissions this machine grades at a time.

    A worker and its students' processes need up to half a GiB, and a student's own limit on top.
    """
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(int(joblib.cpu_count()), memory // 2**30))


@contextmanager
def processes(jobs: int, patience: float) -> Iterator[Pool]:
    """Run work in processes of this machine, which end with this one."""
    options = {
        "backend": "loky",
        "inner_max_num_threads": 1,
        "initializer": end_with,
        "initargs": (os.getpid(),),
    }
    # Of a run that is killed joblib's helper says in long warnings that it tidied up.
    before = os.environ.get("PYTHONWARNINGS", "")
    quiet = "ignore:resource_tracker:UserWarning"
    os.environ["PYTHONWARNINGS"] = f"{before},{quiet}" if before else quiet
    try:
        yield JoblibPool(options, jobs, patience)
    finally:
        os.environ["PYTHONWARNINGS"] = before
