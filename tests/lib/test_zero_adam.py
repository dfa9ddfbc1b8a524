"""Mixed-precision Adam against torch.optim.Adam, against loops, and in slices."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise.zero.mixed_adam import AdamSettings, MixedAdam, state_dtype

DTYPES = [torch.bfloat16, torch.float16, torch.float32, torch.float64]
property_test = settings(deadline=None, max_examples=40)
numbers = st.builds(
    AdamSettings,
    lr=st.floats(0, 0.1),
    betas=st.tuples(st.floats(0, 0.95), st.floats(0, 0.95)),
    eps=st.floats(0.1, 1),
    weight_decay=st.sampled_from([0, 0.1]),
    decoupled_weight_decay=st.booleans(),
)


def draw(seed, size, steps, device):
    generator = torch.Generator().manual_seed(seed)

    def uniform():
        return (torch.rand(size, generator=generator, dtype=torch.float64) * 2 - 1).to(device)

    return uniform(), [uniform() for _ in range(steps)]


def adam_by_loops(weights, grads, settings):
    """Return the weights after the steps, element by element in Python floats."""
    (beta1, beta2), results = settings.betas, []
    for index, start in enumerate(weights.tolist()):
        w, m, v = start, 0.0, 0.0
        for t, gradient in enumerate(grads, start=1):
            decay = settings.weight_decay * w
            g = gradient[index].item() + (0 if settings.decoupled_weight_decay else decay)
            w -= settings.lr * decay if settings.decoupled_weight_decay else 0
            m = beta1 * m + (1 - beta1) * g
            v = beta2 * v + (1 - beta2) * g * g
            corrected = m / (1 - beta1**t), v / (1 - beta2**t)
            w -= settings.lr * corrected[0] / (math.sqrt(corrected[1]) + settings.eps)
        results.append(w)
    return results


@property_test
@given(
    seed=st.integers(0, 2**31),
    size=st.integers(0, 6),
    steps=st.integers(0, 4),
    settings=numbers,
    dtype=st.sampled_from(DTYPES),
)
def test_against_loops_and_pytorch(device, rounding_bound, seed, size, steps, settings, dtype):
    start, grads = draw(seed, size, steps, device)
    start = start.to(dtype)
    grads = [gradient.to(dtype) for gradient in grads]
    adam = MixedAdam(start.clone(), settings=settings)
    reference = torch.nn.Parameter(start.double().clone())
    theirs = torch.optim.AdamW if settings.decoupled_weight_decay else torch.optim.Adam
    optimizer = theirs(
        [reference],
        lr=settings.lr,
        betas=settings.betas,
        eps=settings.eps,
        weight_decay=settings.weight_decay,
    )
    for gradient in grads:
        adam.step(gradient)
        reference.grad = gradient.double()
        optimizer.step()
    # 12 operations a step, on weights and gradients of size up to 4. The update has a slope of at
    # most lr · 2/eps in them, and once more in what earlier steps (through the decay) left behind.
    magnitude = 4 * (1 + settings.lr * 2 / settings.eps)
    bound = rounding_bound(state_dtype(dtype), 12 * max(steps, 1), magnitude**2)
    loops = adam_by_loops(start.double(), grads, settings)
    for got, want, other in zip(adam.master.tolist(), reference.tolist(), loops, strict=True):
        assert abs(got - want) <= bound
        assert abs(got - other) <= bound
    assert torch.equal(adam.weights, adam.master.to(dtype))
    assert adam.steps == steps


@pytest.mark.parametrize("dtype", DTYPES)
def test_slices_are_the_whole(device, dtype):
    start, grads = draw(0, 40, 3, device)
    whole = MixedAdam(start.to(dtype))
    weights = start.to(dtype)
    slices = [MixedAdam(weights[i : i + 8]) for i in range(0, 40, 8)]
    for gradient in grads:
        whole.step(gradient)
        for i, adam in enumerate(slices):
            adam.step(gradient[8 * i : 8 * i + 8])
    assert torch.equal(whole.weights, weights)  # slices are views: the vector was updated in place
    assert torch.equal(whole.variance, torch.cat([adam.variance for adam in slices]))


@pytest.mark.parametrize(("dtype", "each"), list(zip(DTYPES, [12, 12, 8, 16], strict=True)))
def test_bytes_of_the_state(device, dtype, each):
    adam = MixedAdam(torch.ones(10, dtype=dtype, device=device))
    assert adam.num_bytes() == 10 * each
    assert sum(t.numel() * t.element_size() for t in adam.state()) == 10 * each
    assert (adam.master is adam.weights) == (dtype in {torch.float32, torch.float64})
    # A slice of a larger vector counts for itself, and copies no more than itself.
    assert MixedAdam(torch.ones(30, dtype=dtype, device=device)[5:15]).num_bytes() == 10 * each


def test_the_master_copy_may_know_more_than_the_weights(device):
    weights = torch.zeros(2, dtype=torch.bfloat16, device=device)
    adam = MixedAdam(weights, master=torch.tensor([1 + 2**-20, 3.0], device=device))
    assert adam.master.tolist() == [1 + 2**-20, 3]
    assert weights.tolist() == [1, 3]


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_values_given_for_the_master_copy_are_left_alone(device, dtype):
    values = torch.tensor([0.5, 0.75], dtype=state_dtype(dtype), device=device)
    adam = MixedAdam(torch.zeros(2, dtype=dtype, device=device), master=values)
    adam.step(torch.ones(2, device=device))
    assert values.tolist() == [0.5, 0.75]
    assert adam.master.tolist() == pytest.approx([0.5 - 1e-3, 0.75 - 1e-3])


def test_both_ways_to_decay_without_a_gradient(device):
    """Added to the gradient, decay is as large as any step; decoupled, it is in proportion."""
    results = []
    for decoupled in (False, True):
        adam = MixedAdam(
            torch.tensor([1.0, 100.0], dtype=torch.float64, device=device),
            settings=AdamSettings(lr=0.5, weight_decay=0.25, decoupled_weight_decay=decoupled),
        )
        adam.step(torch.zeros(2, device=device))
        results.append(adam.weights.tolist())
    assert results[0] == pytest.approx([0.5, 99.5])
    assert results[1] == [0.875, 87.5]


def test_settings_are_kept_as_floats():
    betas = [Fraction(1, 2), 0]
    settings = AdamSettings(lr=1, betas=betas, eps=Fraction(1, 4), weight_decay=0)
    betas[0] = 7
    assert settings == AdamSettings(lr=1.0, betas=(0.5, 0.0), eps=0.25, weight_decay=0.0)
    assert hash(settings) == hash(AdamSettings(1.0, (0.5, 0.0), 0.25))
    assert [type(number) for number in (settings.lr, *settings.betas)] == [float] * 3


def test_state_made_in_inference_mode_lives_on(device):
    weights = torch.ones(2, dtype=torch.bfloat16, device=device)
    with torch.inference_mode():
        adam = MixedAdam(weights)
        adam.step(torch.ones(2, device=device))
    adam.step(torch.ones(2, device=device))
    assert adam.master.tolist() == pytest.approx([1 - 2e-3] * 2)


def test_a_leaf_and_its_gradient_are_left_alone(device):
    leaf = torch.ones(2, device=device, requires_grad=True)
    grads = torch.tensor([1.0, -1.0], device=device, requires_grad=True)
    MixedAdam(leaf, settings=AdamSettings(weight_decay=0.5)).step(grads)
    assert leaf.requires_grad
    assert leaf.grad is None
    assert leaf.is_leaf
    assert grads.tolist() == [1, -1]
    assert leaf.tolist() == pytest.approx([1 - 1e-3, 1 + 1e-3])


def test_nan_is_passed_on(device):
    adam = MixedAdam(torch.ones(2, device=device))
    adam.step(torch.tensor([math.nan, 1.0], device=device))
    assert adam.weights.isnan().tolist() == [True, False]


ONES = torch.ones(3)
with torch.inference_mode():
    INFERENCE = torch.ones(3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: MixedAdam(None), TypeError, r"weights=None must be a torch.Tensor"),
        (lambda: MixedAdam([1.0]), TypeError, r"weights=\[1.0\] must be a torch.Tensor"),
        (lambda: MixedAdam(ONES.long()), TypeError, r"weights has dtype torch.int64"),
        (lambda: MixedAdam(ONES.to_sparse()), TypeError, r"weights is sparse"),
        (lambda: MixedAdam(ONES[0]), ValueError, r"weights has shape \(\): flatten it"),
        (lambda: MixedAdam(torch.ones(2, 2)), ValueError, r"weights has shape \(2, 2\): flatten"),
        (lambda: MixedAdam(ONES[:1].expand(3)), ValueError, r"weights are one number expanded"),
        (lambda: MixedAdam(INFERENCE), ValueError, r"weights were made in inference mode: give a"),
        (lambda: MixedAdam(ONES, master=ONES[:2]), ValueError, r"master has shape \(2,\) on cpu"),
        (lambda: MixedAdam(ONES, master=ONES > 0), TypeError, r"master has dtype torch.bool"),
        (lambda: MixedAdam(ONES, settings={"lr": 1}), TypeError, r"settings=.* must be an Adam"),
        (lambda: MixedAdam(ONES, settings=0), TypeError, r"settings=0 must be an AdamSettings"),
        (lambda: MixedAdam(ONES).step(1.0), TypeError, r"grads=1.0 must be a torch.Tensor"),
        (lambda: MixedAdam(ONES).step(ONES.int()), TypeError, r"grads has dtype torch.int32"),
        (lambda: MixedAdam(ONES).step(ONES[:1]), ValueError, r"grads has shape \(1,\) on cpu, we"),
        (lambda: MixedAdam(ONES).step(ONES.to("meta")), ValueError, r"grads .* on meta, weights"),
        (lambda: AdamSettings(betas=0.9), TypeError, r"betas=0.9 must be a pair"),
        (lambda: AdamSettings(betas=(0.9,)), TypeError, r"betas=\(0.9,\) must be a pair"),
        (lambda: AdamSettings(betas="ab"), TypeError, r"betas='ab' must be a pair"),
        (lambda: AdamSettings(betas=(0.9, 1)), ValueError, r"betas\[1\]=1 must be below 1"),
        (lambda: AdamSettings(betas=(-0.1, 0)), ValueError, r"betas\[0\]=-0.1 must not be neg"),
        (lambda: AdamSettings(lr=10**400), ValueError, r"lr=1000.* is larger than any float"),
        (lambda: AdamSettings(eps=10**5000), ValueError, r"eps=.* is larger than any float"),
        (
            lambda: AdamSettings(decoupled_weight_decay=1),
            TypeError,
            r"decoupled_weight_decay=1 must be True or False",
        ),
        (lambda: AdamSettings(betas=(None, 0)), TypeError, r"betas\[0\]=None must be a number"),
    ],
)
def test_nonsense_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("name", ["lr", "eps", "weight_decay"])
@pytest.mark.parametrize(
    "value", [None, "1", True, -1, -1e-9, math.nan, math.inf, 1j, [1], torch.tensor(1.0)]
)
def test_numbers_are_finite_and_not_negative(name, value):
    with pytest.raises((TypeError, ValueError), match=rf"^{name}="):
        AdamSettings(**{name: value})
