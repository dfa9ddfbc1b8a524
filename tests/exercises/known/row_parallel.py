"""Exercise 4: mistakes that somebody could make, and right solutions written differently."""
# ruff: noqa: ARG005  (a mutant may well ignore an argument)

from __future__ import annotations

from itertools import accumulate

import torch

from shardwise.collectives import all_gather, reduce_scatter
from shardwise.distributed import ring_all_reduce
from shardwise.tensor_parallel import g, megatron_mlp, row_parallel_forward, row_parallel_shards
from shardwise.tensor_parallel import ring_all_reduce as under_another_name


def checked(function):
    """A mutant with the right error behaviour, so that only the rest can be wrong."""

    def my_row_parallel(y, b, n):
        if not 1 <= n <= len(b):
            raise ValueError(f"n={n} devices can't share {len(b)} rows")
        return function(y, b, n)

    return my_row_parallel


def shards(y, b, n):
    return zip(y.tensor_split(n, dim=-1), b.tensor_split(n), strict=True)


def products(y, b, n):
    return [part @ rows for part, rows in shards(y, b, n)]


def right(y, b, n):
    return ring_all_reduce(products(y, b, n))[0]


def chunks_of_y_only(y, b, n):
    parts = zip(y.chunk(n, dim=-1), row_parallel_shards(b, n))  # noqa: B905
    return ring_all_reduce([part @ rows for part, rows in parts])[0]


def chunks(y, b, n):
    parts = zip(y.chunk(n, dim=-1), b.chunk(n), strict=True)
    return ring_all_reduce([part @ rows for part, rows in parts])[0]


def sizes(k, n):
    """Lengths of shards where the last one takes what is left over."""
    return [k // n] * (n - 1) + [k - k // n * (n - 1)]


def by_sizes(y, b, lengths):
    parts = zip(y.split(lengths, dim=-1), b.split(lengths), strict=True)
    return ring_all_reduce([part @ rows for part, rows in parts])[0]


def drops_what_is_left_over(y, b, n):
    width = len(b) // n
    parts = [(y[..., i * width :][..., :width], b[i * width :][:width]) for i in range(n)]
    return ring_all_reduce([part @ rows for part, rows in parts])[0]


def padded(y, b, n):
    k = len(b)
    extra = -k % n
    y = torch.nn.functional.pad(y, (0, extra))
    b = torch.nn.functional.pad(b, (0, 0, 0, extra))
    return right(y, b, n)


def dealt_out_in_turn(y, b, n):
    return ring_all_reduce([y[..., i::n] @ b[i::n] for i in range(n)])[0]


def larger_shards_last(y, b, n):
    k = len(b)
    bounds = [k * i // n for i in range(n + 1)]
    lengths = [bounds[i + 1] - bounds[i] for i in range(n)]
    return by_sizes(y, b, sorted(lengths))


def one_row_each(y, b, n):
    return by_sizes(y, b, [1] * (n - 1) + [len(b) - n + 1])


def cut_by_columns(y, b, n):
    columns = [y @ part for part in b.tensor_split(n, dim=1)]
    ring_all_reduce([torch.zeros(*y.shape[:-1], b.shape[1], dtype=y.dtype) for _ in columns])
    return torch.cat(columns, dim=-1)


def whole_product_in_shares(y, b, n):
    return ring_all_reduce([y @ b / n for _ in range(n)])[0]


def whole_product_on_device_0(y, b, n):
    product = y @ b
    return ring_all_reduce([product, *(torch.zeros_like(product) for _ in range(n - 1))])[0]


def one_all_reduce_for_each_device(y, b, n):
    total = 0
    for product in products(y, b, n):
        total = total + ring_all_reduce([product])[0]
    return total


def one_all_reduce_for_each_token(y, b, n):
    parts = products(y.reshape(-1, len(b)), b, n)
    rows = [
        ring_all_reduce([part[token] for part in parts])[0] for token in range(parts[0].shape[0])
    ]
    return torch.stack(rows).reshape(*y.shape[:-1], b.shape[1])


def gathered(y, b, n):
    return sum(all_gather([part.unsqueeze(0) for part in products(y, b, n)])[0])


def scattered(y, b, n):
    parts = products(y, b, n)
    return all_gather(reduce_scatter(parts))[0].view(parts[0].shape)


def calls_it_and_looks_away(y, b, n):
    right(y, b, n)
    return y @ b


def halves_the_inputs(y, b, n):
    y *= 0.5
    return 2 * right(y, b, n)


def transposes_in_place(y, b, n):
    product = right(y, b, n)
    b.zero_()
    return product


def clamps_n(y, b, n):
    return right(y, b, min(max(n, 1), len(b)))


def bounds_only_from_below(y, b, n):
    if n < 1:
        raise ValueError(n)
    return right(y, b, n)


def asserts(y, b, n):
    assert 1 <= n <= len(b)
    return right(y, b, n)


def refuses_what_does_not_divide(y, b, n):
    if n < 1 or len(b) % n:
        raise ValueError(n)
    return right(y, b, n)


MUTANTS = {
    # how it is cut
    "torch.chunk for y": checked(chunks_of_y_only),
    "torch.chunk for both": checked(chunks),
    "the last device takes what is left over": checked(
        lambda y, b, n: by_sizes(y, b, sizes(len(b), n))
    ),
    "a row each, and the last the rest": checked(one_row_each),
    "larger shards last": checked(larger_shards_last),
    "drops what is left over": checked(drops_what_is_left_over),
    "pads with zeros": checked(padded),
    "rows are dealt out in turn": checked(dealt_out_in_turn),
    "cut by columns": checked(cut_by_columns),
    "y is whole on every device": checked(
        lambda y, b, n: ring_all_reduce(
            [y[..., : len(rows)] @ rows for _, rows in shards(y, b, n)]
        )[0]
    ),
    "cuts the tokens": checked(
        lambda y, b, n: (
            torch.cat([part @ b for part in y.tensor_split(n, dim=0)]) if y.ndim else right(y, b, n)
        )
    ),
    "shards in reverse": checked(
        lambda y, b, n: ring_all_reduce(
            [p @ r for p, r in zip(y.tensor_split(n, -1), b.tensor_split(n)[::-1], strict=True)]
        )[0]
    ),
    # how it is added up
    "forgets to add": checked(lambda y, b, n: products(y, b, n)[0]),
    "mean in place of sum": checked(lambda y, b, n: right(y, b, n) / n),
    "adds what every device has": checked(lambda y, b, n: sum(ring_all_reduce(products(y, b, n)))),
    "all devices' results in a list": checked(lambda y, b, n: ring_all_reduce(products(y, b, n))),
    "joins in place of adding": checked(
        lambda y, b, n: torch.cat(ring_all_reduce(products(y, b, n)), dim=-1)
    ),
    "all-reduces before the product": checked(lambda y, b, n: ring_all_reduce([y] * n)[0] / n @ b),
    # which collective, how often
    "y @ b": checked(lambda y, b, n: y @ b),
    "the whole product in n shares": checked(whole_product_in_shares),
    "the whole product on device 0": checked(whole_product_on_device_0),
    "Python's sum": checked(lambda y, b, n: sum(products(y, b, n))),
    "one all-reduce for each device": checked(one_all_reduce_for_each_device),
    "one number from each device": checked(
        lambda y, b, n: ring_all_reduce([product.sum() for product in products(y, b, n)])[0]
    ),
    "one all-reduce for each token": checked(one_all_reduce_for_each_token),
    "all-gather and add": checked(gathered),
    "reduce-scatter and all-gather": checked(scattered),
    "calls the all-reduce and looks away": checked(calls_it_and_looks_away),
    # kinds of tensors
    "two dimensions only": checked(lambda y, b, n: right(y.reshape(-1, len(b)), b, n)),
    "reads the memory of y as it lies": checked(
        lambda y, b, n: right(y.as_strided(y.shape, torch.empty(y.shape).stride()), b, n)
    ),
    "everything travels in 64 bits": checked(
        lambda y, b, n: right(y.double(), b.double(), n).to(y.dtype)
    ),
    "64 bits come back": checked(lambda y, b, n: right(y, b, n).double()),
    "scales the input in place": checked(halves_the_inputs),
    "frees b": checked(transposes_in_place),
    # errors
    "lets an empty shard pass": right,
    "clamps n": clamps_n,
    "bounds n from below only": bounds_only_from_below,
    "an assertion": asserts,
    "refuses what does not divide": refuses_what_does_not_divide,
    # somebody else's answer
    "asks the library": checked(lambda y, b, n: row_parallel_forward(y.tensor_split(n, -1), b)),
    "asks for half of the library's block": checked(
        lambda y, b, n: megatron_mlp(y, torch.eye(len(b), dtype=y.dtype), b, n)
    ),
}


def shards_of_the_library(y, b, n):
    rows = row_parallel_shards(b, n)  # raises ValueError
    parts = y.split([len(shard) for shard in rows], dim=-1)
    return ring_all_reduce([part @ shard for part, shard in zip(parts, rows, strict=True)])[-1]


def by_index(y, b, n):
    k = b.shape[0]
    if n < 1 or n > k:
        raise ValueError(n)
    lengths = [k // n + (i < k % n) for i in range(n)]
    ends = list(accumulate(lengths))
    partials = []
    for length, end in zip(lengths, ends, strict=True):
        partials.append(torch.matmul(y[..., end - length : end], b[end - length : end]))
    return under_another_name(partials)[0]


def in_einsum(y, b, n):
    return ring_all_reduce([torch.einsum("...k,kc->...c", p, r) for p, r in shards(y, b, n)])[0]


def through_g(y, b, n):
    return g(products(y, b, n))[0]


def flat_and_back(y, b, n):
    flat = y.reshape(-1, y.shape[-1])
    return right(flat, b, n).reshape(*y.shape[:-1], b.shape[-1])


def flat_messages(y, b, n):
    flat = [product.flatten() for product in products(y, b, n)]
    return ring_all_reduce(flat)[0].reshape(*y.shape[:-1], b.shape[-1])


def transposed(y, b, n):
    parts = [(rows.mT @ part.unsqueeze(-1)).squeeze(-1) for part, rows in shards(y, b, n)]
    return ring_all_reduce(parts)[0]


POINTS = {"my_row_parallel": 10}
WRONG = {"my_row_parallel": MUTANTS}
RIGHT = {
    "my_row_parallel": {
        "as in the notebook": checked(right),
        "shards of the library": shards_of_the_library,
        "by index": by_index,
        "einsum": checked(in_einsum),
        "through g": checked(through_g),
        "flat and back": checked(flat_and_back),
        "flat messages": checked(flat_messages),
        "transposed": checked(transposed),
        "nothing to send on one device": checked(
            lambda y, b, n: y @ b if n == 1 else right(y, b, n)
        ),
    }
}
