"""Split layers against DTensor's `parallelize_module` on real processes: numbers and traffic."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from gloo_ranks import import_for_all, on_ranks, runs_backward_in_forks
from torch import nn
from torch.nn import functional

from shardwise import ledger
from shardwise.tensor_parallel import (
    LayerWeights,
    column_parallel_forward,
    megatron_layer,
    sequence_parallel_layer,
    vocab_parallel_cross_entropy,
    vocab_parallel_embedding,
)

pytestmark = [runs_backward_in_forks, pytest.mark.long]  # importing DTensor takes seconds

NAMES = {
    "c10d_functional.all_reduce": "ring_all_reduce",
    "c10d_functional.all_gather_into_tensor": "all_gather",
    "c10d_functional.reduce_scatter_tensor": "reduce_scatter",
}
NUM_RANKS, BATCH, LENGTH, WIDTH, HEADS, HIDDEN, VOCABULARY = 2, 2, 6, 8, 4, 12, 10


@pytest.fixture(scope="module", autouse=True)
def _imported():
    import_for_all("torch.distributed.tensor.parallel", "torch._dynamo")


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x):
        q, k, v = (
            project(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2)
            for project in (self.q, self.k, self.v)
        )
        heads = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(heads.transpose(1, 2).flatten(-2))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        return self.down(functional.gelu(self.up(x)))


class Layer(nn.Module):
    """The library's layer as an ordinary module, as one splits it with DTensor."""

    def __init__(self):
        super().__init__()
        self.attention, self.mlp = Attention(), Mlp()
        self.attention_norm, self.mlp_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


def layer():
    torch.manual_seed(0)
    module = Layer().double()
    for parameter in module.parameters():
        nn.init.uniform_(parameter, -0.5, 0.5)
    return module


def weights_of(module):
    """The same parameters for the library, transposed where it multiplies from the left."""
    m, a = module, module.attention
    matrices = (a.q, a.k, a.v, a.o, m.mlp.up, m.mlp.down)
    return LayerWeights(
        *(linear.weight.T for linear in matrices),
        m.attention_norm.weight,
        m.attention_norm.bias,
        m.mlp_norm.weight,
        m.mlp_norm.bias,
        *(linear.bias for linear in matrices),
    )


def inputs():
    generator = torch.Generator().manual_seed(1)
    x, upstream = (
        torch.rand(BATCH, LENGTH, WIDTH, generator=generator, dtype=torch.float64) * 2 - 1
        for _ in range(2)
    )
    return x.requires_grad_(), upstream


def run_theirs(tmp_path, split_by, *, sequence):
    """Split the module by a plan, run it both ways, and return what each rank has and did."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.debug import CommDebugMode
    from torch.distributed.tensor.parallel import parallelize_module

    def work(rank):
        x, upstream = inputs()
        if sequence:
            x, upstream = (t.detach().chunk(NUM_RANKS, dim=1)[rank].clone() for t in (x, upstream))
        x.requires_grad_()
        mesh = init_device_mesh("cpu", (NUM_RANKS,))
        module = parallelize_module(layer(), mesh, split_by())
        assert module.attention.q.weight.to_local().shape == (WIDTH // NUM_RANKS, WIDTH)
        with CommDebugMode() as forward:
            y = module(x)
        with CommDebugMode() as backward:
            y.backward(upstream)
        gradients = {name: whole(p.grad) for name, p in module.named_parameters()}
        counts = [
            sorted(NAMES[str(op)] for op in Counter(mode.get_comm_counts()).elements())
            for mode in (forward, backward)
        ]
        return y.detach(), x.grad, gradients, counts

    return on_ranks(work, NUM_RANKS, tmp_path)


def whole(tensor):
    """The joined or added values of a DTensor; on each rank the same."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def run_ours(run):
    """Return output, gradients and the calls of both ways of a split layer of the library."""
    x, upstream = inputs()
    module = layer()
    with ledger.record() as log:
        y = run(x, weights_of(module))
        forward = sorted(log.calls)
        y.backward(upstream)
    gradients = {name: p.grad for name, p in module.named_parameters()}
    return y.detach(), x.grad, gradients, [forward, sorted(log.calls[len(forward) :])]


def plan(entry, leaving):
    """Columns, then rows; what enters and leaves a block is laid out as said."""
    from torch.distributed.tensor import Replicate
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        PrepareModuleInput,
        RowwiseParallel,
    )

    enter = PrepareModuleInput(input_layouts=entry, desired_input_layouts=Replicate())
    columns = ("attention.q", "attention.k", "attention.v", "mlp.up")
    return {
        **dict.fromkeys(("attention", "mlp"), enter),
        **dict.fromkeys(columns, ColwiseParallel()),
        **dict.fromkeys(("attention.o", "mlp.down"), RowwiseParallel(output_layouts=leaving)),
    }


def tensor_parallel():
    from torch.distributed.tensor import Replicate

    return plan(Replicate(), Replicate())


def sequence_parallel():
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.parallel import SequenceParallel

    norms = dict.fromkeys(("attention_norm", "mlp_norm"), SequenceParallel())
    return {**norms, **plan(Shard(1), Shard(1))}


def assert_same(ours, theirs, bound):
    for mine, other in zip(ours[:2], theirs[:2], strict=True):
        assert (mine - other).abs().max() <= bound
    assert ours[2].keys() == theirs[2].keys()
    for name, gradient in ours[2].items():
        assert (gradient - theirs[2][name]).abs().max() <= bound, name


@pytest.fixture
def bound(rounding_bound):
    """Some 100 operations follow one another, in sums of at most 24 terms of size up to 10."""
    return rounding_bound(torch.float64, 100, 24 * 10)


def test_a_layer_is_dtensors(tmp_path, bound):
    def run(x, weights):
        return megatron_layer(x, weights, HEADS, NUM_RANKS, causal=True)

    ours = run_ours(run)
    for theirs in run_theirs(tmp_path, tensor_parallel, sequence=False):
        assert_same(ours, theirs, bound)
        assert ours[3] == theirs[3] == [["ring_all_reduce"] * 2] * 2


def test_a_layer_on_a_split_sequence_is_dtensors(tmp_path, bound):
    def run(x, weights):
        parts = x.tensor_split(NUM_RANKS, dim=1)
        return torch.cat(sequence_parallel_layer(parts, weights, HEADS, causal=True), dim=1)

    ours = run_ours(run)
    ranks = run_theirs(tmp_path, sequence_parallel, sequence=True)
    y, gradient = (torch.cat([rank[i] for rank in ranks], dim=1) for i in (0, 1))
    for _, _, gradients, calls in ranks:
        assert_same(ours, (y, gradient, gradients), bound)
        assert calls == [["all_gather"] * 2 + ["reduce_scatter"] * 2] * 2
        # DTensor leaves the gradients of norms and row biases as partial sums for later.
        assert ours[3] == [calls[0], [*calls[1], "ring_all_reduce"]]


def test_a_split_vocabulary_is_dtensors(tmp_path, bound):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        loss_parallel,
        parallelize_module,
    )

    generator = torch.Generator().manual_seed(2)
    ids, targets = (torch.randint(VOCABULARY, (2, 5), generator=generator) for _ in range(2))
    table, head = (
        torch.rand(VOCABULARY, WIDTH, generator=generator, dtype=torch.float64) for _ in range(2)
    )

    def work(_):
        model = nn.Sequential(
            nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
        ).double()
        model.load_state_dict({"0.weight": table, "1.weight": head})
        split_by = {
            "0": RowwiseParallel(input_layouts=Replicate()),
            "1": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False),
        }
        parallelize_module(model, init_device_mesh("cpu", (NUM_RANKS,)), split_by)
        with loss_parallel():
            loss = functional.cross_entropy(model(ids).flatten(0, 1), targets.flatten())
            loss.backward()
        return whole(loss).detach(), *(whole(p.grad) for p in model.parameters())

    leaves = [table.clone().requires_grad_(), head.clone().requires_grad_()]
    x = vocab_parallel_embedding(ids, leaves[0], NUM_RANKS)
    logits = column_parallel_forward(x, leaves[1].T, NUM_RANKS)
    loss = vocab_parallel_cross_entropy(logits, targets).mean()
    loss.backward()
    ours = [loss.detach(), *(leaf.grad for leaf in leaves)]
    for theirs in on_ranks(work, NUM_RANKS, tmp_path):
        for mine, other in zip(ours, theirs, strict=True):
            assert (mine - other).abs().max() <= bound
