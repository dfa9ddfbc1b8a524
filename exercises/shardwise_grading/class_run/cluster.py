"""Units of work on a Dask cluster, through joblib."""

from __future__ import annotations

import logging
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shardwise_grading.class_run.interrupts import deaf_children
from shardwise_grading.class_run.pool import JoblibPool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardwise_grading.class_run.pool import Pool

ANSWER_SECONDS = 10.0
RESTART_SECONDS = 120.0  # a worker that died is started again by its cluster


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
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                    scheduler_kwargs={"allowed_failures": 0},  # who tries again, and how, is ours
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
        yield JoblibPool({"backend": _backend(client)}, cores, patience)


def _backend(client: Any) -> Any:  # noqa: ANN401  (neither library is typed)
    """Make joblib's backend for a client, but for two of its habits.

    It would run work in this process where a single unit can run at a time: with one worker, or
    while all others are being started again. And of a worker that died it would say nothing.
    """
    usual: Any = import_module("joblib._dask").DaskDistributedBackend

    class Backend(usual):  # type: ignore[misc]
        def effective_n_jobs(self, n_jobs: int) -> int:
            return max(2, int(super().effective_n_jobs(n_jobs)))

        def submit(self, func: Any, callback: Any = None) -> Any:  # noqa: ANN401
            future = super().submit(func, callback)
            future.add_done_callback(lambda done: done.exception() and callback(done))
            return future

        def retrieve_result_callback(self, out: Any) -> Any:  # noqa: ANN401
            if isinstance(out, Future):
                return out.result()
            return super().retrieve_result_callback(out)

    return Backend(client=client, wait_for_workers_timeout=RESTART_SECONDS)
