"""Layers that compute twice, borrow from elsewhere, or have no values: made right, or refused."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from shardwise.zero import ZeroTrainer, _units

FP32, FP64 = torch.float32, torch.float64
NUMBERS = {"num_devices": 2, "lr": 0.1, "eps": 0.5}


def batch(seed=0, width=4):
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        [torch.randn(n, width, generator=generator, dtype=FP64) for n in (2, 3)] for _ in range(2)
    )


def block():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 4))


def trained(layers, stage, steps=3, **changes):
    """Return parameters after some steps, from the same random numbers."""
    trainer = ZeroTrainer(layers, stage=stage, **{**NUMBERS, "dtype": FP32, **changes})
    torch.manual_seed(1)
    for seed in range(steps):
        trainer.step(*batch(seed))
    return trainer.parameters_full()


def equal(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.values(), other.values(), strict=True))


# Recomputation


class Checkpointed(nn.Module):
    """Keeps its input only, and computes the rest again in the backward pass."""

    def __init__(self, inner, **options):
        super().__init__()
        self.inner, self.options = inner, {"use_reentrant": False, **options}

    def forward(self, x):
        return checkpoint(self.inner, x, **self.options)


class InPieces(nn.Module):
    """Checkpoints each half of its layers, one of them within another checkpoint."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        def run(x):
            return checkpoint_sequential(self.inner, 2, x, use_reentrant=False)

        return checkpoint(run, x, use_reentrant=False)


@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize("wrap", [Checkpointed, InPieces])
def test_checkpointed_layers_learn_what_plain_ones_learn(stage, wrap):
    torch.manual_seed(0)
    first, middle, last = block(), block(), block()
    plain = trained([first, middle, last], stage)
    assert equal(trained([wrap(first), wrap(middle), wrap(last)], stage), plain)
    frozen = block().requires_grad_(requires_grad=False)
    assert equal(trained([first, wrap(frozen), last], stage), trained([first, frozen, last], stage))


@pytest.mark.parametrize("stage", range(4))
def test_a_checkpoint_keeps_no_weights(stage, monkeypatch):
    """Stage 3 gathers as much and as often as without it, and nothing stays behind."""
    gathered, real = [], _units.all_gather

    def all_gather(shards):
        results = real(shards)
        gathered.extend(results[0].untyped_storage()._weak_ref() for _ in results[:1])
        return results

    monkeypatch.setattr(_units, "all_gather", all_gather)
    trainer = ZeroTrainer([Checkpointed(block()), Checkpointed(block())], stage=stage, **NUMBERS)
    trainer.step(*batch())
    assert len(gathered) == {0: 0, 1: 2, 2: 2, 3: 4}[stage]
    assert all(torch.UntypedStorage._expired(reference) for reference in gathered)
    largest = sum(p.numel() for p in block().parameters()) * 2
    assert trainer.peak_gathered_bytes == (largest if stage == 3 else 0)


def test_the_reentrant_form_is_refused_by_pytorch():
    trainer = ZeroTrainer(
        [nn.Linear(4, 4), Checkpointed(block(), use_reentrant=True)], stage=1, **NUMBERS
    )
    with pytest.raises(RuntimeError, match="use_reentrant=False"):
        trainer.step(*batch())


# Parameters that are used past the layer


class Hidden(nn.Module):
    """Multiplies by another layer's weight, of which nobody knows."""

    def __init__(self, other):
        super().__init__()
        self.own, self.others = nn.Linear(4, 4), [other]

    def forward(self, x):
        return self.own(x) @ self.others[0].weight


@pytest.mark.parametrize("stage", range(4))
def test_a_weight_from_elsewhere_is_refused(stage):
    first = nn.Linear(4, 4)
    trainer = ZeroTrainer([first, nn.Tanh(), Hidden(first)], stage=stage, **NUMBERS, dtype=FP32)
    before = trainer.parameters_full()
    for _ in range(2):
        with pytest.raises(
            ValueError, match=r"^layers\[2\] .* uses parameter 0\.weight from elsew"
        ):
            trainer.step(*batch())
    assert equal(trainer.parameters_full(), before)
    assert first.weight.grad is None


def test_so_is_one_in_the_loss_but_not_the_last_layers_own():
    layers = [nn.Linear(4, 4), nn.Linear(4, 4)]

    def penalised(layer):
        def loss(output, target):
            return nn.functional.mse_loss(output, target) + layer.weight.square().mean()

        return loss

    with pytest.raises(ValueError, match=r"the loss behind it\) uses parameter 0\.weight from"):
        trained(layers, 2, loss=penalised(layers[0]))
    got = trained(layers, 2, loss=penalised(layers[1]), dtype=FP64)
    model = copy.deepcopy(nn.Sequential(*layers)).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, eps=0.5)
    for seed in range(3):
        optimizer.zero_grad()
        xs, ys = batch(seed)
        penalised(model[1])(model(torch.cat(xs)), torch.cat(ys)).backward()
        optimizer.step()
    for name, want in model.named_parameters():
        assert (got[name] - want).abs().max() <= 1000 * torch.finfo(FP64).eps


def test_frozen_weights_from_elsewhere_are_constants():
    first = nn.Linear(4, 4).requires_grad_(requires_grad=False)
    hidden = Hidden(first)
    known = copy.deepcopy(hidden)
    known.others = [known]
    known.weight = first.weight
    got, want = trained([hidden], 3), trained([known], 3)
    assert equal(got, {name: want[name] for name in got})


def test_recurrent_and_attention_layers_use_what_they_borrow():
    """They read their weights in ways of their own."""

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.LSTM(4, 4)

        def forward(self, x):
            return self.cell(x)[0]

    torch.manual_seed(0)
    attention = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    layers = [Recurrent(), attention]
    got = trained(layers, 3, num_devices=2, dtype=FP64)
    # One device with the batch of shards that do not see one another: the mean of their losses.
    model = copy.deepcopy(nn.Sequential(*layers)).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, eps=0.5)
    for seed in range(3):
        optimizer.zero_grad()
        for x, y in zip(*batch(seed), strict=True):
            (nn.functional.mse_loss(model(x), y) * len(x) / 5).backward()
        optimizer.step()
    for name, want in model.named_parameters():
        assert (got[name] - want).abs().max() <= 1e4 * torch.finfo(FP64).eps, name


class Graph(nn.Module):
    """Mixes samples by a sparse matrix, which is saved for the backward pass."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.register_buffer("neighbours", torch.eye(4).roll(1, 0).to_sparse())

    def forward(self, x):
        return torch.sparse.mm(self.neighbours, self.inner(x).T).T


@pytest.mark.parametrize("stage", range(4))
def test_layers_may_save_sparse_tensors(stage):
    layers = [Graph(), nn.Linear(4, 4)]
    got = trained(layers, stage, dtype=FP64)
    model = copy.deepcopy(nn.Sequential(*layers)).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, eps=0.5)
    for seed in range(3):
        optimizer.zero_grad()
        xs, ys = batch(seed)
        nn.functional.mse_loss(model(torch.cat(xs)), torch.cat(ys)).backward()
        optimizer.step()
    for name, want in model.named_parameters():
        assert (got[name] - want).abs().max() <= 1000 * torch.finfo(FP64).eps


@pytest.mark.parametrize("stage", range(4))
def test_under_autocast_it_is_mixed_precision_as_pytorch_does_it(stage, rounding_bound):
    layers = [nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 4)]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = trained(layers, stage, steps=1, num_devices=2)
    model = nn.Sequential(*copy.deepcopy(layers))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, eps=0.5)
    xs, ys = batch(0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = model(torch.cat(xs).float())
    nn.functional.mse_loss(output.float(), torch.cat(ys).float()).backward()
    optimizer.step()
    whole_precision = trained(layers, stage, steps=1, num_devices=2)
    for name, want in model.named_parameters():
        assert got[name].dtype == FP32
        # Gradients of size up to 1, rounded in another order: Adam's slope in them is 2·lr/eps.
        assert (got[name] - want).abs().max() <= 0.4 * rounding_bound(torch.bfloat16, 10, 1)
    assert not equal(got, whole_precision)


# What has no values, and what is copied


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([nn.Linear(4, 4, device="meta")], r"parameter 0\.weight is on meta, .*to_empty"),
        (
            [nn.Linear(4, 4), nn.LazyBatchNorm1d(affine=False)],
            r"buffer 1\.running_mean has no shape yet: run the layers once",
        ),
    ],
)
def test_layers_without_values_are_refused(layers, message):
    with pytest.raises(ValueError, match=message):
        ZeroTrainer(layers, stage=1, **NUMBERS)


@pytest.mark.parametrize("stage", range(4))
def test_made_and_used_in_inference_mode_it_learns_all_the_same(stage):
    layers = [block(), nn.BatchNorm1d(4)]
    want = trained(layers, stage)
    with torch.inference_mode():
        trainer = ZeroTrainer(layers, stage=stage, **NUMBERS, dtype=FP32)
        torch.manual_seed(1)
        trainer.step(*batch(0))
        inputs = batch(1)
    trainer.step(*inputs)
    trainer.step(*batch(2))
    assert equal(trainer.parameters_full(), want)


@pytest.mark.parametrize("stage", range(4))
def test_a_copy_goes_its_own_way(stage):
    trainer = ZeroTrainer([nn.Linear(4, 4)], stage=stage, **NUMBERS)
    trainer.step(*batch(0))
    twin = copy.deepcopy(trainer)
    before = trainer.parameters_full()
    twin.step(*batch(1))
    assert equal(trainer.parameters_full(), before)
    trainer.step(*batch(1))
    assert equal(trainer.parameters_full(), twin.parameters_full())


@pytest.mark.parametrize("stage", range(4))
def test_a_failed_step_holds_on_to_nothing(stage):
    def loss(output, target):
        raise KeyError(output.dtype)

    trainer = ZeroTrainer([nn.Linear(4, 4), block()], stage=stage, loss=loss, **NUMBERS)
    with pytest.raises(KeyError):
        trainer.step(*batch())
    assert all(unit.full is None and unit.unreduced is None for unit in trainer._units)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, FP32, FP64])
def test_the_loss_is_computed_in_fp32_or_fp64(dtype):
    seen = []

    def loss(output, target):
        seen.extend([output.dtype, target.dtype])
        return nn.functional.mse_loss(output, target).to(dtype)

    trainer = ZeroTrainer([nn.Linear(4, 4)], stage=2, dtype=dtype, loss=loss, **NUMBERS)
    assert trainer.step(*batch()).dtype == (FP64 if dtype is FP64 else FP32)
    assert set(seen) == {FP64 if dtype is FP64 else FP32}


def test_buffers_keep_what_a_failed_step_wrote():
    broken = []

    def loss(output, target):
        if broken:
            raise KeyError("broken")
        return nn.functional.mse_loss(output, target)

    layers = [nn.BatchNorm1d(4), nn.Linear(4, 4)]
    trainer = ZeroTrainer(layers, stage=2, loss=loss, **NUMBERS)
    broken.append(1)
    with pytest.raises(KeyError):
        trainer.step(*batch())
    assert [buffers[0]["num_batches_tracked"].item() for buffers in trainer._buffers] == [1, 1]
    assert layers[0].num_batches_tracked.item() == 0
