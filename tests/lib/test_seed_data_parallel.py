"""The snippets of the original module on memory and data parallelism, with what they print."""

# ruff: noqa: N803, N806 - W is the chapter's letter

from __future__ import annotations

import torch

from shardwise.distributed import (
    data_parallel_gradients,
    ring_all_reduce,
    ring_all_reduce_bytes,
    single_device_gradient,
    training_memory_bytes,
    zero_memory_per_device,
)


def gradient_magnitude(W, xs, ys):
    """Return the gradient's sums with absolute values: 2/(B·out) (|x||W|ᵀ + |y|)ᵀ|x|."""
    W, x, y = (t.double().abs() for t in (W, torch.cat(xs), torch.cat(ys)))
    return (x @ W.T + y).T @ x * (2 / y.numel())


def assert_equal_to_rounding(one, other, terms, magnitude, rounding_bound):
    """Both are within the bound of the exact value, so they are within twice the bound."""
    rows = [t.double().flatten().tolist() for t in (one, other, magnitude)]
    for a, b, size in zip(*rows, strict=True):
        assert abs(a - b) <= 2 * rounding_bound(torch.float32, terms, size)


def printed(capsys):
    return capsys.readouterr().out.splitlines()


def test_training_memory(capsys):
    mem = training_memory_bytes(7_500_000_000)
    for k, v in mem.items():
        print(f"{k:>10}: {v / 1e9:6.1f} GB")
    assert printed(capsys) == [
        "    params:   15.0 GB",
        "     grads:   15.0 GB",
        " optimizer:   90.0 GB",
        "     total:  120.0 GB",
    ]


def test_zero_stages(capsys):
    psi, n = 7_500_000_000, 64
    for stage in range(4):
        gb = zero_memory_per_device(psi, n, stage) / 1e9
        print(f"stage {stage}: {gb:7.2f} GB/device")
    assert printed(capsys) == [
        "stage 0:  120.00 GB/device",
        "stage 1:   31.41 GB/device",
        "stage 2:   16.64 GB/device",
        "stage 3:    1.88 GB/device",
    ]


def test_data_parallel_gradients(rounding_bound):
    torch.manual_seed(0)
    W = torch.randn(3, 5)
    x_shards = [torch.randn(4, 5) for _ in range(4)]
    y_shards = [torch.randn(4, 3) for _ in range(4)]
    g_dp = data_parallel_gradients(W, x_shards, y_shards)
    g_sd = single_device_gradient(W, torch.cat(x_shards), torch.cat(y_shards))
    # the original prints 1.19e-07; which of the last bits differ is the kernel's choice
    terms = (5 + 1) + 6 + 16 + 4  # residual, mean and chain rule, samples, devices
    magnitude = gradient_magnitude(W, x_shards, y_shards)
    assert_equal_to_rounding(g_dp, g_sd, terms, magnitude, rounding_bound)


def test_ring_all_reduce(capsys):
    tensors = [
        torch.tensor([1.0, 2.0, 3.0, 4.0]),
        torch.tensor([10.0, 20.0, 30.0, 40.0]),
        torch.tensor([100.0, 200.0, 300.0, 400.0]),
        torch.tensor([1000.0, 2000.0, 3000.0, 4000.0]),
    ]
    out = ring_all_reduce(tensors)
    print("device 0 result:", out[0].tolist())
    print("== naive sum:    ", torch.equal(out[0], torch.stack(tensors).sum(0)))
    print("all devices agree:", all(torch.equal(o, out[0]) for o in out))
    print("bytes/device (M=4KB, N=4):", ring_all_reduce_bytes(4000, 4))
    assert printed(capsys) == [
        "device 0 result: [1111.0, 2222.0, 3333.0, 4444.0]",
        "== naive sum:     True",
        "all devices agree: True",
        "bytes/device (M=4KB, N=4): 6000.0",
    ]


def test_exercise_1_mean_from_sum(rounding_bound):
    torch.manual_seed(0)

    def all_reduce_mean(tensors):
        summed = ring_all_reduce(tensors)
        n = len(tensors)
        return [s / n for s in summed]

    xs = [torch.randn(6) for _ in range(4)]
    got = all_reduce_mean(xs)[0]
    stacked = torch.stack(xs)
    # three additions and a division
    assert_equal_to_rounding(got, stacked.mean(0), 4, stacked.abs().mean(0), rounding_bound)


def test_exercise_2_stage_2_memory(capsys):
    def stage2_bytes(psi, n):
        return 2 * psi + (2 + 12) * psi / n

    psi, n = 1_000_000, 8
    print("mine:", stage2_bytes(psi, n))
    print("ref: ", zero_memory_per_device(psi, n, 2))
    assert printed(capsys) == ["mine: 3750000.0", "ref:  3750000.0"]


def test_exercise_3_gradient_accumulation(rounding_bound):
    torch.manual_seed(1)
    W = torch.randn(2, 3)
    shards_x = [torch.randn(4, 3) for _ in range(3)]
    shards_y = [torch.randn(4, 2) for _ in range(3)]

    def accumulate(W, xs, ys):
        grads = []
        for x, y in zip(xs, ys, strict=True):
            w = W.detach().clone().requires_grad_(True)
            loss = ((x @ w.T - y) ** 2).mean()
            grads.append(torch.autograd.grad(loss, w)[0])
        return sum(grads) / len(grads)

    acc = accumulate(W, shards_x, shards_y)
    dp = data_parallel_gradients(W, shards_x, shards_y)
    terms = (3 + 1) + 6 + 12 + 3  # residual, mean and chain rule, samples, parts
    magnitude = gradient_magnitude(W, shards_x, shards_y)
    assert_equal_to_rounding(acc, dp, terms, magnitude, rounding_bound)
