"""Where units of work run: processes of this machine, or a Dask cluster."""

from __future__ import annotations

import logging
import os
import warnings
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import joblib

from shardwise_grading.class_run.interrupts import deaf_children
from shardwise_grading.class_run.worker import Answer, attempt, end_with

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

ANSWER_SECONDS = 10.0

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
        backend: joblib's name for where to run, with that backend's own options.
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
            calls = (joblib.delayed(attempt)(function, key, unit) for key, unit in units)
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
    yield JoblibPool(options, jobs, patience)


@contextmanager
def dask(jobs: int, patience: float, scheduler: str = "") -> Iterator[Pool]:
    """Run work on a Dask cluster: a local one, or the one of a scheduler.

    Args:
        jobs: processes of the local cluster.
        patience: seconds after which a worker that says nothing counts as lost.
        scheduler: an address such as ``"tcp://10.0.0.1:8786"``; empty for a local cluster.

    Raises:
        RuntimeError: dask is not installed, or no scheduler or worker answers.
    """
    try:
        distributed: Any = import_module("distributed")  # an extra
    except ImportError as error:
        raise RuntimeError(
            "--backend dask needs the dask and distributed packages; "
            "install them with: python -m pip install dask distributed"
        ) from error
    with ExitStack() as stack:
        with deaf_children():
            where: Any = scheduler or stack.enter_context(
                distributed.LocalCluster(
                    n_workers=jobs,
                    threads_per_worker=1,
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,
                )
            )
            try:
                client = distributed.Client(where, set_as_default=False, timeout=ANSWER_SECONDS)
            except OSError as error:
                raise RuntimeError(f"no Dask scheduler answers at {scheduler}: {error}") from error
        stack.enter_context(client)
        cores = sum(client.ncores().values())
        if not cores:
            raise RuntimeError(f"the Dask scheduler at {scheduler} has no workers; start some")
        yield JoblibPool({"backend": "dask", "client": client}, cores, patience)
