"""The JavaScript models against the library, on a grid."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from node_models import node

from shardwise import ledger
from shardwise.distributed import ring_all_reduce, ring_all_reduce_bytes
from shardwise.memory import fewest_devices, zero_memory_breakdown, zero_memory_per_device
from shardwise_widgets import MemoryBudget
from shardwise_widgets.memory_budget import GPUS, MAX_PARAMS, MIN_PARAMS, STAGES
from shardwise_widgets.memory_budget import MAX_DEVICES as MAX_BUDGET_DEVICES
from shardwise_widgets.ring_all_reduce import MAX_DEVICES, MIN_DEVICES, last_step, record_run

GRID = [
    {"params": params, "devices": n, "stage": stage, "gpu": gpu, "recipe": recipe, "activations": a}
    for params, n, stage, gpu, recipe, a in itertools.product(
        (10**8, 7_500_000_000, 5 * 10**9, 70 * 10**9, 405 * 10**9 + 1, 2 * 10**12),
        (1, 3, 8, 64, 1000, 4096),
        (0, 1, 2, 3),
        (24, 80, 192),
        ("2+2+12", "2+4+12", "2+6+12", "4+4+8", "2+0+8", "2+2+4"),
        (0, 0.3, 17),
    )
]


def test_the_limits_of_the_controls_are_those_of_the_traits() -> None:
    limits = node(
        """
        import * as memory from './memory-budget/model.js';
        import * as ring from './ring-all-reduce/model.js';
        const ends = (stops) => [stops.at(0), stops.at(-1)];
        const output = {
          gpus: memory.GPUS, stages: memory.STAGES,
          params: [memory.MIN_PARAMS, memory.MAX_PARAMS], paramStops: ends(memory.PARAMS),
          devices: memory.MAX_DEVICES, deviceStops: ends(memory.DEVICES),
          activations: memory.LARGEST_GPU, activationStops: ends(memory.ACTIVATIONS),
          ring: [ring.MIN_DEVICES, ring.MAX_DEVICES], ringStops: ends(ring.DEVICES),
        };
        """,
        None,
    )
    assert limits == {
        "gpus": list(GPUS),
        "stages": list(STAGES),
        "params": [MIN_PARAMS, MAX_PARAMS],
        "paramStops": [MIN_PARAMS, MAX_PARAMS],
        "devices": MAX_BUDGET_DEVICES,
        "deviceStops": [1, MAX_BUDGET_DEVICES],
        "activations": max(GPUS),
        "activationStops": [0, max(GPUS)],
        "ring": [MIN_DEVICES, MAX_DEVICES],
        "ringStops": [MIN_DEVICES, MAX_DEVICES],
    }


@pytest.fixture(scope="module")
def memory() -> list[dict[str, Any]]:
    recipes = MemoryBudget().recipes
    return node(
        """
        import * as model from './memory-budget/model.js';
        const output = input.grid.map((entry) => {
          const state = { ...entry, recipes: input.recipes };
          const answers = { fits: model.fits(state), fewest: model.fewestDevices(state) };
          return { ...model.breakdown(state), ...answers };
        });
        """,
        {"grid": GRID, "recipes": recipes},
    )


def test_bytes_per_device_are_the_librarys(memory: list[dict[str, Any]]) -> None:
    for entry, drawn in zip(GRID, memory, strict=True):
        where = (entry["params"], entry["devices"], entry["stage"])
        expected = zero_memory_breakdown(*where, recipe=entry["recipe"])
        parts = {name: drawn[name] for name in ("params", "grads", "optimizer")}
        assert parts == {name: expected[name] for name in parts}, entry
        # The sum is rounded on the way, twice at most: the numerator can exceed 2**53.
        total = zero_memory_per_device(*where, recipe=entry["recipe"])
        assert abs(drawn["total"] - total) <= 2 * 2**-52 * total, entry


def test_the_fewest_devices_are_the_librarys(memory: list[dict[str, Any]]) -> None:
    answers = set()
    for entry, drawn in zip(GRID, memory, strict=True):
        expected = fewest_devices(
            entry["params"],
            entry["stage"],
            entry["gpu"] * 10**9,
            recipe=entry["recipe"],
            reserved_bytes=round(entry["activations"] * 1e9),
        )
        assert drawn["fewest"] == expected, entry
        assert drawn["fits"] == (expected is not None and entry["devices"] >= expected), entry
        answers.add(expected)
    assert {None, 1} < answers, "the grid must reach every kind of answer"


@pytest.mark.parametrize("devices", range(MIN_DEVICES, MAX_DEVICES + 1))
def test_the_replay_is_the_run(devices: int) -> None:
    run = record_run(devices)
    replay = node(
        """
        import * as model from './ring-all-reduce/model.js';
        const steps = Array.from({ length: input.steps.length + 1 }, (_, i) => i);
        const output = steps.map((step) => ({
          grid: model.gridAfter(input, step),
          sent: input.start.map((_, device) => model.sentBy(input, step, device)),
          inAll: model.bytesInAll(input),
        }));
        """,
        run,
    )
    tensors = [torch.tensor(row, dtype=torch.float32) for row in run["start"]]
    with ledger.record(payloads=True) as log:
        result = ring_all_reduce(tensors)

    assert len(replay) == log.num_steps + 1 == last_step(devices) + 1
    last = [[cell["value"] for cell in row] for row in replay[-1]["grid"]]
    assert last == [tensor.tolist() for tensor in result]
    assert all(cell["done"] for row in replay[-1]["grid"] for cell in row)
    # What a device sends in the next step is what the replay says that it holds now.
    for transfer in log.transfers:
        cell = replay[transfer.step]["grid"][transfer.source][transfer.chunk]
        assert transfer.payload is not None
        assert cell["value"] == transfer.payload.item()
        column = [tensors[device][transfer.chunk].item() for device in cell["from"]]
        assert cell["value"] == sum(column), "a cell sums exactly the devices that it names"
    assert replay[-1]["sent"] == [log.sent_by(rank) for rank in range(devices)]
    assert replay[-1]["inAll"] == ring_all_reduce_bytes(run["bytes"], devices)
    scattered = replay[devices - 1]["grid"]
    assert [sum(cell["done"] for cell in row) for row in scattered] == [1] * devices
