"""Bad input: each error names the argument and the remedy, and nonsense never gives a number."""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import partial

import pytest
import torch

from shardwise import tensor_parallel as tp

X, SQUARE, BIAS = torch.ones(2, 3, 4), torch.ones(4, 4), torch.ones(4)
SHARDS = [torch.ones(2, 3, 2)] * 2
ATTENTION = (X, SQUARE, SQUARE, SQUARE, SQUARE)
WEIGHTS = tp.LayerWeights(*[SQUARE] * 6, *[BIAS] * 4)
PARTS = list(torch.ones(2, 4, 4).tensor_split(2, dim=-2))


def layer(**changes):
    return X, replace(WEIGHTS, **changes), 4, 2


def parts(**changes):
    return PARTS, replace(WEIGHTS, **changes), 4


@pytest.mark.parametrize(
    ("function", "arguments", "error", "match"),
    [
        (tp.column_parallel_shards, ([[1.0]], 1), TypeError, "A=.* must be a torch.Tensor"),
        (tp.column_parallel_shards, (SQUARE.long(), 1), TypeError, r"A has dtype .*A.to\(torch"),
        (tp.column_parallel_shards, (SQUARE.bool(), 1), TypeError, "A has dtype"),
        (tp.column_parallel_shards, (SQUARE.to_sparse(), 1), TypeError, r"A.to_dense\(\)"),
        (tp.column_parallel_shards, (BIAS, 1), ValueError, "A has shape .* give a matrix"),
        (tp.column_parallel_shards, (torch.ones(0, 4), 1), ValueError, "A has shape"),
        (tp.column_parallel_shards, (SQUARE, 5), ValueError, "num_devices=5.*4 columns.*1 to 4"),
        (tp.column_parallel_shards, (SQUARE, 0), ValueError, "num_devices=0"),
        (tp.column_parallel_shards, (SQUARE, True), TypeError, "num_devices=True"),
        (tp.column_parallel_shards, (SQUARE, 2.0), TypeError, "num_devices=2.0"),
        (tp.row_parallel_shards, (SQUARE, 5), ValueError, "num_devices=5.*4 rows.*1 to 4"),
        (tp.row_parallel_shards, (torch.ones(4, 0), 1), ValueError, "B has shape"),
        (tp.column_parallel_forward, (X[..., :3], SQUARE, 2), ValueError, "A has 4 rows where 3"),
        (tp.column_parallel_forward, (X.double(), SQUARE, 2), ValueError, "A is torch.float32"),
        (tp.column_parallel_forward, (X.to("meta"), SQUARE, 2), ValueError, "on cpu.*on meta"),
        (tp.column_parallel_forward, (torch.tensor(1.0), SQUARE, 2), ValueError, "x has shape"),
        (tp.column_parallel_forward, (X, SQUARE, 5), ValueError, "num_devices=5"),
        (
            partial(tp.column_parallel_forward, bias=BIAS[:3]),
            (X, SQUARE, 2),
            ValueError,
            r"bias has shape \(3,\): give \(4,\), or None",
        ),
        (
            partial(tp.row_parallel_forward, bias=BIAS.half()),
            (SHARDS, SQUARE),
            ValueError,
            "bias is torch.float16",
        ),
        (tp.row_parallel_forward, (X, SQUARE), TypeError, "y_shards must be a list"),
        (tp.row_parallel_forward, ([], SQUARE), ValueError, "y_shards is empty"),
        (tp.row_parallel_forward, ([X[..., :1]] * 5, SQUARE), ValueError, "num_devices=5"),
        (tp.row_parallel_forward, ([X[..., :1], X[..., :3]], SQUARE), ValueError, r"\[1, 3\] wide"),
        (tp.row_parallel_forward, ([X[:1], X], SQUARE), ValueError, r"y_shards\[1\] has shape"),
        (tp.row_parallel_forward, ([X.long()], SQUARE), TypeError, r"y_shards\[0\] has dtype"),
        (tp.megatron_mlp, (X, SQUARE, torch.ones(3, 4), 2), ValueError, "B has 3 rows where 4"),
        (tp.megatron_mlp, (X, SQUARE, SQUARE, 5), ValueError, "num_devices=5"),
        (tp.single_device_mlp, (X, SQUARE, torch.ones(3, 4)), ValueError, "B has 3 rows where 4"),
        (
            tp.megatron_attention,
            (*ATTENTION, 4, 3),
            ValueError,
            r"not divide num_heads=4.*\[1, 2, 4",
        ),
        (tp.megatron_attention, (*ATTENTION, 4, 8), ValueError, "num_devices=8 does not divide"),
        (tp.megatron_attention, (*ATTENTION, 3, 1), ValueError, "Wq has 4 columns.*num_heads=3"),
        (tp.megatron_attention, (*ATTENTION, 4.0, 1), TypeError, "num_heads=4.0"),
        (tp.megatron_attention, (*ATTENTION, 0, 1), ValueError, "num_heads=0"),
        (
            partial(tp.megatron_attention, causal=1),
            (*ATTENTION, 4, 2),
            TypeError,
            "causal=1 must be True or False",
        ),
        (
            partial(tp.megatron_attention, num_kv_heads=3),
            (*ATTENTION, 4, 1),
            ValueError,
            "num_kv_heads=3 must divide num_heads=4",
        ),
        (
            partial(tp.megatron_attention, num_kv_heads=2),
            (*ATTENTION, 4, 2),
            ValueError,
            "Wk has 4 columns: 2 heads .* need 2",
        ),
        (
            partial(tp.megatron_attention, num_kv_heads=1),
            (X, SQUARE, SQUARE[:, :1], SQUARE[:, :1], SQUARE, 4, 2),
            ValueError,
            "num_devices=2 does not divide num_kv_heads=1",
        ),
        (
            tp.single_device_attention,
            (X[0, 0], *ATTENTION[1:], 4),
            ValueError,
            "sequence, features",
        ),
        (
            tp.single_device_attention,
            (*ATTENTION[:4], SQUARE[:3], 4),
            ValueError,
            "Wo has 3 rows where 4",
        ),
        (
            partial(tp.single_device_attention, bias_o=BIAS[:2]),
            (*ATTENTION, 4),
            ValueError,
            "bias_o has shape",
        ),
        (tp.megatron_layer, (X, None, 4, 2), TypeError, "weights must be LayerWeights"),
        (tp.megatron_layer, layer(mlp_gain=None), TypeError, "mlp_gain is None"),
        (tp.megatron_layer, layer(mlp_shift=BIAS[:3]), ValueError, "mlp_shift has shape"),
        (tp.megatron_layer, layer(Wo=SQUARE[:, :3]), ValueError, "Wo has 3 columns.*as x, 4"),
        (tp.megatron_layer, layer(B=SQUARE[:, :3]), ValueError, "B has 3 columns"),
        (
            tp.megatron_layer,
            layer(A=SQUARE[:, :1], B=SQUARE[:1]),
            ValueError,
            "num_devices=2 is more than the 1 columns of A",
        ),
        (tp.single_device_layer, (X, {}, 4), TypeError, "weights must be LayerWeights"),
        (tp.sequence_parallel_layer, (PARTS, None, 4), TypeError, "weights must be LayerWeights"),
        (tp.sequence_parallel_layer, (X, WEIGHTS, 4), TypeError, "x_shards must be a list"),
        (tp.sequence_parallel_layer, ([X[:, :0]], WEIGHTS, 4), ValueError, "x_shards hold .0. pos"),
        (
            tp.sequence_parallel_layer,
            parts(A=SQUARE[:, :1], B=SQUARE[:1]),
            ValueError,
            "num_devices=2 is more than the 1 columns of A",
        ),
        (
            tp.sequence_parallel_layer,
            ([X[:, :1]] * 3, WEIGHTS, 4),
            ValueError,
            "num_devices=3 does not divide num_heads=4",
        ),
        (tp.layer_communication_elements, (1.0, 1, 1, 1), TypeError, "batch_size"),
        (tp.layer_communication_elements, (1, -1, 1, 1), ValueError, "seq_len"),
        (tp.layer_communication_elements, (1, 1, True, 1), TypeError, "d_model"),
        (tp.layer_communication_elements, (1, 1, 1, 0), ValueError, "num_devices"),
        (
            partial(tp.layer_communication_elements, recompute=1),
            (1, 1, 1, 1),
            TypeError,
            "recompute=1",
        ),
        (tp.layer_communication_elements, (10**200, 10**200, 1, 2), ValueError, "_exact"),
    ],
)
def test_errors_name_argument_value_and_remedy(function, arguments, error, match):
    with pytest.raises(error, match=match):
        function(*arguments)


VALID = {
    tp.f: (SHARDS,),
    tp.g: (SHARDS,),
    tp.gather_sequence: (SHARDS,),
    tp.scatter_sequence: (SHARDS,),
    tp.collapse: (SHARDS,),
    tp.replicate: (X, 2),
    tp.column_parallel_shards: (SQUARE, 2),
    tp.row_parallel_shards: (SQUARE, 2),
    tp.column_parallel_forward: (X, SQUARE, 2),
    tp.row_parallel_forward: (SHARDS, SQUARE),
    tp.single_device_mlp: (X, SQUARE, SQUARE),
    tp.megatron_mlp: (X, SQUARE, SQUARE, 2),
    tp.single_device_attention: (*ATTENTION, 4),
    tp.megatron_attention: (*ATTENTION, 4, 2),
    tp.single_device_layer: (X, WEIGHTS, 4),
    tp.megatron_layer: (X, WEIGHTS, 4, 2),
    tp.sequence_parallel_layer: (PARTS, WEIGHTS, 4),
    tp.vocab_parallel_embedding: (torch.tensor([0, 3]), SQUARE, 2),
    tp.vocab_parallel_cross_entropy: ([SQUARE], torch.tensor([0, 1, 2, 3])),
    tp.layer_communication_elements: (1, 2, 3, 2),
    tp.layer_communication_elements_exact: (1, 2, 3, 2),
}
IDS = X.long()
NONSENSE = [
    "2",
    b"2",
    2.5,
    -1,
    0,
    float("nan"),
    1j,
    [],
    [None],
    [1.0],
    {},
    object(),
    torch.Tensor,
    IDS,
    X.bool(),
    X.to(torch.complex64),
    X.to("meta"),
    SQUARE.to_sparse(),
    torch.ones(7, 5, 3),
    torch.tensor(1.0),
    [torch.ones(2), torch.ones(2).double()],
    [torch.ones(2), torch.ones(3)],
    [torch.ones(2).long()],
]


def test_every_public_function_is_tried():
    functions = {getattr(tp, name) for name in tp.__all__} - {tp.ring_all_reduce, tp.LayerWeights}
    assert functions == set(VALID)


@pytest.mark.parametrize("function", VALID, ids=lambda function: function.__name__)
def test_the_valid_arguments_are_valid(function):
    function(*VALID[function])


def is_sense(function, place, value):
    """Whether this replacement is after all a valid value of this argument."""
    if function is tp.replicate:
        dense_float = isinstance(value, torch.Tensor) and value.is_floating_point()
        return place == "tensor" and dense_float and not value.is_sparse
    if function is tp.vocab_parallel_embedding:
        return place == "token_ids" and value is IDS
    if function in (tp.layer_communication_elements, tp.layer_communication_elements_exact):
        return place in ("batch_size", "seq_len", "d_model") and type(value) is int and value == 0
    return place == "dim" and type(value) is int


@pytest.mark.parametrize("function", VALID, ids=lambda function: function.__name__)
def test_no_nonsense_gives_a_number(function):
    names = list(inspect.signature(function).parameters)
    valid = dict(zip(names, VALID[function], strict=False))
    tried = 0
    for name in names:
        for value in NONSENSE if name not in valid else [*NONSENSE, None]:
            if is_sense(function, name, value):
                continue
            with pytest.raises((TypeError, ValueError)):
                pytest.fail(f"{name}={value!r} gives {function(**{**valid, name: value})!r}")
            tried += 1
    assert tried >= len(names) * (len(NONSENSE) - 6)
