"""The ring at work on the reader's own tensors."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from shardwise import ledger
from shardwise.distributed import ring_all_reduce
from shardwise_widgets import RingAllReduce
from shardwise_widgets.ring_recording import record_tensors

ONES = torch.ones(2)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        (5, "tensors must be a list, one tensor for each device, not int"),
        (torch.ones(3, 2), "tensors must be a list, one tensor for each device, not Tensor"),
        ([], "tensors holds 0: give 2 to 8 tensors"),
        ([ONES], "tensors holds 1: give 2 to 8 tensors"),
        ([ONES] * 9, "tensors holds 9: give 2 to 8 tensors"),
        ([1, 2], "tensors[0]=1 must be a torch.Tensor, not int"),
        ([ONES, torch.ones(3)], "tensors[1] has shape (3,), tensors[0] has (2,)"),
        ([ONES, ONES.double()], "tensors[1] has dtype torch.float64"),
        ([torch.ones(2, dtype=torch.bool)] * 2, "tensors of torch.bool can't be summed"),
        ([ONES.to_sparse()] * 2, "tensors[0] is sparse"),
        ([torch.ones(2, device="meta")] * 2, "tensors"),
        ([torch.ones(0)] * 2, "tensors have no elements: give tensors with something to sum"),
    ],
)
def test_wrong_tensors_are_named(tensors: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        RingAllReduce.from_tensors(tensors)


@pytest.mark.parametrize("step", [-1, 5, 1.5, "1", None])
def test_a_wrong_step_is_named(step: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="step="):
        RingAllReduce.from_tensors([ONES] * 3, step=step)


@pytest.mark.parametrize("devices", range(2, 9))
@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (64,)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_the_recording_is_the_run(devices: int, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(devices)
    tensors = [torch.randint(-9, 9, shape, generator=generator).to(dtype) for _ in range(devices)]
    run = record_tensors(tensors)
    with ledger.record(payloads=True) as log:
        results = ring_all_reduce(tensors)
    recorded = [tuple(sent[:4]) for step in run["steps"] for sent in step["transfers"]]
    assert recorded == [(t.source, t.destination, t.chunk, t.num_bytes) for t in log.transfers]
    held = [list(row) for row in run["start"]]
    for step in run["steps"]:
        before = [list(row) for row in held]
        for source, destination, chunk, _, value, *total in step["transfers"]:
            assert value == before[source][chunk]
            held[destination][chunk] = total[0] if total else value
    firsts = [
        f"{chunk[0].item():.3g}" if chunk.numel() else "none"
        for chunk in results[0].reshape(-1).tensor_split(devices)
    ]
    assert held == [firsts] * devices


def test_cells_show_first_elements_and_texts_say_the_others() -> None:
    tensors = [torch.arange(20.0).reshape(4, 5) * scale for scale in (1, 0.001)]
    ring = RingAllReduce.from_tensors(tensors, step=1)
    assert ring.steps["bytes"] == 80
    assert ring.steps["start"] == [["0", "10"], ["0", "0.01"]]
    assert ring.steps["texts"]["start"][1][1] == (
        "10 elements [0.01, 0.011, 0.012, …, 0.017, 0.018, 0.019]"
    )
    assert ring.steps["texts"]["steps"][0][1] == "10 elements [10, 11, 12, …, 17, 18, 19]"
    assert (ring.devices, ring.step) == (2, 1)


def test_what_is_no_finite_number_travels_as_text() -> None:
    odd = torch.tensor([float("nan"), float("inf"), -1e-30, 12345678.0])
    run = record_tensors([odd, odd])
    assert run["start"][0] == ["nan", "-1e-30"]
    assert run["texts"]["start"][0] == ["2 elements [nan, inf]", "2 elements [-1e-30, 1.23e+07]"]


def test_the_devices_are_those_of_the_tensors() -> None:
    tensors = [torch.ones(4, requires_grad=True)] * 3
    ring = RingAllReduce.from_tensors(tensors, step=4)
    steps = ring.steps
    with pytest.raises(
        ValueError, match="devices=4 must stay 3, one for each tensor: make another"
    ):
        ring.devices = 4
    with pytest.raises(ValueError, match="devices=2 must stay 3"):
        ring.set_state({"devices": 2, "step": 0})
    assert (ring.devices, ring.step) == (3, 4)
    assert ring.steps is steps
    assert tensors[0].grad is None


def test_a_page_brings_this_run_and_no_other() -> None:
    ring = RingAllReduce.from_tensors([torch.tensor([0.25, 3.5]), ONES], step=2)
    state = ring.book_state()
    assert state == {"devices": 2, "step": 2, "steps": ring.steps}
    page = ring.book_markdown()
    assert "4.5, finished; 1 element [4.5]" in page
    assert 'data-name="devices"' not in page
