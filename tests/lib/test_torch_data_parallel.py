"""Data parallelism and ZeRO against PyTorch's own on real processes: DDP, its ZeRO-1, and FSDP2."""

from __future__ import annotations

import pytest
import torch
from gloo_ranks import import_for_all, on_ranks, runs_backward_in_forks
from torch import nn

from shardwise import ledger
from shardwise.distributed import data_parallel_gradients
from shardwise.zero import ZeroTrainer

pytestmark = [
    runs_backward_in_forks,
    pytest.mark.long,  # importing FSDP alone takes seconds
    pytest.mark.filterwarnings("ignore:FSDP2-wrapped module .* returned a view"),
]

NUM_RANKS, STEPS = 3, 4
ADAM = {"lr": 0.05, "betas": (0.8, 0.9), "eps": 0.5, "weight_decay": 0.1}


@pytest.fixture(scope="module", autouse=True)
def _imported():
    import_for_all("torch.distributed.fsdp", "torch.distributed.optim", "torch._dynamo")


def layers():
    torch.manual_seed(0)
    tied = nn.Linear(4, 6)
    return [tied, nn.Tanh(), nn.Linear(6, 4), nn.Linear(4, 5)]


def batches(dtype):
    generator = torch.Generator().manual_seed(1)
    return [
        tuple(
            [torch.rand(2, width, generator=generator).to(dtype) * 2 - 1 for _ in range(NUM_RANKS)]
            for width in (4, 5)
        )
        for _ in range(STEPS)
    ]


def step_tolerance(rounding_bound, dtype):
    """How far apart two runs may be whose gradients, of size up to 10, are rounded differently.

    Adam's update has a slope of at most 2/eps in the gradient, and each step at most doubles what
    was there before.
    """
    gradient = rounding_bound(dtype, 100, 10)
    return (2**STEPS - 1) * ADAM["lr"] * 2 / ADAM["eps"] * gradient


def trained(rank, model, optimizer, dtype=torch.float64):
    """Train a model as every PyTorch user does, on this rank's shards; return its losses."""
    losses = []
    for xs, ys in batches(dtype):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(xs[rank]).to(ys[rank].dtype), ys[rank])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def ours(stage, dtype=torch.float64, **options):
    """Train with ZeroTrainer on all shards; return parameters, losses, and what was called."""
    trainer = ZeroTrainer(
        layers(), num_devices=NUM_RANKS, stage=stage, dtype=dtype, **ADAM, **options
    )
    losses = []
    with ledger.record() as log:
        for xs, ys in batches(torch.float64):
            losses.append(trainer.step(xs, ys).item())
    return trainer, losses, log


def assert_same(parameters, want, tolerance):
    assert parameters.keys() == want.keys()
    for name, parameter in parameters.items():
        assert parameter.shape == want[name].shape
        assert (parameter - want[name]).abs().max() <= tolerance, name


def test_gradients_are_those_of_ddp(tmp_path, rounding_bound):
    (xs, ys), *_ = batches(torch.float64)
    weight = torch.linspace(-1, 1, 20, dtype=torch.float64).reshape(5, 4)

    def work(rank):
        model = nn.Linear(4, 5, bias=False, dtype=torch.float64)
        model.load_state_dict({"weight": weight})
        replica = nn.parallel.DistributedDataParallel(model)
        nn.functional.mse_loss(replica(xs[rank]), ys[rank]).backward()
        return model.weight.grad

    theirs = on_ranks(work, NUM_RANKS, tmp_path)
    assert all(torch.equal(gradient, theirs[0]) for gradient in theirs)
    got = data_parallel_gradients(weight, xs, ys)
    assert (got - theirs[0]).abs().max() <= rounding_bound(torch.float64, 20, 10)


@pytest.mark.parametrize("decoupled", [False, True])
def test_stage_1_is_the_zero_redundancy_optimizer(tmp_path, rounding_bound, decoupled):
    from torch.distributed.optim import ZeroRedundancyOptimizer

    def work(rank):
        replica = nn.parallel.DistributedDataParallel(nn.Sequential(*layers()).double())
        optimizer = ZeroRedundancyOptimizer(
            replica.parameters(),
            optimizer_class=torch.optim.AdamW if decoupled else torch.optim.Adam,
            **ADAM,
        )
        losses = trained(rank, replica, optimizer)
        return dict(replica.module.named_parameters()), losses

    theirs = on_ranks(work, NUM_RANKS, tmp_path)
    tolerance = step_tolerance(rounding_bound, torch.float64)
    trainer, losses, _ = ours(1, decoupled_weight_decay=decoupled)
    for rank, (parameters, _) in enumerate(theirs):
        assert_same(trainer.parameters_full(rank=rank), parameters, tolerance)
    for mine, others in zip(
        losses, zip(*(losses for _, losses in theirs), strict=True), strict=True
    ):
        assert abs(mine - sum(others) / NUM_RANKS) <= 10 * tolerance


def fsdp(dtype, policy=None):
    from torch.distributed.fsdp import fully_shard

    model = nn.Sequential(*layers()).to(dtype)
    options = {} if policy is None else {"mp_policy": policy}
    for layer in model:
        if list(layer.parameters()):
            fully_shard(layer, **options)
    return fully_shard(model, **options)


def whole(model):
    return {name: parameter.full_tensor() for name, parameter in model.named_parameters()}


def test_stage_3_is_fsdp2(tmp_path, rounding_bound):
    def work(rank):
        model = fsdp(torch.float64)
        sizes = sum(p.to_local().numel() for p in model.parameters())
        losses = trained(rank, model, torch.optim.AdamW(model.parameters(), **ADAM))
        return whole(model), losses, sizes

    theirs = on_ranks(work, NUM_RANKS, tmp_path)
    tolerance = step_tolerance(rounding_bound, torch.float64)
    trainer, losses, _ = ours(3, decoupled_weight_decay=True)
    for parameters, _, _ in theirs:
        assert_same(trainer.parameters_full(), parameters, tolerance)
    for mine, others in zip(
        losses, zip(*(losses for _, losses, _ in theirs), strict=True), strict=True
    ):
        assert abs(mine - sum(others) / NUM_RANKS) <= 10 * tolerance


NAMES = {"c10d._allgather_base_": "all_gather", "c10d._reduce_scatter_base_": "reduce_scatter"}


def test_stage_3_gathers_and_scatters_when_fsdp2_does(tmp_path):
    from torch.distributed.tensor.debug import CommDebugMode

    def work(rank):
        model = fsdp(torch.float32)
        (xs, ys), *_ = batches(torch.float32)
        with CommDebugMode() as forward:
            loss = nn.functional.mse_loss(model(xs[rank].requires_grad_()), ys[rank])
        with CommDebugMode() as backward:
            loss.backward()
        return [
            {NAMES[str(op)]: count for op, count in mode.get_comm_counts().items()}
            for mode in (forward, backward)
        ]

    forward = {"all_gather": 3}
    backward = {"all_gather": 3, "reduce_scatter": 3}
    assert on_ranks(work, NUM_RANKS, tmp_path) == [[forward, backward]] * NUM_RANKS
    _, _, log = ours(3, torch.float32)
    assert log.calls == (["all_gather"] * 3 + ["all_gather", "reduce_scatter"] * 3) * STEPS


@pytest.mark.parametrize("reduce_dtype", [torch.bfloat16, torch.float32])
def test_mixed_precision_is_fsdp2s(tmp_path, rounding_bound, reduce_dtype):
    """Two ranks: halving is exact in bf16 too, and a sum of two has one order."""
    from torch.distributed.fsdp import MixedPrecisionPolicy

    def work(rank):
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=reduce_dtype)
        model = fsdp(torch.float32, policy)
        optimizer = torch.optim.AdamW(model.parameters(), **ADAM)
        seen = []
        for xs, ys in batches(torch.bfloat16):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(xs[rank]).float(), ys[rank].float()).backward()
            optimizer.step()
            seen.append({name: p.detach().clone() for name, p in whole(model).items()})
        return seen

    theirs = on_ranks(work, 2, tmp_path)
    trainer = ZeroTrainer(
        layers(),
        num_devices=2,
        stage=3,
        grad_dtype=reduce_dtype,
        decoupled_weight_decay=True,
        **ADAM,
    )
    # Both have the same gradients. Adam's 12 operations a step, on numbers below 2, differ.
    tolerance = rounding_bound(torch.float32, 12 * STEPS, 2)
    for step, (xs, ys) in enumerate(batches(torch.bfloat16)):
        trainer.step(xs[:2], ys[:2])
        for seen in theirs:
            assert_same(trainer.parameters_full(master=True), seen[step], tolerance)
