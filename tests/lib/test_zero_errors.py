"""What ZeroTrainer refuses, by name and with a remedy."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from shardwise.zero import ZeroTrainer

X, Y = torch.ones(2, 3), torch.ones(2, 2)
WORKING = {
    "layers": [nn.Linear(3, 2)],
    "num_devices": 2,
    "stage": 2,
    "lr": 0.1,
    "betas": (0.9, 0.99),
    "eps": 1e-8,
    "weight_decay": 0.0,
    "decoupled_weight_decay": False,
    "dtype": torch.bfloat16,
    "grad_dtype": None,
    "loss": nn.MSELoss(),
}


def build(**changes):
    return ZeroTrainer(**{**WORKING, **changes})


def test_the_working_call_works():
    build().step([X, X], [Y, Y])


def mixed(dtype):
    layer = nn.Linear(3, 2)
    layer.extra = nn.Parameter(torch.ones(2, dtype=dtype), requires_grad=dtype.is_complex)
    return [layer]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"layers": nn.Linear(3, 2)}, TypeError, "layers must be a list .* put a single module"),
        ({"layers": None}, TypeError, "layers must be a list of torch.nn.Module, not NoneType"),
        ({"layers": []}, ValueError, "layers is empty: give at least one module"),
        ({"layers": nn.Sequential()}, ValueError, "layers is empty"),
        ({"layers": [nn.Linear(3, 2), torch.tanh]}, TypeError, r"layers\[1\]=.* must be a torch.n"),
        ({"layers": [nn.Tanh()]}, ValueError, "no parameter that requires a gradient: nothing to"),
        (
            {"layers": [nn.Linear(3, 2).requires_grad_(requires_grad=False)]},
            ValueError,
            "no parameter that requires a gradient",
        ),
        ({"layers": [nn.LazyLinear(2)]}, ValueError, r"parameter 0\.weight has no shape yet: run"),
        ({"layers": mixed(torch.int8)}, TypeError, r"parameter 0\.extra is torch.int8: convert"),
        ({"layers": mixed(torch.complex64)}, TypeError, r"parameter 0\.extra is torch.complex64"),
        (
            {"layers": [nn.Linear(3, 2), nn.Linear(2, 2, device="meta")]},
            ValueError,
            r"parameter 1\.weight is on meta, 0\.weight on cpu: .* bring the layers together",
        ),
        ({"num_devices": 0}, ValueError, "num_devices=0 is out of range: give an integer at least"),
        ({"num_devices": 2.0}, TypeError, "num_devices=2.0 must be an int, not float"),
        ({"stage": 4}, ValueError, "stage=4 is out of range: give an integer from 0 to 3"),
        ({"stage": "2"}, TypeError, "stage='2' must be an int, not str"),
        ({"lr": -1}, ValueError, "lr=-1 must not be negative"),
        ({"lr": math.nan}, ValueError, "lr=nan must be finite"),
        ({"betas": (0.9, 1.0)}, ValueError, r"betas\[1\]=1.0 must be below 1"),
        ({"betas": 0.9}, TypeError, "betas=0.9 must be a pair"),
        ({"eps": None}, TypeError, "eps=None must be a number"),
        ({"weight_decay": -0.1}, ValueError, "weight_decay=-0.1 must not be negative"),
        ({"decoupled_weight_decay": 1}, TypeError, "decoupled_weight_decay=1 must be True or Fa"),
        ({"dtype": "bf16"}, TypeError, "dtype='bf16' must be a dtype, as torch.bfloat16"),
        ({"dtype": torch.int32}, ValueError, "dtype=torch.int32 can't be trained in: choose from"),
        ({"dtype": torch.complex64}, ValueError, "dtype=torch.complex64 can't be trained in"),
        ({"grad_dtype": float}, TypeError, "grad_dtype=<class 'float'> must be a dtype"),
        ({"grad_dtype": torch.bool}, ValueError, "grad_dtype=torch.bool can't be trained in"),
        ({"loss": None}, TypeError, "loss=None must be a function of output and target"),
        ({"loss": 0.5}, TypeError, "loss=0.5 must be a function"),
    ],
)
def test_a_trainer_of_nonsense_is_refused(changes, error, message):
    with pytest.raises(error, match=message):
        build(**changes)


@pytest.mark.parametrize(
    ("xs", "ys", "error", "message"),
    [
        (X, [Y, Y], TypeError, "x_shards must be a list with one tensor"),
        ([X, X], None, TypeError, "y_shards must be a list"),
        ([], [], ValueError, "x_shards is empty"),
        ([X], [Y, Y], ValueError, "x_shards has 1 tensors, num_devices=2: give one for each"),
        ([X, X], [Y] * 3, ValueError, "y_shards has 3 tensors, num_devices=2"),
        ([X, None], [Y, Y], TypeError, r"x_shards\[1\]=None must be a torch.Tensor"),
        ([X, X.to_sparse()], [Y, Y], TypeError, r"x_shards\[1\] is sparse"),
        ([X, X.to("meta")], [Y, Y], ValueError, r"x_shards\[1\] is on meta, the parameters on cpu"),
        ([X, X], [Y, Y.sum()], ValueError, r"y_shards\[1\] has shape \(\): give at least one sam"),
        ([X[:0], X], [Y, Y], ValueError, r"x_shards\[0\] has shape \(0, 3\): give at least one"),
        ([X, X[:1]], [Y, Y], ValueError, r"x_shards\[1\] has 1 samples and y_shards\[1\] has 2: g"),
    ],
)
def test_shards_that_are_none_are_refused(xs, ys, error, message):
    with pytest.raises(error, match=message):
        build().step(xs, ys)


class Returns(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.value = value
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.value(x)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (lambda x: (x, x), "tuple"),
        (lambda _: None, "NoneType"),
        (lambda x: x.long(), "torch.int64"),
    ],
)
def test_layers_return_one_float_tensor(value, kind):
    trainer = build(layers=[nn.Linear(3, 2), Returns(value)])
    with pytest.raises(TypeError, match=rf"^layers\[1\] returned {kind}: a layer returns one ten"):
        trainer.step([X, X], [Y, Y])


@pytest.mark.parametrize(
    ("loss", "error", "message"),
    [
        (lambda *_: 1.0, TypeError, "loss returned float: it must return a 0-d float tensor"),
        (lambda o, y: (o > y).any(), TypeError, "loss returned torch.bool"),
        (lambda o, y: (o - y).square(), ValueError, r"loss returned shape \(2, 2\): .* the mean"),
    ],
)
def test_losses_return_a_mean(loss, error, message):
    with pytest.raises(error, match=message):
        build(loss=loss).step([X, X], [Y, Y])


def test_the_default_loss_does_not_broadcast():
    trainer = ZeroTrainer(WORKING["layers"], num_devices=1, stage=0)
    with pytest.raises(ValueError, match="give targets of the output's shape, or a loss of your"):
        trainer.step([X], [Y[:, :1]])


@pytest.mark.parametrize("value", [2, -1, True, 1.0, None, "0"])
def test_ranks_are_devices(value):
    with pytest.raises((TypeError, ValueError), match=r"^rank="):
        build().parameters_full(rank=value)


@pytest.mark.parametrize("value", [0, 1, None, "yes"])
def test_master_is_a_flag(value):
    with pytest.raises(TypeError, match=r"^master=.* must be True or False"):
        build().parameters_full(master=value)


junk = st.one_of(
    st.none(),
    st.booleans(),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.complex_numbers(),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(), st.integers(), max_size=2),
    st.integers(max_value=-1),
    st.floats(max_value=-1e-300),
    st.sampled_from([math.nan, math.inf, Decimal(1), torch.ones(2), object(), int, nn.Linear]),
)
ALLOWED = {
    "grad_dtype": lambda value: value is None,
    "loss": callable,
    "decoupled_weight_decay": lambda value: isinstance(value, bool),
}


@pytest.mark.parametrize("argument", WORKING)
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_random_nonsense_is_refused_by_name(argument, data):
    allowed = ALLOWED.get(argument, lambda _: False)
    value = data.draw(junk.filter(lambda value: not allowed(value)))
    with pytest.raises((TypeError, ValueError), match=rf"^{argument}\b"):
        build(**{argument: value})


@settings(deadline=None, max_examples=30)
@given(
    value=junk.filter(lambda value: not isinstance(value, torch.Tensor)), where=st.integers(0, 3)
)
def test_random_shards_are_refused_by_name(value, where):
    batches = [[X, X], [Y, Y]]
    batches[where // 2][where % 2] = value
    name = ("x_shards", "y_shards")[where // 2]
    with pytest.raises((TypeError, ValueError), match=rf"^{name}\[{where % 2}\]"):
        build().step(*batches)
