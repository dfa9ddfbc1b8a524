"""Exercise 3: mistakes that somebody could make, and right solutions written differently."""
# ruff: noqa: ARG005, N803  (a mutant may ignore an argument; W is the chapter's letter)

from __future__ import annotations

import torch
from torch.nn.functional import linear, mse_loss

from shardwise.data_parallel import accumulate_gradients
from shardwise.distributed import (
    data_parallel_gradients,
    single_device_gradient,
    weighted_data_parallel_gradients,
)

torch.func.grad(torch.sum)(torch.ones(1))  # its first call imports torch's compiler, for seconds


def checked(function):
    """A mutant with the right error behaviour, so that only the rest can be wrong."""

    def accumulate(W, xs, ys):
        if not xs or len(xs) != len(ys):
            raise ValueError(f"{len(xs)} xs and {len(ys)} ys")
        return function(W, xs, ys)

    return accumulate


def mean_loss(w, x, y):
    return ((x @ w.T - y) ** 2).mean()


def sum_loss(w, x, y):
    return ((x @ w.T - y) ** 2).sum()


def absolute_loss(w, x, y):
    return (x @ w.T - y).abs().mean()


def gradient(W, x, y, loss=mean_loss):
    w = W.detach().clone().requires_grad_(True)
    return torch.autograd.grad(loss(w, x, y), w)[0]


def gradients(W, xs, ys, loss=mean_loss):
    return [gradient(W, x, y, loss) for x, y in zip(xs, ys, strict=True)]


def rows(xs):
    return sum(len(x) for x in xs)


def right(W, xs, ys):
    parts = gradients(W, xs, ys)
    return sum(g * (len(x) / rows(xs)) for g, x in zip(parts, xs, strict=True))


def plain_average(W, xs, ys):
    return sum(gradients(W, xs, ys)) / len(xs)


def whole_batch(W, xs, ys):
    return gradient(W, torch.cat(xs), torch.cat(ys))


def in_closed_form_over_the_batch(W, xs, ys):
    x, y = torch.cat(xs), torch.cat(ys)
    return 2 / y.numel() * (x @ W.detach().T - y).T @ x


def stacked(W, xs, ys):
    if len({len(x) for x in xs}) > 1:
        return right(W, xs, ys)
    return gradient(W, torch.stack(xs), torch.stack(ys))


def vectorised(W, xs, ys):
    if len({len(x) for x in xs}) > 1:
        return right(W, xs, ys)
    each = torch.func.vmap(torch.func.grad(mean_loss), (None, 0, 0))
    return each(W.detach(), torch.stack(xs), torch.stack(ys)).mean(0)


def whole_batch_when_uneven(W, xs, ys):
    return right(W, xs, ys) if len({len(x) for x in xs}) == 1 else whole_batch(W, xs, ys)


def two_at_a_time(W, xs, ys):
    pairs = [slice(i, i + 2) for i in range(0, len(xs), 2)]
    return right(W, [torch.cat(xs[p]) for p in pairs], [torch.cat(ys[p]) for p in pairs])


def into_the_weights_own_grad(W, xs, ys):
    W.requires_grad_(True)
    for x, y in zip(xs, ys, strict=True):
        (mean_loss(W, x, y) * (len(x) / rows(xs))).backward()
    return W.grad.clone()


def clears_the_weights_own_grad(W, xs, ys):
    W.requires_grad_(True)
    W.grad = None
    into_the_weights_own_grad(W, xs, ys)
    result, W.grad = W.grad, None
    W.requires_grad_(False)
    return result


def steps_in_between(W, xs, ys):
    w, total = W.detach().clone(), 0
    for x, y in zip(xs, ys, strict=True):
        part = gradient(w, x, y) * (len(x) / rows(xs))
        w -= 0.1 * part
        total = total + part
    return total


def kept_from_call_to_call(W, xs, ys, kept=[]):  # noqa: B006
    kept += gradients(W, xs, ys)
    return sum(kept[-max(len(kept), 1) :]) / len(kept)


def empties_the_lists(W, xs, ys):
    batch, total = rows(xs), 0
    while xs:
        x, y = xs.pop(), ys.pop()
        total = total + gradient(W, x, y) * (len(x) / batch)
    return total


def centres_in_place(W, xs, ys):
    total = 0
    for x, y in zip(xs, ys, strict=True):
        y.sub_(x @ W.detach().T)
        total = total - 2 * y.T @ x
    return total / (rows(xs) * W.shape[0])


def leaves_out_smaller_ones(W, xs, ys):
    full = len(xs[0])
    pairs = [(x, y) for x, y in zip(xs, ys, strict=True) if len(x) == full]
    return right(W, *(list(side) for side in zip(*pairs, strict=True)))


def weighted_by_the_first(W, xs, ys):
    parts = gradients(W, xs, ys)
    return sum(g * len(x) / len(xs[0]) for g, x in zip(parts, xs, strict=True)) / len(xs)


def running_mean(W, xs, ys):
    mean = torch.zeros_like(W.detach())
    for part in gradients(W, xs, ys):
        mean = (mean + part) / 2
    return mean


def on_numbers_in_32_bits(W, xs, ys):
    return right(W.float(), [x.float() for x in xs], [y.float() for y in ys]).to(W.dtype)


def zips_what_there_is(W, xs, ys):
    count = min(len(xs), len(ys))
    if not count:
        raise ValueError("no micro-batch")
    return right(W, xs[:count], ys[:count])


MUTANTS = {
    # the mean
    "sums the mean gradients": checked(lambda W, xs, ys: sum(gradients(W, xs, ys))),
    "sums over elements, and never divides": checked(
        lambda W, xs, ys: sum(gradients(W, xs, ys, sum_loss))
    ),
    "divides by rows and not by elements": checked(
        lambda W, xs, ys: sum(gradients(W, xs, ys, sum_loss)) / rows(xs)
    ),
    "divides twice": checked(lambda W, xs, ys: right(W, xs, ys) / len(xs)),
    "forgets the 2": checked(lambda W, xs, ys: right(W, xs, ys) / 2),
    "only the last one counts": checked(lambda W, xs, ys: gradients(W, xs, ys)[-1]),
    "only the first one counts": checked(lambda W, xs, ys: gradients(W, xs, ys)[0]),
    "a running mean": checked(running_mean),
    "the wrong sign": checked(lambda W, xs, ys: -right(W, xs, ys)),
    "steps in between": checked(steps_in_between),
    "mean absolute error": checked(
        lambda W, xs, ys: sum(gradients(W, xs, ys, absolute_loss)) / len(xs)
    ),
    "kept from call to call": checked(kept_from_call_to_call),
    # what it returns
    "transposed": checked(lambda W, xs, ys: right(W, xs, ys).T),
    "a list of gradients": checked(gradients),
    "the updated weight": checked(lambda W, xs, ys: W.detach() - 0.1 * right(W, xs, ys)),
    "the loss": checked(
        lambda W, xs, ys: sum(map(mean_loss, [W.detach()] * len(xs), xs, ys)) / len(xs)
    ),
    # how many rows
    "one backward over the whole batch": checked(whole_batch),
    "closed form over the whole batch": checked(in_closed_form_over_the_batch),
    "stacked": checked(stacked),
    "vmap over all": checked(vectorised),
    "two at a time": checked(two_at_a_time),
    # sizes
    "plain average": checked(plain_average),
    "leaves out the smaller ones": checked(leaves_out_smaller_ones),
    "weighted by the first": checked(weighted_by_the_first),
    "whole batch where sizes differ": checked(whole_batch_when_uneven),
    "one size only": checked(
        lambda W, xs, ys: right(W, xs, ys) if len({len(x) for x in xs}) == 1 else None
    ),
    # what it touches
    "backward into W.grad": checked(into_the_weights_own_grad),
    "clears W.grad": checked(clears_the_weights_own_grad),
    "marks W": checked(lambda W, xs, ys: right(W.requires_grad_(True), xs, ys)),
    "empties the lists": checked(empties_the_lists),
    "subtracts in place": checked(centres_in_place),
    # numbers
    "32 bits in between": checked(on_numbers_in_32_bits),
    "64 bits come back": checked(lambda W, xs, ys: right(W, xs, ys).double()),
    "reads the memory of x as it lies": checked(
        lambda W, xs, ys: right(W, [x.as_strided(x.shape, (x.shape[1], 1)) for x in xs], ys)
    ),
    # errors
    "zips what there is": zips_what_there_is,
    "nothing is a gradient of 0": lambda W, xs, ys: (
        checked(right)(W, xs, ys) if xs or ys else torch.zeros_like(W)
    ),
    "divides by no micro-batches": lambda W, xs, ys: right(W, xs, ys) / (len(xs) / len(xs)),
    "an assertion": lambda W, xs, ys: right(W, xs, ys) if len(xs) == len(ys) > 0 else int(None),
    "ValueError for everything": lambda W, xs, ys: checked(right)(W, [], []),
    # somebody else's answer
    "asks for the data-parallel gradient": checked(data_parallel_gradients),
    "asks for the weighted one": checked(weighted_data_parallel_gradients),
    "asks for the accumulated one": checked(accumulate_gradients),
    "asks for each micro-batch": checked(
        lambda W, xs, ys: sum(map(single_device_gradient, [W] * len(xs), xs, ys)) / len(xs)
    ),
}


def in_closed_form(W, xs, ys):
    w, total, elements = W.detach(), 0, 0
    for x, y in zip(xs, ys, strict=True):
        total = total + 2 * (x @ w.T - y).T @ x
        elements += y.numel()
    return total / elements


def into_a_leaf(W, xs, ys):
    w = W.detach().clone().requires_grad_()
    elements = sum(y.numel() for y in ys)
    for x, y in zip(xs, ys, strict=True):
        (mse_loss(linear(x, w), y, reduction="sum") / elements).backward()
    return w.grad


def with_a_layer(W, xs, ys):
    layer = torch.nn.Linear(W.shape[1], W.shape[0], bias=False, dtype=W.dtype)
    with torch.no_grad():
        layer.weight.copy_(W)
    for x, y in zip(xs, ys, strict=True):
        loss = torch.nn.MSELoss()(layer(x), y) * x.shape[0] / rows(xs)
        loss.backward()
    return layer.weight.grad.detach().clone()


def with_functions(W, xs, ys):
    each = map(torch.func.grad(sum_loss), [W.detach()] * len(xs), xs, ys)
    return torch.stack(list(each)).sum(0).div(sum(y.numel() for y in ys))


def in_einsum(W, xs, ys):
    errors = [torch.einsum("bi,oi->bo", x, W.detach()) - y for x, y in zip(xs, ys, strict=True)]
    parts = [torch.einsum("bo,bi->oi", e, x) for e, x in zip(errors, xs, strict=True)]
    return sum(parts) * (2 / sum(e.numel() for e in errors))


def row_by_row(W, xs, ys):
    total = torch.zeros_like(W.detach())
    for x, y in zip(xs, ys, strict=True):
        for row, target in zip(x, y, strict=True):
            total += 2 * torch.outer(W.detach() @ row - target, row)
    return total / (rows(xs) * W.shape[0])


RIGHTS = {
    "weighted means": checked(right),
    "in closed form": checked(in_closed_form),
    "into a leaf": checked(into_a_leaf),
    "with a layer": checked(with_a_layer),
    "with functions": checked(with_functions),
    "einsum": checked(in_einsum),
    "row by row": checked(row_by_row),
}
UNEVEN = (
    "plain average",
    "leaves out the smaller ones",
    "weighted by the first",
    "whole batch where sizes differ",
    "one size only",
)

POINTS = {"equal": 7, "unequal": 3}
WRONG = {
    "equal": {name: mutant for name, mutant in MUTANTS.items() if name not in UNEVEN},
    "unequal": {
        name: MUTANTS[name]
        for name in (
            *UNEVEN,
            "sums the mean gradients",
            "divides twice",
            "a running mean",
            "steps in between",
            "one backward over the whole batch",
            "closed form over the whole batch",
            "asks for the data-parallel gradient",
            "asks for the weighted one",
            "asks for the accumulated one",
        )
    },
}
RIGHT = {
    "equal": RIGHTS | {name: MUTANTS[name] for name in UNEVEN},
    "unequal": RIGHTS,
}
