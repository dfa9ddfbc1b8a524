"""ZeRO against one device with the whole batch: torch.optim.Adam in float64, and exact runs."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from shardwise.zero import ZeroTrainer

BF16, FP16, FP32, FP64 = torch.bfloat16, torch.float16, torch.float32, torch.float64
# With a large eps Adam's update is no longer the gradient's sign, which rounding could turn.
ADAM = {"lr": 1e-2, "betas": (0.8, 0.9), "eps": 0.5, "weight_decay": 0.1}
WIDTH = 3


class Scale(nn.Module):
    """Parameters smaller than most N: one 0-d, one of a single element, one of none."""

    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.tensor(0.75))
        self.shift = nn.Parameter(torch.tensor([0.25]))
        self.nothing = nn.Parameter(torch.empty(0, 2))

    def forward(self, x):
        return x * self.gain + self.shift


class Unembed(nn.Module):
    """Multiplies by the transpose of someone else's weight, and by one of its own."""

    def __init__(self, embedding):
        super().__init__()
        self.tied = embedding.weight
        self.own = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return self.own(x) @ self.tied.T[:, :WIDTH]


class Partial(nn.Module):
    """Uses one of its two layers, and hands its input on as well."""

    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2)

    def forward(self, x):
        return x + torch.tanh(self.used(x))


def linear(bias=True):
    return nn.Linear(WIDTH, WIDTH, bias=bias)


def plain():
    return [nn.Linear(WIDTH, 5), nn.Tanh(), nn.Linear(5, WIDTH)]


def tied_far_apart():
    table = nn.Linear(WIDTH, WIDTH)
    return [table, linear(), nn.Tanh(), Unembed(table)]


def one_layer_twice():
    shared = nn.Sequential(linear(), nn.Tanh())
    return [shared, linear(), shared]


def one_parameter_under_two_names():
    layer = linear()
    layer.alias = layer.weight
    return [layer, nn.Sigmoid(), linear()]


def frozen_first():
    return [linear().requires_grad_(requires_grad=False), nn.Tanh(), linear()]


def frozen_between():
    middle = linear()
    middle.weight.requires_grad_(requires_grad=False)
    return [linear(), middle, nn.Tanh(), linear().requires_grad_(requires_grad=False)]


def small():
    return [Scale(), nn.Linear(WIDTH, 1, bias=False), Scale(), nn.Linear(1, WIDTH)]


def in_place():
    return [linear(), nn.ReLU(inplace=True), linear()]


def partly_used():
    return [Partial(), linear()]


class Offset(nn.Module):
    """Adds a tensor that wants a gradient and is no parameter."""

    def __init__(self):
        super().__init__()
        self.offset = torch.tensor(0.5, dtype=FP64, requires_grad=True)

    def forward(self, x):
        return x + self.offset.to(x)


def not_a_parameter():
    return [Offset(), linear()]


def with_buffers():
    return nn.Sequential(linear(), nn.BatchNorm1d(WIDTH).eval(), linear())


MODELS = {
    f.__name__: f
    for f in (
        plain,
        tied_far_apart,
        one_layer_twice,
        one_parameter_under_two_names,
        frozen_first,
        frozen_between,
        small,
        in_place,
        partly_used,
        not_a_parameter,
        with_buffers,
    )
}


def build(model, device, seed=0):
    torch.manual_seed(seed)
    layers = MODELS[model]()
    for layer in layers:
        layer.to(device, FP64)
    for parameter in {p for layer in layers for p in layer.parameters()}:
        parameter.data.clamp_(-1, 1)
    return layers


def draw(seed, sizes, device, dtype=FP64):
    generator = torch.Generator().manual_seed(seed)

    def shards():
        drawn = [torch.rand(n, WIDTH, generator=generator, dtype=FP64) * 2 - 1 for n in sizes]
        return [shard.to(device, dtype) for shard in drawn]

    return shards(), shards()


def one_device(layers, batches, optimizer=torch.optim.Adam):
    """Train a float64 copy with PyTorch's own on whole batches; return parameters and losses."""
    model = nn.Sequential(*copy.deepcopy(list(layers))).double()
    optimizer = optimizer([p for p in model.parameters() if p.requires_grad], **ADAM)
    losses = []
    for xs, ys in batches:
        # Zeros and not None: what the loss doesn't reach has gradient zero, and still decays.
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        loss = nn.functional.mse_loss(model(torch.cat(xs).double()), torch.cat(ys).double())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return dict(model.named_parameters(remove_duplicate=False)), losses


def step_tolerance(rounding_bound, dtype, num_steps, *, terms):
    """How far apart two runs of Adam can be whose gradients are rounded in different orders.

    Inputs, targets and weights lie in [-1, 1] and layers are at most five wide, so that gradients
    are sums of magnitude up to 10. Adam's update has a slope of at most 2/eps in the gradient
    (1/eps through m, as much through the root of v), and a step also doubles what was there
    before at the very most.
    """
    gradient = rounding_bound(dtype, terms, 10)
    return sum(2**step for step in range(num_steps)) * ADAM["lr"] * 2 / ADAM["eps"] * gradient


@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize("model", MODELS)
@settings(deadline=None, max_examples=3)
@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4), seed=st.integers(0, 2**31))
def test_it_is_one_device_with_the_whole_batch(device, rounding_bound, model, stage, sizes, seed):
    layers = build(model, device, seed)
    batches = [draw(seed + step, sizes, device) for step in range(3)]
    trainer = ZeroTrainer(layers, num_devices=len(sizes), stage=stage, dtype=FP64, **ADAM)
    losses = [trainer.step(xs, ys) for xs, ys in batches]
    expected, expected_losses = one_device(layers, batches)

    tolerance = step_tolerance(rounding_bound, FP64, 3, terms=1000)
    for rank in range(len(sizes)):
        got = trainer.parameters_full(rank=rank)
        assert list(got) == list(expected)
        for name, want in expected.items():
            assert got[name].shape == want.shape
            assert torch.allclose(got[name], want, rtol=0, atol=tolerance), name
    assert losses[0].ndim == 0
    for loss, want in zip(losses, expected_losses, strict=True):
        assert abs(loss.item() - want) <= 100 * tolerance


@pytest.mark.parametrize("stage", range(4))
def test_decoupled_decay_is_adamw(device, rounding_bound, stage):
    layers = build("plain", device)
    batches = [draw(seed, [2, 1, 4], device) for seed in range(3)]
    trainer = ZeroTrainer(
        layers, num_devices=3, stage=stage, dtype=FP64, decoupled_weight_decay=True, **ADAM
    )
    for xs, ys in batches:
        trainer.step(xs, ys)
    expected, _ = one_device(layers, batches, torch.optim.AdamW)
    other, _ = one_device(layers, batches)
    tolerance = step_tolerance(rounding_bound, FP64, 3, terms=1000)
    for name, got in trainer.parameters_full().items():
        assert (got - expected[name]).abs().max() <= tolerance
        assert (got - other[name]).abs().max() > 1e6 * tolerance


@pytest.mark.parametrize(
    ("model", "dtype"), [*((model, BF16) for model in MODELS), ("plain", FP32)]
)
def test_devices_and_stages_end_with_the_same_bits(device, bits, model, dtype):
    layers = build(model, device)
    originals = dict(nn.Sequential(*layers).named_parameters(remove_duplicate=False))
    ends = {}
    for num_devices in (2, 3):
        for stage in range(4):
            trainer = ZeroTrainer(layers, num_devices=num_devices, stage=stage, dtype=dtype, **ADAM)
            for seed in range(2):
                trainer.step(*draw(seed, [2] * num_devices, device))
            ranks = [trainer.parameters_full(rank=rank) for rank in range(num_devices)]
            seen = [[bits(p) for p in parameters.values()] for parameters in ranks]
            assert all(one == seen[0] for one in seen)
            masters = trainer.parameters_full(master=True)
            ends[num_devices, stage] = seen[0], [bits(p) for p in masters.values()]
            for name, parameter in ranks[0].items():
                assert parameter.dtype == dtype
                assert masters[name].dtype == (FP32 if originals[name].requires_grad else dtype)
                assert torch.equal(masters[name].to(dtype), parameter)
    # An all-reduce adds in another order than a reduce-scatter; two numbers have only one.
    assert ends[3, 1] == ends[3, 2] == ends[3, 3]
    assert ends[2, 0] == ends[2, 1] == ends[2, 2] == ends[2, 3]


def mean_output(output, target):
    return output.mean()


@pytest.mark.parametrize("dtype", [BF16, FP16, FP32, FP64])
@pytest.mark.parametrize("num_devices", [1, 2, 4, 8])
@pytest.mark.parametrize("stage", range(4))
def test_where_sums_are_exact_the_bits_are_those_of_one_device(
    device, bits, stage, num_devices, dtype
):
    """With a loss linear in the weights, small integers and powers of two nothing is rounded."""
    layer = nn.Linear(5, 4, dtype=FP64, device=device)
    generator = torch.Generator().manual_seed(0)
    batches = [
        torch.randint(-2, 3, (16, 5), generator=generator).to(device, FP64) for _ in range(4)
    ]
    numbers = {"lr": 0.01, "dtype": dtype, "loss": mean_output}
    one = ZeroTrainer([layer], num_devices=1, stage=0, **numbers)
    many = ZeroTrainer([layer], num_devices=num_devices, stage=stage, **numbers)
    for x in batches:
        one.step([x], [x])
        shards = list(x.split(16 // num_devices))
        many.step(shards, shards)
    for master in (False, True):
        want, got = (trainer.parameters_full(master=master) for trainer in (one, many))
        assert [bits(p) for p in got.values()] == [bits(p) for p in want.values()]
    assert not torch.equal(got["0.weight"], layer.weight)


@pytest.mark.parametrize("grad_dtype", [BF16, FP32])
@pytest.mark.parametrize("stage", range(4))
def test_bf16_is_one_device_in_float64_up_to_its_rounding(
    device, rounding_bound, stage, grad_dtype
):
    layers = [nn.Linear(WIDTH, 2, dtype=FP64, device=device)]
    layers[0].weight.data.copy_(layers[0].weight.to(BF16))  # so that both start alike
    layers[0].bias.data.copy_(layers[0].bias.to(BF16))
    batches = [
        ([x.to(BF16) for x in xs], [y[:, :2].to(BF16) for y in ys])
        for xs, ys in (draw(seed, [2, 2, 2], device) for seed in range(3))
    ]
    trainer = ZeroTrainer(layers, num_devices=3, stage=stage, grad_dtype=grad_dtype, **ADAM)
    for xs, ys in batches:
        trainer.step(xs, ys)
    want, _ = one_device(layers, batches)
    got = trainer.parameters_full(master=True)
    # output: 3 products, 3 sums, bias; its cast and its gradient's: 2; sums over 2 samples and 3
    # devices: 5; the weights' own rounding: 1. Gradients of one layer are at most 4 in size.
    gradient = rounding_bound(BF16, 14, 4)
    tolerance = 3 * ADAM["lr"] * 2 / ADAM["eps"] * gradient
    for name, parameter in got.items():
        assert parameter.dtype == FP32
        assert (parameter - want[name]).abs().max() <= tolerance
        assert torch.equal(parameter.to(BF16), trainer.parameters_full()[name])


def test_the_master_copy_keeps_what_bf16_would_lose(device):
    """Steps of 2⁻¹⁰ at 1.0, where bf16 has no number closer than 2⁻⁷."""
    layer = nn.Linear(1, 1, bias=False, dtype=BF16, device=device)
    layer.weight.data.fill_(1)
    trainer = ZeroTrainer([layer], num_devices=2, stage=3, lr=2**-10, eps=0, loss=mean_output)
    ones = [-torch.ones(1, 1, device=device)] * 2
    seen = []
    for _ in range(8):
        trainer.step(ones, ones)
        seen.append(trainer.parameters_full()["0.weight"].item())
    assert seen[:4] == [1.0] * 4
    assert seen[-1] == 1 + 2**-7
    master = trainer.parameters_full(master=True)["0.weight"].item()
    assert math.isclose(master, 1 + 8 * 2**-10, rel_tol=8 * torch.finfo(FP32).eps)


def test_weights_that_were_fp32_start_the_master_copy_unrounded(device):
    layer = nn.Linear(3, 3, device=device)
    for stage in range(4):
        trainer = ZeroTrainer([layer], num_devices=2, stage=stage)
        assert torch.equal(trainer.parameters_full(master=True)["0.weight"], layer.weight)
        assert torch.equal(trainer.parameters_full()["0.weight"], layer.weight.to(BF16))


@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize("model", MODELS)
def test_the_callers_modules_and_batches_are_left_alone(device, bits, model, stage):
    layers = build(model, device)
    whole = nn.Sequential(*layers)
    kept = {**dict(whole.named_parameters()), **dict(whole.named_buffers())}
    xs, ys = draw(0, [2, 1], device)
    xs[0].requires_grad_()
    before = {name: bits(tensor) for name, tensor in kept.items()}, [bits(t) for t in xs + ys]
    flags = {name: tensor.requires_grad for name, tensor in kept.items()}
    trainer = ZeroTrainer(layers, num_devices=2, stage=stage, dtype=FP64)
    with torch.no_grad():  # the caller's grad mode makes no difference
        loss = trainer.step(xs, ys)
    assert not loss.requires_grad
    assert not any(p.requires_grad for p in trainer.parameters_full().values())
    after = {**dict(whole.named_parameters()), **dict(whole.named_buffers())}
    assert all(after[name] is tensor for name, tensor in kept.items())
    assert before == ({n: bits(t) for n, t in kept.items()}, [bits(t) for t in xs + ys])
    assert flags == {name: tensor.requires_grad for name, tensor in kept.items()}
    assert all(tensor.grad is None for tensor in [*kept.values(), *xs])


def test_what_it_returns_is_a_copy(device):
    trainer = ZeroTrainer([linear().to(device)], num_devices=1, stage=0, dtype=FP32)
    for master in (False, True):
        trainer.parameters_full(master=master)["0.weight"].zero_()
        assert trainer.parameters_full(master=master)["0.weight"].abs().sum() > 0


def test_parameters_go_back_into_modules(device):
    layers = [layer.to(device) for layer in plain()]
    trainer = ZeroTrainer(layers, num_devices=3, stage=3, lr=0.1)
    trainer.step(*draw(0, [1, 1, 1], device))
    model = nn.Sequential(*copy.deepcopy(layers)).to(BF16)
    model.load_state_dict(trainer.parameters_full())
    assert torch.equal(model[2].weight, trainer.parameters_full()["2.weight"])


class Counter(nn.Module):
    """A layer with buffers of every kind, one of them shared under two names."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("largest", torch.zeros(1))
        self.register_buffer("alias", self.largest)

    def forward(self, x):
        self.calls.add_(1)
        self.largest.copy_(torch.maximum(self.largest, x.max()))
        assert self.alias is self.largest
        return x


def test_each_device_has_buffers_of_its_own(device):
    counter = Counter().to(device)
    layers = [counter, linear().to(device), counter]
    trainer = ZeroTrainer(layers, num_devices=3, stage=2)
    xs, ys = draw(0, [2, 2, 2], device)
    trainer.step([x.abs() + rank for rank, x in enumerate(xs)], ys)
    for rank, buffers in enumerate(trainer._buffers):
        assert buffers[0]["calls"].item() == 2  # it runs twice, on one set of buffers
        assert buffers[2]["calls"] is buffers[0]["calls"]
        assert buffers[0]["largest"].dtype == BF16
        assert rank <= buffers[0]["largest"].item()
    assert counter.calls.item() == 0


def test_tokens_go_into_an_embedding(device, rounding_bound):
    """Integer inputs, integer targets, and a table tied to the output layer."""
    torch.manual_seed(0)
    table = nn.Embedding(7, 4)
    out = nn.Linear(4, 7)
    out.weight = table.weight
    layers = [layer.to(device, FP64) for layer in (table, nn.Linear(4, 4), out)]
    assert layers[2].weight is layers[0].weight
    tokens = torch.arange(8, device=device).remainder(7)
    shards, targets = list(tokens.split([1, 3, 4])), list(tokens.flip(0).split([1, 3, 4]))
    model = nn.Sequential(*copy.deepcopy(layers))
    optimizer = torch.optim.Adam(model.parameters(), **ADAM)
    trainers = [
        ZeroTrainer(
            layers, num_devices=3, stage=s, dtype=FP64, loss=nn.functional.cross_entropy, **ADAM
        )
        for s in range(4)
    ]
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens), tokens.flip(0)).backward()
        optimizer.step()
        for trainer in trainers:
            trainer.step(shards, targets)
    tolerance = step_tolerance(rounding_bound, FP64, 3, terms=1000)
    for trainer in trainers:
        got = trainer.parameters_full()
        assert trainer.num_parameters == 7 * 4 + 4 * 5 + 7
        assert torch.equal(got["0.weight"], got["2.weight"])
        for name, want in model.named_parameters():
            assert torch.allclose(got[name], want, rtol=0, atol=tolerance)


class Raising(nn.Module):
    def __init__(self):
        super().__init__()
        self.broken = False

    def forward(self, x):
        if self.broken:
            raise KeyError("broken")
        if x.requires_grad:
            x.register_hook(self.hook)
        return x

    def hook(self, _):
        if self.broken is None:
            raise KeyError("broken on the way back")


@pytest.mark.parametrize("stage", range(4))
def test_a_step_that_fails_changes_nothing(device, bits, stage):
    layers = [layer.to(device) for layer in (linear(), Raising(), linear())]
    trainer = ZeroTrainer(layers, num_devices=2, stage=stage)
    twin = ZeroTrainer(layers, num_devices=2, stage=stage)
    batch = draw(0, [2, 2], device)
    trainer.step(*batch)
    for broken in (True, None):
        layers[1].broken = broken
        with pytest.raises(KeyError, match="broken"):
            trainer.step(*batch)
    layers[1].broken = False
    trainer.step(*batch)
    twin.step(*batch)
    twin.step(*batch)
    got, want = ([bits(p) for p in t.parameters_full().values()] for t in (trainer, twin))
    assert got == want
