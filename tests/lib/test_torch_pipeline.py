"""Schedules and gradients against torch.distributed.pipelining, on real processes over gloo."""

from __future__ import annotations

import pytest
import torch
from gloo_ranks import on_ranks
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.nn import functional

from shardwise.pipeline import pipeline_schedule, run_schedule

pytestmark = pytest.mark.skipif(
    torch.cuda.is_available(), reason="a fork cannot use the threads that autograd has with a GPU"
)
SCHEDULES = {"gpipe": ScheduleGPipe, "1f1b": Schedule1F1B}
SHAPES = [(1, 3), (2, 2), (2, 5), (3, 4), (4, 4), (4, 8)]  # their 1F1B refuses M < P
WIDTH, SIZE = 5, 2


class Diary(nn.Module):
    """A stage that writes down its forwards and backwards, by number of the micro-batch."""

    def __init__(self, stage):
        super().__init__()
        torch.manual_seed(stage)
        self.layer = nn.Linear(WIDTH, WIDTH, dtype=torch.float64)
        self.pages, self.forwards = [], 0

    def forward(self, x):
        output = torch.tanh(self.layer(x))
        microbatch = self.forwards
        self.forwards += 1
        self.pages.append(("F", microbatch))
        output.register_hook(lambda _: self.pages.append(("B", microbatch)))
        return output


def batch(count):
    generator = torch.Generator().manual_seed(count)
    shape = (count * SIZE, WIDTH)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(2)]


def run_theirs(policy, num_stages, count, folder):
    """Return, by rank: the order of operations, the gradients, and the loss on the last one."""
    inputs, targets = batch(count)

    def work(rank):
        diary = Diary(rank)
        stage = PipelineStage(diary, rank, num_stages, torch.device("cpu"))
        schedule = SCHEDULES[policy](stage, count, loss_fn=functional.mse_loss)
        for _ in range(2):  # the first step also finds out shapes, by runs that count for nothing
            diary.pages, diary.forwards, losses = [], 0, []
            diary.zero_grad()
            last = {"target": targets, "losses": losses} if rank == num_stages - 1 else {}
            schedule.step(*([inputs] if rank == 0 else []), **last)
        gradients = {name: p.grad for name, p in diary.named_parameters()}
        return diary.pages, gradients, torch.stack(losses).mean() if losses else None

    return on_ranks(work, num_stages, folder)


@pytest.mark.parametrize("policy", SCHEDULES)
@pytest.mark.parametrize(("num_stages", "count"), SHAPES)
def test_order_gradients_and_loss(policy, num_stages, count, tmp_path, rounding_bound):
    theirs = run_theirs(policy, num_stages, count, tmp_path)
    cells = pipeline_schedule(num_stages, count, policy)
    stages = [Diary(stage) for stage in range(num_stages)]
    ours = run_schedule(stages, *batch(count), functional.mse_loss, cells)
    for rank, (pages, gradients, loss) in enumerate(theirs):
        assert pages == [(c.op, c.microbatch) for c in cells if c.stage == rank]
        assert stages[rank].pages == pages
        for name, want in gradients.items():
            got = ours.gradients[rank][name]
            size = max(want.abs().max().item(), 1.0)
            assert (got - want).abs().max() <= rounding_bound(torch.float64, 8 * WIDTH, size)
        if loss is not None:
            assert abs(ours.loss - loss) <= rounding_bound(torch.float64, 8 * count, loss.item())
