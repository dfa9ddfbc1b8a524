"""What a world sees of a call beside its result: changes, shared memory, rows in a product."""

from __future__ import annotations

import pytest
import torch

from shardwise_grading import LocalWorld
from shardwise_grading.observation import Observation, Observer
from shardwise_grading.products import ProductRows
from shardwise_grading.tensors import draw, rounding, wrong_tensor


def seen(function, *args):
    with LocalWorld("1") as world:
        return world.call(function, *args).observed


def set_item(values):
    values[0] = torch.ones(2)


class TestCopies:
    def test_arrive_with_strides_offset_and_gradient(self):
        view = torch.arange(12.0).view(3, 4)[:, 1::2].T
        weight = torch.ones(2, requires_grad=True)
        weight.grad = torch.full((2,), 5.0)
        got, (other,) = Observer((view, [weight])).given
        assert torch.equal(got, view)
        assert (got.stride(), got.storage_offset()) == (view.stride(), view.storage_offset())
        assert got.data_ptr() != view.data_ptr()
        assert other.requires_grad
        assert other.grad.tolist() == [5.0, 5.0]
        assert other.grad.data_ptr() != weight.grad.data_ptr()

    def test_of_an_expanded_tensor_is_expanded(self):
        expanded = torch.ones(1).expand(1000)
        (got,) = Observer((expanded,)).given
        assert got.stride() == (0,)
        assert got.untyped_storage().nbytes() == 4

    def test_the_inputs_of_a_check_stay_whatever_a_student_does(self):
        tensors = [torch.ones(2)]
        with LocalWorld("1") as world:
            world.call(lambda values: values.pop().zero_(), tensors)
        assert [tensor.tolist() for tensor in tensors] == [[1.0, 1.0]]


class TestChanges:
    @pytest.mark.parametrize(
        ("change", "name"),
        [
            (lambda values: values[0].add_(1), "args[0][0]"),
            (lambda values: values[0].requires_grad_(True), "args[0][0].requires_grad"),
            (lambda values: values[0].resize_(1), "args[0][0]"),
            (lambda values: setattr(values[0], "grad", torch.ones(2)), "args[0][0].grad"),
            (lambda values: values.pop(0), "args[0][0]"),
            (set_item, "args[0][0]"),
        ],
        ids=["values", "requires_grad", "shape", "grad", "removed", "replaced"],
    )
    def test_are_named(self, change, name):
        assert seen(lambda v: [change(v)], [torch.zeros(2)]).changed == (name,)

    def test_an_added_item_is_one(self):
        values = [torch.zeros(2)]
        assert seen(lambda v: v.append(torch.ones(1)), values).changed == ("args[0][1]",)

    def test_reading_is_none(self):
        assert seen(lambda v: [v[0] + 1, v[0].sum()], [torch.zeros(2)]) == Observation()


class TestSharedMemory:
    def test_with_an_input_and_among_results(self):
        def both(values):
            new = torch.ones(2)
            return [values[0].view(2, 1), new, new[:1]]

        shared = seen(both, [torch.zeros(2)]).shared
        assert shared == (("result[0]", "args[0][0]"), ("result[1]", "result[2]"))

    def test_empty_tensors_share_nothing(self):
        assert seen(lambda v: [v[0], v[0]], [torch.zeros(0)]).shared == ()

    def test_a_sparse_result_has_none(self):
        assert seen(lambda v: v[0].to_sparse(), [torch.ones(2)]).shared == ()


class TestProductRows:
    X, Y = torch.ones(7, 3), torch.ones(7, 2)

    def gradient(self, weight, x, y):
        return ((x @ weight.T - y) ** 2).mean()

    @pytest.mark.parametrize(
        "product",
        [
            lambda x, w: x @ w.T,
            lambda x, w: torch.einsum("bi,oi->bo", x, w),
            lambda x, w: torch.nn.functional.linear(x, w, torch.zeros(2)),
            lambda x, w: torch.stack([x[:4], x[3:]]) @ w.T,
            lambda x, w: torch.func.vmap(lambda row: w @ row)(x),
        ],
        ids=["matmul", "einsum", "linear", "stacked", "vmap"],
    )
    def test_sees_every_kind_of_product(self, product):
        assert seen(product, self.X, torch.ones(2, 3)).product_rows >= 7

    def test_sees_a_backward_pass(self):
        weight = torch.ones(2, 3, requires_grad=True)
        loss = self.gradient(weight, self.X, self.Y)
        with ProductRows() as rows:
            loss.backward()
        assert rows.most == 7

    def test_counts_pieces_as_pieces(self):
        def pieces(x, weight):
            return [part @ weight.T for part in x.split(3)]

        assert seen(pieces, self.X, torch.ones(2, 3)).product_rows == 3


class TestWrongTensor:
    WANT = torch.tensor([[1.0, 2.0]], dtype=torch.float64)

    def message(self, value):
        tolerance = rounding(torch.float32, 2, self.WANT)
        return wrong_tensor("result", value, self.WANT, tolerance, torch.float32)

    @pytest.mark.parametrize(
        ("value", "words"),
        [
            (torch.tensor([[1.0, 3.0]]), "result[0, 1] is 3; expected 2"),
            (torch.tensor([[1.0, float("nan")]]), "result[0, 1] is nan; expected 2"),
            (torch.tensor([1.0, 2.0]), "float32 of shape (2,); expected float32 of shape (1, 2)"),
            (torch.tensor([[1.0, 2.0]]).double(), "result is float64"),
            (torch.tensor([[1.0, 2.0]]).to_sparse(), "expected a dense tensor"),
            (torch.empty(1, 2, device="meta"), "on meta"),
            ([1.0, 2.0], "result is a list; expected a tensor"),
            (None, "result is None; expected a tensor"),
        ],
    )
    def test_says_where_and_what(self, value, words):
        assert words in self.message(value)

    def test_says_nothing_of_rounding(self):
        assert self.message(torch.tensor([[1.0, 2.0 + 2**-22]])) == ""

    def test_writes_enough_digits_to_see_the_difference(self):
        message = self.message(torch.tensor([[1.0, 2.00001]]))
        assert message == "result[0, 1] is 2.0000100135803223; expected 2"

    def test_inputs_follow_the_course_and_not_the_student(self):
        with LocalWorld("1") as world:
            torch.manual_seed(1)
            one = draw(world.random("a"), (3,))
            torch.manual_seed(2)
            assert torch.equal(one, draw(world.random("a"), (3,)))
