"""The snippets of the original module on pipelines, with what they print."""

from __future__ import annotations

import math

import pytest

from shardwise.pipeline import (
    bubble_fraction,
    gradient_match,
    microbatches_for_bubble,
    partition_layers,
    peak_inflight_microbatches,
    pipeline_schedule,
    schedule_makespan,
)


def printed(capsys):
    return capsys.readouterr().out.splitlines()


def test_schedule(capsys):
    print("layer partition:", partition_layers(12, 4))
    cells = pipeline_schedule(num_stages=4, num_microbatches=8, policy="gpipe")
    print("ops scheduled:", len(cells), "  makespan:", schedule_makespan(cells))
    print("bubble fraction:", round(bubble_fraction(4, 8), 4))
    assert printed(capsys) == [
        "layer partition: [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]",
        "ops scheduled: 64   makespan: 22",
        "bubble fraction: 0.2727",
    ]


def test_peaks(capsys):
    for policy in ("gpipe", "1f1b"):
        peak = peak_inflight_microbatches(
            pipeline_schedule(num_stages=4, num_microbatches=16, policy=policy)
        )
        print(f"{policy:5s}: peak micro-batches held at stage 0 = {peak}")
    assert printed(capsys) == [
        "gpipe: peak micro-batches held at stage 0 = 16",
        "1f1b : peak micro-batches held at stage 0 = 4",
    ]


@pytest.mark.parametrize("policy", [{}, {"policy": "gpipe"}, {"policy": "1f1b"}])
def test_gradients(policy):
    res = gradient_match(
        num_layers=6, width=8, batch=12, num_stages=3, num_microbatches=4, **policy
    )
    assert res["allclose"] is True
    # the original prints 1.04e-07; which of the last bits differ is the kernel's choice
    assert 0 < res["max_rel_diff"] < res["tolerance"] < 2e-5


def test_microbatches(capsys):
    def min_microbatches(p, target):
        return max(1, math.ceil((p - 1) * (1 - target) / target))

    for p, target in [(4, 0.1), (8, 0.1), (16, 0.05)]:
        m = min_microbatches(p, target)
        mark = "✓" if m == microbatches_for_bubble(p, target) else "✗"
        print(f"P={p:2d}, target {target:>4}: M={m:3d} → bubble {bubble_fraction(p, m):.3f}", mark)
    assert printed(capsys) == [
        "P= 4, target  0.1: M= 27 → bubble 0.100 ✓",
        "P= 8, target  0.1: M= 63 → bubble 0.100 ✓",
        "P=16, target 0.05: M=285 → bubble 0.050 ✓",
    ]
