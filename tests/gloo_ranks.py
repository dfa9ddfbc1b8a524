"""Real ranks for tests that compare the library with torch.distributed: forked processes over gloo.

Forks start in a tenth of a second, with all that the parent has imported. What is heavy to import
belongs into the parent: each child would pay for it again.
"""

from __future__ import annotations

import importlib
import multiprocessing
import traceback
import warnings
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch.distributed as dist

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

runs_backward_in_forks = pytest.mark.skipif(
    torch.cuda.is_available(), reason="a fork cannot use the threads that autograd has with a GPU"
)
TIMEOUT = 120
"""Seconds after which ranks that wait for one another are given up."""


def on_ranks(work: Callable[[int], Any], num_ranks: int, folder: Path) -> list[Any]:
    """Run `work(rank)` in processes of one gloo group, and return what they return, by rank.

    `folder` is an empty one for their meeting and their results. Results travel by torch.save.
    """
    context = multiprocessing.get_context("fork")
    processes = [
        context.Process(target=_one_rank, args=(work, rank, num_ranks, folder))
        for rank in range(num_ranks)
    ]
    with warnings.catch_warnings():
        # Python 3.12 warns of threads, which a fork loses. No thread of ours holds a lock here.
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        for process in processes:
            process.start()
    try:
        for process in processes:
            process.join(TIMEOUT)
    finally:
        for process in processes:
            process.kill()
            process.join()
    errors = [path.read_text() for path in sorted(folder.glob("error-*"))]
    assert not errors, "\n".join(errors)
    assert [process.exitcode for process in processes] == [0] * num_ranks
    return [torch.load(folder / f"result-{rank}", weights_only=False) for rank in range(num_ranks)]


def import_for_all(*names: str) -> None:
    """Import modules in the parent that each child would import for itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's modules use what PyTorch deprecates
        for name in names:
            importlib.import_module(name)


def _one_rank(work: Callable[[int], Any], rank: int, num_ranks: int, folder: Path) -> None:
    torch.set_num_threads(1)  # before anything else: threads of the parent are not there
    try:
        dist.init_process_group(
            "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=num_ranks
        )
        torch.save(work(rank), folder / f"result-{rank}")
        dist.barrier()
        dist.destroy_process_group()
    except BaseException:  # noqa: BLE001 - whatever it was, the parent is told
        (folder / f"error-{rank}").write_text(f"rank {rank}:\n{traceback.format_exc()}")
        raise SystemExit(1) from None
