"""Ring attention of odd tensors, in odd modes, and of numbers that are none."""

from __future__ import annotations

import pytest
import torch

from shardwise.ring_attention import (
    KERNELS,
    LAYOUTS,
    absorb_block,
    finish_softmax,
    permute_sequence,
    ring_attention,
    sequence_layout,
    start_softmax,
)


@pytest.fixture(autouse=True)
def _on_each_device(device):
    with torch.device(device):
        yield


@pytest.fixture(params=KERNELS)
def kernel(request, device):
    """Each kernel, on the devices that it is for."""
    if request.param == "sdpa" and device != "cpu":
        pytest.skip("a kernel for the CPU")
    return request.param


def normal(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator("cpu").manual_seed(seed)
    numbers = torch.randn(shape, generator=generator, dtype=torch.float64, device="cpu")
    return numbers.to(dtype).to(torch.get_default_device())


def inputs(length=12, dtype=torch.float64):
    return [normal(2, 2, length, 4, seed=seed, dtype=dtype) for seed in range(3)]


def whole(q, k, v, *, causal):
    """Softmax over the whole matrix; a query whose logits are all -inf gets 0."""
    logits = q @ k.mT * q.shape[-1] ** -0.5
    if causal:
        hidden = torch.ones(logits.shape[-2:], dtype=torch.bool).triu(1)
        logits = logits.masked_fill(hidden, -torch.inf)
    blind = (logits == -torch.inf).all(-1, keepdim=True)
    return torch.softmax(logits, -1).masked_fill(blind, 0) @ v


def same(one, other):
    """Equal up to rounding, NaN where the other is."""
    torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12, equal_nan=True)


STRIDES = {
    "numbers of a row apart": lambda x: torch.stack([x, x + 1], -1)[..., 0],
    "heads within rows": lambda x: x.transpose(1, 2).contiguous().transpose(1, 2),
    "columns": lambda x: x.mT.contiguous().mT,
    "wider rows": lambda x: torch.cat([x, x + 1], -1)[..., :4],
    "every second row": lambda x: torch.stack([x, x + 1], 3).flatten(2, 3)[:, :, ::2],
    "overlapping rows": lambda x: x.new_tensor(range(2 * 2 * 15)).view(2, 2, 15).unfold(2, 4, 1),
    "one row for all": lambda x: x[:, :, :1].expand(x.shape),
    "one number for all": lambda x: x[..., :1].expand(x.shape),
    "minus signs unwritten": torch._neg_view,
}


@pytest.mark.parametrize("odd", range(4), ids=["q", "k", "v", "gradient"])
@pytest.mark.parametrize("strides", STRIDES.values(), ids=STRIDES)
def test_strides_do_not_matter(strides, odd, kernel):
    plain = [*inputs(), normal(2, 2, 12, 4, seed=3)]
    plain[odd] = strides(plain[odd])
    results = []
    for copy in (False, True):
        *qkv, grad = (x.clone(memory_format=torch.contiguous_format) if copy else x for x in plain)
        leaves = [x.detach().requires_grad_() for x in qkv]
        out = ring_attention(*leaves, num_devices=3, causal=True, kernel=kernel)
        results.append([out.detach(), *torch.autograd.grad(out, leaves, grad)])
        same(out.detach(), whole(*qkv, causal=True))
    for one, other in zip(*results, strict=True):
        same(one, other)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_nan_in_a_query_is_never_lost_however_few_keys_there_are(dtype, causal, kernel):
    """Processors work on vectors of up to 16 floats; PyTorch's operator once lost a NaN below."""
    for length in (*range(1, 20), 33):
        q, k, v = (normal(1, 1, length, 2, seed=seed, dtype=dtype) for seed in range(3))
        for num_devices in {1, min(2, length)}:
            for row in {0, length // 2, length - 1}:
                odd = q.clone()
                odd[0, 0, row, 0] = torch.nan
                out = ring_attention(
                    odd, k, v, num_devices=num_devices, causal=causal, kernel=kernel
                )
                wanted = (torch.arange(length) == row)[:, None].expand(length, 2)
                assert torch.equal(out[0, 0].isnan(), wanted)


@pytest.mark.parametrize("causal", [False, True])
def test_a_query_that_sees_nothing_is_zero_whatever_it_holds(causal, kernel):
    q, k, v = inputs(5)
    q[:, :, 0] = torch.nan
    q[1] = torch.nan
    seen = torch.tensor([[False, True, True, True, False], [False] * 5])
    out = ring_attention(q, k, v, num_devices=2, causal=causal, kernel=kernel, key_mask=seen)
    assert not out[1].any()
    assert out[0, :, 1:].isfinite().all()
    assert out[0, :, 0].isnan().all() != causal
    assert not (out[0, :, 0].any() and causal)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("odd", [(), (torch.nan,), (torch.inf,)])
def test_logits_of_minus_infinity_weigh_nothing(odd, causal, layout, kernel):
    """Also where they are all that a device's block holds, or all that there is."""
    generator = torch.Generator("cpu").manual_seed(0)
    choices = torch.tensor([-torch.inf, -torch.inf, -torch.inf, -torch.inf, 0.5, *odd]).double()
    q, v = torch.ones(1, 1, 9, 1, dtype=torch.float64), normal(1, 1, 9, 1)
    for _ in range(10):
        pick = torch.randint(len(choices), (9,), generator=generator, device="cpu")
        k = choices[pick.to(choices.device)].reshape(1, 1, 9, 1)
        got = ring_attention(q, k, v, num_devices=4, causal=causal, layout=layout, kernel=kernel)
        same(got, whole(q, k, v, causal=causal))
    nothing = torch.full_like(q, -torch.inf)
    assert not ring_attention(q, nothing, v, num_devices=2, kernel=kernel).any()


def test_a_hidden_logit_of_minus_infinity_leaves_finite_gradients_elsewhere(kernel):
    q, v = torch.ones(1, 1, 8, 1).double(), normal(1, 1, 8, 1)
    k = torch.tensor([-torch.inf] * 4 + [0.0, 1.0, -1.0, 2.0]).double().reshape(1, 1, 8, 1)
    leaves = [x.requires_grad_() for x in (q, k, v)]
    ours = ring_attention(*leaves, num_devices=2, kernel=kernel)
    grad = normal(1, 1, 8, 1, seed=1)
    got = torch.autograd.grad(ours, leaves, grad)
    wanted = torch.autograd.grad(whole(*leaves, causal=False), leaves, grad)
    for mine, theirs in zip(got[1:], wanted[1:], strict=True):  # dQ is 0·inf in both
        assert mine.isfinite().all()
        same(mine, theirs)


def test_a_block_whose_log_sum_exp_is_zero_counts(kernel):
    """PyTorch's operator writes 0 where there is nothing; here 0 is what there is."""
    q = torch.zeros(1, 1, 2, 1, dtype=torch.float64)
    v = torch.tensor([0.0, 6.0]).double().reshape(1, 1, 2, 1)
    assert ring_attention(q, q, v, num_devices=2, kernel=kernel).flatten().tolist() == [3, 3]


def test_modes_of_torch(kernel, bits):
    q, k, v = inputs()
    options = {"num_devices": 3, "causal": True, "layout": "zigzag", "kernel": kernel}
    plain = ring_attention(q, k, v, **options)
    leaf = q.clone().requires_grad_()
    with torch.no_grad():
        unrecorded = ring_attention(leaf, k, v, **options)
    with torch.inference_mode():
        inferred = ring_attention(leaf, k.clone(), v, **options)
    with torch.device("meta"):  # as a default for what is made inside
        elsewhere = ring_attention(q, k, v, **options)
    for other in (unrecorded, inferred, elsewhere):
        assert bits(other) == bits(plain)
        assert not other.requires_grad


def test_subclasses_without_operations_of_their_own():
    q, k, v = inputs()
    out = ring_attention(torch.nn.Parameter(q), k, torch.nn.Parameter(v), num_devices=2)
    assert type(out) is torch.Tensor
    assert out.requires_grad


def test_functional_gradients(kernel):
    q, k, v = inputs(5)
    ring = {"num_devices": 2, "causal": True, "layout": "striped", "kernel": kernel}

    def ours(q, k, v):
        return ring_attention(q, k, v, **ring).square().sum()

    def theirs(q, k, v):
        return whole(q, k, v, causal=True).square().sum()

    for argument in range(3):
        grads = [torch.func.grad(f, argnums=argument)(q, k, v) for f in (ours, theirs)]
        same(*grads)


def test_many_gradients_at_once():
    q, k, v = inputs(3)
    ring = torch.func.jacrev(lambda *x: ring_attention(*x, num_devices=2), argnums=(0, 1, 2))
    full = torch.func.jacrev(lambda *x: whole(*x, causal=False), argnums=(0, 1, 2))
    for mine, theirs in zip(ring(q, k, v), full(q, k, v), strict=True):
        same(mine, theirs)


def test_vmap_is_refused_with_a_way_out():
    q, k, v = inputs(3)
    with pytest.raises(TypeError, match="move the mapped dimension into the batch"):
        torch.func.vmap(lambda x: ring_attention(x, k, v, num_devices=2))(torch.stack([q, q]))
    with pytest.raises(TypeError, match=r"q stands for other tensors, as in torch\.func"):
        torch.func.vmap(lambda x: absorb_block(x, k, v, *start_softmax(q, v)))(torch.stack([q, q]))


def test_backward_twice_and_hooks():
    x = normal(1, 2, 6, 4).requires_grad_()
    out = ring_attention(x, x, x, num_devices=3)
    seen = []
    x.register_hook(lambda gradient: seen.append(gradient.clone()))
    out.register_hook(lambda gradient: 2 * gradient)
    out.sum().backward(retain_graph=True)
    once = x.grad.clone()
    out.sum().backward()
    assert torch.equal(x.grad, 2 * once)
    assert len(seen) == 2
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        out.sum().backward()
    fresh = x.detach().clone().requires_grad_()
    ring_attention(fresh, fresh, fresh, num_devices=3).sum().backward()
    assert torch.equal(once, 2 * fresh.grad)


def test_inputs_that_change_before_the_backward_are_noticed():
    x = normal(1, 1, 4, 2).requires_grad_()
    held = x * 1
    out = ring_attention(held, held, held, num_devices=2)
    held.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_tensors_without_numbers_have_shapes():
    x = torch.zeros(1, 2, 7, 4, device="meta", requires_grad=True)
    out = ring_attention(x, x, x, num_devices=3, causal=True, layout="zigzag")
    (gradient,) = torch.autograd.grad(out.sum(), x)
    assert (out.shape, out.device) == (x.shape, x.device) == (gradient.shape, gradient.device)
    state = absorb_block(x, x, x, *start_softmax(x, x))
    assert finish_softmax(*state)[0].device.type == "meta"


def test_permuting_follows_the_tensor_and_not_the_default_device():
    x = torch.arange(8)
    with torch.device("meta"):
        assert permute_sequence(x, 2, "striped", dim=0).tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
        assert sequence_layout(4, 2)[0].device.type == "meta"
    empty = torch.zeros(0, 3, 8)
    assert permute_sequence(empty, 2, "zigzag", dim=-1).shape == empty.shape


def state_of(q, v):
    return dict(zip(("m", "ell", "o"), start_softmax(q, v), strict=True))


@pytest.mark.parametrize(
    ("written", "read"),
    [("m", "ell"), ("ell", "m"), ("o", "q"), ("o", "k"), ("o", "v")],
)
def test_states_that_share_memory_are_refused_before_anything_changes(written, read, bits):
    arguments = dict(zip("qkv", inputs(), strict=True))
    arguments |= state_of(arguments["q"], arguments["v"])
    arguments[written] = arguments[read].view(arguments[read].shape)
    before = {name: bits(tensor) for name, tensor in arguments.items()}
    with pytest.raises(ValueError, match=r"\w+ shares memory with \w+, .* give each its own"):
        absorb_block(**arguments)
    assert {name: bits(tensor) for name, tensor in arguments.items()} == before


def test_states_of_a_single_number_that_share_it_are_refused():
    x, m = torch.zeros(1, 1, 1, 1), torch.zeros(1, 1, 1)
    with pytest.raises(ValueError, match="m shares memory with ell"):
        absorb_block(x, x, x, m, m, torch.zeros(1, 1, 1, 1))


def test_states_side_by_side_in_one_buffer_are_fine():
    q, k, v = inputs()
    m, ell, o = start_softmax(q, v)
    buffer = torch.cat([m.flatten(), ell.flatten(), o.flatten()])
    views = [
        piece.view(x.shape)
        for piece, x in zip(
            buffer.split([x.numel() for x in (m, ell, o)]), (m, ell, o), strict=True
        )
    ]
    for mine, theirs in zip(
        absorb_block(q, k, v, *views), absorb_block(q, k, v, m, ell, o), strict=True
    ):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("name", ["m", "ell", "o"])
def test_expanded_states_are_refused_before_anything_changes(name, bits):
    q, k, v = inputs()
    state = state_of(q, v)
    state[name] = state[name][:1].expand(state[name].shape)
    before = {name: bits(tensor) for name, tensor in state.items()}
    with pytest.raises(ValueError, match=f"{name} is expanded, but is updated in place: clone it"):
        absorb_block(q, k, v, **state)
    assert {name: bits(tensor) for name, tensor in state.items()} == before
