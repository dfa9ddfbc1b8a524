"""Tensors and modes that are out of the ordinary, given to every function that takes tensors.

What a function can't compute with it refuses by name. What it can gives the numbers that a plain
tensor gives, and is left as it was.
"""

from __future__ import annotations

import inspect
import warnings
from contextlib import contextmanager

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.masked import masked_tensor

from shardwise import collectives, data_parallel, distributed, tensor_parallel, zero
from shardwise.zero import MixedAdam, ZeroTrainer

# Each function with one tensor (4, 4) in every place that takes floats, or one (4,) for token ids.
LAYER = tensor_parallel.LayerWeights
IDS, FLOATS = torch.tensor([3, 0, 2, 1]), torch.linspace(-2, 2, 16).reshape(4, 4)


def layer(t):
    return LAYER(*[t] * 6, *[t[0]] * 4)


def adam_step(t):
    with torch.inference_mode(False):  # whose tensors can't be trained later
        adam = MixedAdam(torch.ones(4, device="cpu", dtype=torch.float32))
    adam.step(t[0])
    return adam.weights


def zero_step(t):
    module = nn.Linear(4, 4, device="cpu", dtype=torch.float64)
    module.load_state_dict({"weight": torch.eye(4, device="cpu"), "bias": FLOATS[0]})
    trainer = ZeroTrainer([module], num_devices=1, stage=3, lr=0.5, eps=1, dtype=torch.float32)
    trainer.step([t], [t])
    return trainer.parameters_full()["0.weight"]


OF_FLOATS = {
    "ring_all_reduce": lambda t: collectives.ring_all_reduce([t, t]),
    "reduce_scatter": lambda t: collectives.reduce_scatter([t, t], dim=1),
    "all_gather": lambda t: collectives.all_gather([t, t]),
    "broadcast": lambda t: collectives.broadcast(t, 2),
    "bucket_gradients": lambda t: data_parallel.bucket_gradients([t, t]),
    "bucketed_all_reduce": lambda t: data_parallel.bucketed_all_reduce([[t], [t]])[1],
    "accumulate_gradients": lambda t: data_parallel.accumulate_gradients(t, [t, t], [t, t]),
    "single_device_gradient": lambda t: distributed.single_device_gradient(t, t, t),
    "data_parallel_gradients": lambda t: distributed.data_parallel_gradients(t, [t, t], [t, t]),
    "weighted_data_parallel_gradients": lambda t: distributed.weighted_data_parallel_gradients(
        t, [t, t], [t, t]
    ),
    "f": lambda t: tensor_parallel.f([t, t]),
    "g": lambda t: tensor_parallel.g([t, t]),
    "replicate": lambda t: tensor_parallel.replicate(t, 2),
    "collapse": lambda t: tensor_parallel.collapse([t, t]),
    "gather_sequence": lambda t: tensor_parallel.gather_sequence([t, t]),
    "scatter_sequence": lambda t: tensor_parallel.scatter_sequence([t, t]),
    "column_parallel_shards": lambda t: tensor_parallel.column_parallel_shards(t, 3),
    "row_parallel_shards": lambda t: tensor_parallel.row_parallel_shards(t, 3),
    "column_parallel_forward": lambda t: tensor_parallel.column_parallel_forward(t, t, 3),
    "row_parallel_forward": lambda t: tensor_parallel.row_parallel_forward([t], t),
    "single_device_mlp": lambda t: tensor_parallel.single_device_mlp(t, t, t),
    "megatron_mlp": lambda t: tensor_parallel.megatron_mlp(t, t, t, 3),
    "single_device_attention": lambda t: tensor_parallel.single_device_attention(t, t, t, t, t, 2),
    "megatron_attention": lambda t: tensor_parallel.megatron_attention(t, t, t, t, t, 2, 2),
    "single_device_layer": lambda t: tensor_parallel.single_device_layer(t, layer(t), 2),
    "megatron_layer": lambda t: tensor_parallel.megatron_layer(t, layer(t), 2, 2),
    "sequence_parallel_layer": lambda t: tensor_parallel.sequence_parallel_layer([t], layer(t), 2),
    "vocab_parallel_embedding": lambda t: tensor_parallel.vocab_parallel_embedding(IDS, t, 3),
    "vocab_parallel_cross_entropy": lambda t: tensor_parallel.vocab_parallel_cross_entropy(
        [t, t], IDS
    ),
    "MixedAdam": adam_step,
    "ZeroTrainer": zero_step,
}
OF_IDS = {
    "vocab_parallel_embedding": lambda t: tensor_parallel.vocab_parallel_embedding(t, FLOATS, 3),
    "vocab_parallel_cross_entropy": lambda t: tensor_parallel.vocab_parallel_cross_entropy(
        [FLOATS, FLOATS], t
    ),
}


def test_every_function_of_tensors_is_tried():
    found = set()
    for module in (collectives, data_parallel, distributed, tensor_parallel, zero):
        names = getattr(module, "__all__", None) or [
            name
            for name, f in vars(module).items()
            if getattr(f, "__module__", "") == module.__name__
        ]
        found |= {name for name in names if not name.startswith("_")}
    numbers = {
        name for name in found if name.endswith(("_bytes", "_exact", "_elements", "_device"))
    }
    assert found - numbers - {"LayerWeights", "AdamSettings"} == set(OF_FLOATS)
    assert all(inspect.signature(call) for call in OF_FLOATS.values())


class Wrapped(torch.Tensor):
    """A tensor whose operations are its own."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        raise NotImplementedError(function)


@contextmanager
def no_warnings():
    """Making such tensors warns; nobody asks for the warning here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def jagged(t):
    return torch.nested.nested_tensor([t.reshape(-1), t.reshape(-1)[:2]], layout=torch.jagged)


def uninitialized(_):
    return nn.parameter.UninitializedParameter()


REFUSED = {
    "fake": lambda t: FakeTensorMode().from_tensor(t),
    "masked": lambda t: masked_tensor(t, t > 0),
    "wrapped": Wrapped,
    "uninitialized": uninitialized,
    "sparse": lambda t: t.to_sparse(),
    "csr": lambda t: t.reshape(-1, 2).to_sparse_csr(),
    "nested": lambda t: torch.nested.nested_tensor([t, t]),
    "jagged": jagged,
    "quantized": lambda t: torch.quantize_per_tensor(t.float(), 0.1, 0, torch.qint8),
    "four bits": lambda t: torch.empty(t.shape, dtype=torch.uint4),
    "one bit": lambda t: torch.empty(t.shape, dtype=torch.int1),
}


TAKES_A_ROW = {"MixedAdam", *(name for name in OF_FLOATS if name.endswith("_layer"))}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("function", sorted(OF_FLOATS.keys() - TAKES_A_ROW))
def test_what_no_function_computes_with_is_refused_by_name(function, kind):
    with no_warnings():
        tensor = REFUSED[kind](FLOATS)
        whole = r"(is a |has no shape yet|is sparse or nested|has dtype )"
        with pytest.raises((TypeError, ValueError), match=rf"^[\w\[\]]+ {whole}"):
            OF_FLOATS[function](tensor)


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("function", OF_IDS)
def test_token_ids_are_plain_too(function, kind):
    with no_warnings():
        tensor = REFUSED[kind](IDS)
        with pytest.raises((TypeError, ValueError), match=r"^(token_ids|targets) (is|has) "):
            OF_IDS[function](tensor)


@pytest.mark.parametrize("kind", ["wrapped", "uninitialized", "quantized", "sparse"])
def test_adam_and_the_trainer_refuse_such_weights(kind):
    with no_warnings():
        tensor = REFUSED[kind](FLOATS[0])
        with pytest.raises((TypeError, ValueError), match=r"^weights (is a|has|is sparse)"):
            MixedAdam(tensor)
        if kind == "wrapped":  # torch makes no parameter of it
            return
        module = nn.Linear(4, 4)
        parameter = tensor if kind == "uninitialized" else nn.Parameter(tensor, requires_grad=False)
        module.register_parameter("odd", parameter)
        with pytest.raises((TypeError, ValueError), match=r"^parameter 0\.odd (is|has)"):
            ZeroTrainer([module], num_devices=2, stage=1)


class Plain(torch.Tensor):
    """A subclass that adds nothing."""


def made_in_inference_mode(t):
    with torch.inference_mode():
        return t.clone()


FINE = {
    "flipped": lambda t: t.flip(0).flip(0),
    "negated view": lambda t: torch.complex(t, -t).conj().imag,
    "one row for all": lambda t: t[:1].expand(4, 4),
    "one number for all": lambda t: t[:1, :1].expand(4, 4),
    "overlapping rows": lambda t: t.flatten().as_strided((4, 4), (1, 1)),
    "every other": lambda t: t.repeat_interleave(2, 0).repeat_interleave(2, 1)[::2, ::2],
    "transposed": lambda t: t.T.contiguous().T,
    "subclass": lambda t: t.as_subclass(Plain),
    "parameter": lambda t: nn.Parameter(t.clone()),
    "no leaf": lambda t: t.clone().requires_grad_() * 1,
    "of inference mode": made_in_inference_mode,
}


def results(function, tensor):
    """What the function returns, as a list of plain tensors."""
    found = OF_FLOATS[function](tensor)
    if found is None or (isinstance(found, list) and not isinstance(found[0], torch.Tensor)):
        return []
    return [t.detach() for t in (found if isinstance(found, list) else [found])]


@pytest.mark.parametrize("kind", FINE)
@pytest.mark.parametrize("function", OF_FLOATS)
def test_what_is_odd_but_plain_gives_the_same_numbers(rounding_bound, function, kind):
    tensor = FINE[kind](FLOATS)
    plain = tensor.detach().clone(memory_format=torch.contiguous_format)
    before = plain.clone()
    for got, want in zip(results(function, tensor), results(function, plain), strict=True):
        # At most 40 operations follow each other, also in a layer; sums reach 100.
        assert (got - want).abs().max() <= rounding_bound(torch.float32, 40, 100)
    assert torch.equal(tensor.detach(), before)
    assert tensor.grad_fn is not None or tensor.grad is None


def test_tensors_without_values_give_shapes():
    t, ids = FLOATS.to("meta"), IDS.to("meta")
    calls = {
        **OF_FLOATS,
        "vocab_parallel_embedding": lambda t: tensor_parallel.vocab_parallel_embedding(ids, t, 3),
        "vocab_parallel_cross_entropy": (
            lambda t: tensor_parallel.vocab_parallel_cross_entropy([t, t], ids)
        ),
    }
    for function in calls.keys() - {"MixedAdam", "ZeroTrainer", "bucket_gradients"}:
        found = calls[function](t)
        shapes = [t.shape for t in (found if isinstance(found, list) else [found])]
        assert shapes == [t.shape for t in results(function, FLOATS)]
    sums = collectives.ring_all_reduce([IDS.to("meta")] * 2)
    assert [(t.shape, t.dtype) for t in sums] == [(IDS.shape, IDS.dtype)] * 2


MODES = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "anomaly": lambda: torch.autograd.set_detect_anomaly(True, check_nan=True),
    "default device": lambda: torch.device("meta"),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("function", OF_FLOATS)
def test_the_callers_mode_makes_no_difference(function, mode):
    want = results(function, FLOATS)
    with no_warnings(), MODES[mode]():
        got = results(function, FLOATS)
    assert all(torch.equal(one, other) for one, other in zip(got, want, strict=True))


@pytest.mark.parametrize("function", OF_FLOATS)
def test_a_default_dtype_makes_no_difference(function):
    want = results(function, FLOATS)
    torch.set_default_dtype(torch.float64)
    try:
        got = results(function, FLOATS)
    finally:
        torch.set_default_dtype(torch.float32)
    assert [t.dtype for t in got] == [t.dtype for t in want]
    assert all(torch.equal(one, other) for one, other in zip(got, want, strict=True))


@pytest.mark.parametrize("function", [name for name in OF_FLOATS if "gradient" in name])
def test_gradients_are_of_the_weights_precision_also_under_autocast(function):
    want = results(function, FLOATS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = results(function, FLOATS)
    assert all(torch.equal(one, other) for one, other in zip(got, want, strict=True))


@pytest.mark.parametrize("attention", ["single_device_attention", "megatron_attention"])
def test_large_scores_stay_finite_under_autocast(attention):
    x = torch.diag(torch.tensor([20.0, -20.0, 20.0, -20.0]))  # queries of 400, scores of 160 000
    with torch.autocast("cpu", dtype=torch.float16):
        (got,) = results(attention, x)
    assert got.isfinite().all()


BLOCKS = {  # each with the one that it must equal
    "megatron_mlp": "single_device_mlp",
    "megatron_attention": "single_device_attention",
    "megatron_layer": "single_device_layer",
    "sequence_parallel_layer": "single_device_layer",
}


@pytest.mark.parametrize("block", BLOCKS)
def test_autocast_is_for_a_split_block_what_it_is_for_a_whole_one(rounding_bound, block):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        (got,), (want,) = results(block, FLOATS), results(BLOCKS[block], FLOATS)
    assert got.dtype == want.dtype
    assert not torch.equal(want, results(BLOCKS[block], FLOATS)[0])  # it did make a difference
    assert (got - want).abs().max() <= rounding_bound(torch.bfloat16, 20, want.abs().max().item())
