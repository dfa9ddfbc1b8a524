"""The ledger: what is written where, and by whom."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from shardwise import ledger
from shardwise.collectives import all_gather, broadcast, reduce_scatter, ring_all_reduce


def tensors(num_devices, size=8):
    return [torch.ones(size) for _ in range(num_devices)]


def test_nothing_is_recorded_outside_a_recording():
    with ledger.record() as log:
        pass
    ring_all_reduce(tensors(3))
    assert (log.transfers, log.calls, log.num_steps, log.total_bytes()) == ([], [], 0, 0)


def test_steps_continue_from_one_collective_to_the_next():
    with ledger.record() as log:
        ring_all_reduce(tensors(3))
        broadcast(torch.ones(2), 3)
        all_gather(tensors(3))
        reduce_scatter(tensors(3))
    assert log.calls == ["ring_all_reduce", "broadcast", "all_gather", "reduce_scatter"]
    assert sorted({t.step for t in log.transfers}) == list(range(4 + 2 + 2 + 2))
    assert log.num_steps == 10
    assert [t.step for t in log.transfers] == sorted(t.step for t in log.transfers)


def test_one_device_is_a_call_that_moves_nothing():
    with ledger.record() as log:
        ring_all_reduce(tensors(1))
    assert log.calls == ["ring_all_reduce"]
    assert log.transfers == []


def test_a_rejected_call_leaves_no_trace():
    with ledger.record() as log, pytest.raises(ValueError, match="empty"):
        ring_all_reduce([])
    assert log.calls == []


def test_totals_agree():
    with ledger.record() as log:
        ring_all_reduce(tensors(3, size=10))
        broadcast(torch.ones(5), 3, source=1)
    assert log.total_bytes() == 2 * 2 * 40 + 2 * 20
    assert sum(log.sent_by(rank) for rank in range(3)) == log.total_bytes()
    assert sum(log.received_by(rank) for rank in range(3)) == log.total_bytes()
    by_hand = sum(t.num_bytes for t in log.transfers if t.source == 1)
    assert log.sent_by(1) == by_hand > 0
    assert log.sent_by(7) == log.received_by(7) == 0


def test_payloads_are_copies_and_only_on_request():
    leaf = torch.ones(4, requires_grad=True)
    with ledger.record() as plain, ledger.record(payloads=True) as rich:
        results = ring_all_reduce([leaf, leaf])
        broadcast(leaf, 2)
    assert all(t.payload is None for t in plain.transfers)
    assert [t.payload.tolist() for t in rich.transfers] == [
        [1.0, 1.0],
        [1.0, 1.0],
        [2.0, 2.0],
        [2.0, 2.0],
        [1.0] * 4,
    ]
    assert not any(t.payload.requires_grad for t in rich.transfers)
    for result in results:
        result.zero_()
    assert rich.transfers[2].payload.tolist() == [2.0, 2.0]


def test_an_inner_recording_is_part_of_the_outer_one():
    with ledger.record() as outer:
        ring_all_reduce(tensors(2))
        with ledger.record() as inner:
            ring_all_reduce(tensors(2))
        ring_all_reduce(tensors(2))
    assert [t.step for t in inner.transfers] == [0, 0, 1, 1]
    assert outer.num_steps == 6
    assert len(outer.calls) == 3
    assert len(inner.calls) == 1


def test_an_exception_ends_its_recording():
    def fail_halfway():
        with ledger.record() as log:
            logs.append(log)
            ring_all_reduce(tensors(2))
            raise RuntimeError("stop")

    logs = []
    with pytest.raises(RuntimeError, match="stop"):
        fail_halfway()
    ring_all_reduce(tensors(2))
    assert logs[0].calls == ["ring_all_reduce"]


def test_recordings_may_end_in_another_order_than_they_began():
    """As with a generator that is closed while others record."""

    def recording():
        with ledger.record() as log:
            yield log

    first = recording()
    early = next(first)
    with ledger.record() as late:
        ring_all_reduce(tensors(2))
        first.close()
        ring_all_reduce(tensors(2))
    ring_all_reduce(tensors(2))
    assert (len(early.calls), len(late.calls)) == (1, 2)
    with ledger.record() as alone:
        pass
    assert ledger._active.get() == ()
    assert (early.recording, alone.recording, alone.calls) == (False, False, [])


def test_a_generator_may_be_closed_in_another_task():
    async def recording():
        with ledger.record() as log:
            yield log

    async def close_elsewhere():
        generator = recording()
        log = await anext(generator)
        await asyncio.create_task(generator.aclose())
        ring_all_reduce(tensors(2))
        return log.calls

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: asyncio.run(close_elsewhere())).result(timeout=30) == []


def test_steps_are_counted_to_the_highest_also_where_collectives_overlap():
    with ledger.record() as log:
        slow = ledger.Recorder("slow")
        ring_all_reduce(tensors(3))  # steps 0 to 3
        slow.note("send_forward", 0, 0, 1, chunk=0, message=torch.ones(1))
        assert log.num_steps == 4
        broadcast(torch.ones(1), 2)
    assert log.transfers[-1].step == 4


def test_nonsense_is_refused():
    with ledger.record() as log:
        ring_all_reduce(tensors(2))
    for junk in (None, True, "0", 0.0, -1, [0]):
        for count in (log.sent_by, log.received_by):
            with pytest.raises((TypeError, ValueError), match=r"^rank="):
                count(junk)
    for junk in (None, 1, "yes"):
        with pytest.raises(TypeError, match=r"payloads=.* must be True or False"):
            ledger.record(payloads=junk).__enter__()
    ring_all_reduce(tensors(2))
    assert len(log.calls) == 1


def test_threads_and_tasks_do_not_see_one_another():
    logs = {}
    together = threading.Barrier(3)

    def work(num_devices):
        with ledger.record() as log:
            together.wait(timeout=30)
            ring_all_reduce(tensors(num_devices))
            together.wait(timeout=30)
        logs[num_devices] = log

    with ledger.record() as here:
        threads = [threading.Thread(target=work, args=(n,)) for n in (2, 3, 4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert here.transfers == []
    assert {n: log.num_steps for n, log in logs.items()} == {2: 2, 3: 4, 4: 6}

    async def task(num_devices):
        with ledger.record() as log:
            await asyncio.sleep(0)
            ring_all_reduce(tensors(num_devices))
            await asyncio.sleep(0)
        return log.num_steps

    async def both():
        return await asyncio.gather(task(2), task(5))

    # In a thread of its own: a browser that other tests drive keeps a loop running in this one.
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: asyncio.run(both())).result(timeout=30) == [2, 8]


def test_a_transfer_can_not_be_rewritten():
    with ledger.record() as log:
        ring_all_reduce(tensors(2))
    with pytest.raises(AttributeError):
        log.transfers[0].num_bytes = 0
