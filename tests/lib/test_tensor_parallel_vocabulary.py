"""Embedding and cross-entropy over a split vocabulary against one device, to the last id."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise import ledger
from shardwise.tensor_parallel import (
    column_parallel_forward,
    vocab_parallel_cross_entropy,
    vocab_parallel_embedding,
)

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
property_test = settings(deadline=None, max_examples=60)


def ids_and_table(seed, shape, vocabulary, width, dtype, device):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(vocabulary, shape, generator=generator)
    table = torch.randn(vocabulary, width, generator=generator).to(dtype)
    return ids.to(device), table.to(device)


@property_test
@given(
    data=st.data(),
    seed=st.integers(0, 2**31),
    shape=st.lists(st.integers(0, 4), max_size=2),
    vocabulary=st.integers(1, 9),
    dtype=st.sampled_from(FLOATS),
    integer=st.sampled_from([torch.int32, torch.int64]),
)
def test_the_embedding_is_exact(device, data, seed, shape, vocabulary, dtype, integer):
    ids, table = ids_and_table(seed, shape, vocabulary, 3, dtype, device)
    count = data.draw(st.integers(1, vocabulary))
    before = table.clone()
    rows = vocab_parallel_embedding(ids.to(integer), table, count)
    assert torch.equal(rows, table[ids])
    assert rows.dtype == dtype
    assert torch.equal(table, before)


def test_rows_that_are_not_looked_up_do_not_matter():
    table = torch.tensor([[math.nan], [1.0], [math.inf], [2.0]])
    assert vocab_parallel_embedding(torch.tensor([1, 3]), table, 4).tolist() == [[1.0], [2.0]]


def test_the_embedding_s_gradient_and_what_it_moves(device):
    ids, table = ids_and_table(0, (2, 6), 7, 4, torch.float64, device)
    table.requires_grad_()
    with ledger.record() as log:
        rows = vocab_parallel_embedding(ids, table, 3)
        moved = log.total_bytes()
        (rows * torch.arange(4, device=device)).sum().backward()
    assert log.calls == ["ring_all_reduce"]
    assert log.total_bytes() == moved == 2 * 2 * rows.numel() * 8
    counts = torch.bincount(ids.flatten(), minlength=7).double()
    assert torch.equal(table.grad, counts.unsqueeze(-1) * torch.arange(4, device=device))
    leaf = table.detach().cpu().requires_grad_()
    assert torch.autograd.gradcheck(lambda t: vocab_parallel_embedding(ids.cpu(), t, 3), leaf)


def cut_anyhow(data, vocabulary):
    """Sizes of 1 to `vocabulary` ranges, none empty, not only those of tensor_split."""
    cuts = data.draw(st.sets(st.integers(1, max(1, vocabulary - 1)), max_size=vocabulary - 1))
    edges = [0, *sorted(cuts), vocabulary]
    return [b - a for a, b in pairwise(edges)]


@property_test
@given(
    data=st.data(),
    seed=st.integers(0, 2**31),
    shape=st.lists(st.integers(0, 3), max_size=2),
    vocabulary=st.integers(1, 9),
    scale=st.sampled_from([1e-3, 1.0, 30.0, 1e4]),
    dtype=st.sampled_from(FLOATS),
)
def test_losses_are_those_of_one_device(
    device, rounding_bound, data, seed, shape, vocabulary, scale, dtype
):
    generator = torch.Generator().manual_seed(seed)
    logits = (torch.rand(*shape, vocabulary, generator=generator) * 2 - 1) * scale
    logits = logits.to(dtype).to(device)
    targets = torch.randint(vocabulary, shape, generator=generator).to(device)
    shards = logits.split(cut_anyhow(data, vocabulary), dim=-1)
    losses = vocab_parallel_cross_entropy(shards, targets)
    wide = logits.cpu().double()
    exact = wide.logsumexp(-1) - wide.gather(-1, targets.cpu().unsqueeze(-1)).squeeze(-1)
    accumulator = torch.float64 if dtype is torch.float64 else torch.float32
    assert (losses.dtype, losses.shape) == (accumulator, targets.shape)
    # subtractions err by eps·scale each; exponentials, their sum and its logarithm by a few eps
    bound = rounding_bound(accumulator, vocabulary + 10, 4 * scale + math.log(vocabulary) + 1)
    if losses.numel():
        assert (losses.cpu().double() - exact).abs().max() <= bound


def test_large_and_masked_logits(device):
    z = torch.tensor([[3e38, -3e38, 3e38, -math.inf, -math.inf]], device=device)
    losses = vocab_parallel_cross_entropy(z.tensor_split(3, -1), torch.tensor([2], device=device))
    assert losses.item() == pytest.approx(math.log(2), rel=torch.finfo(torch.float32).eps * 4)
    losses = vocab_parallel_cross_entropy(z.tensor_split(3, -1), torch.tensor([4], device=device))
    assert losses.item() == math.inf


def test_a_row_with_nan_is_nan_and_the_others_are_not():
    z = torch.tensor([[0.0, math.nan], [1.0, 1.0]])
    losses = vocab_parallel_cross_entropy(z.split(1, -1), torch.tensor([0, 0]))
    assert losses[0].isnan()
    assert losses[1].isfinite()


def test_gradients_of_the_loss():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 3, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(5, (2, 3), generator=generator)

    def losses(logits):
        return vocab_parallel_cross_entropy(logits.tensor_split(3, -1), targets)

    assert torch.autograd.gradcheck(losses, logits)
    assert torch.autograd.gradgradcheck(losses, logits)


def test_gradients_are_softmax_minus_one_at_the_target_also_in_half(device, rounding_bound):
    logits = torch.tensor([[1.0, -2.0, 0.5, -math.inf]], dtype=torch.bfloat16, device=device)
    leaf = logits.clone().requires_grad_()
    targets = torch.tensor([2], device=device)
    vocab_parallel_cross_entropy(leaf.split(1, -1), targets).sum().backward()
    exact = logits.cpu().double().softmax(-1)
    exact[0, 2] -= 1
    assert leaf.grad.dtype == torch.bfloat16
    bound = rounding_bound(torch.bfloat16, 2, 1.0)
    assert (leaf.grad.cpu().double() - exact).abs().max() <= bound


@pytest.mark.parametrize("num_devices", [1, 2, 3, 4])
def test_what_the_loss_moves(device, num_devices):
    tokens, vocabulary = 12, 24
    generator = torch.Generator().manual_seed(0)
    x, head = (
        torch.randn(shape, generator=generator).to(device).requires_grad_()
        for shape in ((tokens, 4), (4, vocabulary))
    )
    targets = torch.randint(vocabulary, (tokens,), generator=generator).to(device)
    logits = column_parallel_forward(x, head, num_devices)
    with ledger.record() as log:
        losses = vocab_parallel_cross_entropy(logits, targets)
        forward = log.calls.copy()
        sent = [log.sent_by(rank) for rank in range(num_devices)]
        losses.sum().backward()
    assert forward == ["all_gather", "ring_all_reduce"]
    assert log.calls == [*forward, "ring_all_reduce"]  # the head's f, for the gradient of x
    n = num_devices
    assert sent == [((n - 1) * tokens + 4 * (n - 1) * tokens // n) * 4] * n
    assert max((t.num_bytes for t in log.transfers), default=0) < tokens * vocabulary // n * 4


def test_tied_embedding_and_head_share_one_gradient(rounding_bound):
    ids, table = ids_and_table(1, (3, 4), 7, 5, torch.float64, "cpu")
    targets = ids.flip(0)
    split, whole = (table.clone().requires_grad_() for _ in range(2))
    x = vocab_parallel_embedding(ids, split, 3)
    vocab_parallel_cross_entropy(column_parallel_forward(x, split.T, 3), targets).mean().backward()
    logits = whole[ids] @ whole.T
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()).backward()
    size = table.abs().max().item() ** 2 * 12 * 7
    assert (split.grad - whole.grad).abs().max() <= rounding_bound(torch.float64, 12 * 7, size)


IDS, TABLE = torch.tensor([0, 1]), torch.ones(3, 2)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        (([0, 1], TABLE, 2), TypeError, "token_ids"),
        ((IDS.float(), TABLE, 2), TypeError, "int64 or int32"),
        ((IDS.bool(), TABLE, 2), TypeError, "int64 or int32"),
        ((IDS.to(torch.uint8), TABLE, 2), TypeError, "int64 or int32"),
        ((IDS.to("meta"), TABLE, 2), ValueError, "token_ids is on meta"),
        ((torch.tensor([3]), TABLE, 2), ValueError, "from 3 to 3.*0 to 2"),
        ((torch.tensor([-1, 0]), TABLE, 2), ValueError, "from -1 to 0"),
        ((IDS, TABLE.long(), 2), TypeError, "table has dtype"),
        ((IDS, TABLE[0], 2), ValueError, "table has shape"),
        ((IDS, TABLE, 4), ValueError, "num_devices=4 is more than the 3 rows of table"),
        ((IDS, TABLE, 0), ValueError, "num_devices=0"),
    ],
)
def test_what_the_embedding_rejects(arguments, error, match):
    with pytest.raises(error, match=match):
        vocab_parallel_embedding(*arguments)


Z = [torch.ones(2, 2), torch.ones(2, 1)]


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ((Z[0], IDS), TypeError, "logit_shards must be a list"),
        (([], IDS), ValueError, "logit_shards is empty"),
        (([Z[0], Z[1].half()], IDS), ValueError, r"logit_shards\[1\] has dtype"),
        (([Z[0], Z[1][:1]], IDS), ValueError, r"logit_shards\[1\] has shape"),
        (([z.long() for z in Z], IDS), TypeError, r"logit_shards\[0\] has dtype"),
        (([torch.tensor(1.0)], IDS), ValueError, "0-d"),
        (([Z[0], Z[1][:, :0]], IDS), ValueError, r"\[2, 0\] wide"),
        ((Z, torch.tensor([0, 3])), ValueError, "targets reach from 0 to 3"),
        ((Z, torch.tensor([-100, 0])), ValueError, "targets reach from -100"),
        ((Z, torch.tensor([0])), ValueError, r"targets have shape \(1,\)"),
        ((Z, IDS.float()), TypeError, "targets has dtype"),
        ((Z, IDS.to("meta")), ValueError, "targets is on meta"),
        ((Z, 1), TypeError, "targets=1"),
    ],
)
def test_what_the_loss_rejects(arguments, error, match):
    with pytest.raises(error, match=match):
        vocab_parallel_cross_entropy(*arguments)
