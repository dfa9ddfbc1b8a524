"""Messages between a student's process and the one that checks: what arrives, what is refused."""

from __future__ import annotations

import json
import math
import socket
import struct
import time
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from shardwise_grading.data import Foreign
from shardwise_grading.student.values import DTYPES, LONGEST_INT, LONGEST_TEXT, Encoder, decode
from shardwise_grading.student.wire import (
    LONGEST_BUFFERS,
    LONGEST_JSON,
    Channel,
    ClosedError,
    WireError,
)

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 3000), 1 << 3000)
    | st.floats(allow_nan=False)
    | st.fractions()
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.integers() | st.text(), inner, max_size=4)
    ),
    max_leaves=20,
)


def travel(value, *, layouts=False):
    """Encode, write as JSON, read and decode."""
    encoder = Encoder(layouts=layouts)
    text = json.dumps(encoder.encode(value))
    return decode(json.loads(text), encoder.buffers, layouts=layouts)


def same_types(one, other):
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        one, other = list(one.items()), list(other.items())
    if isinstance(one, (list, tuple)):
        return all(map(same_types, one, other))
    return True


@pytest.fixture
def ends():
    one, other = socket.socketpair()
    with one, other:
        yield Channel(one), other


class TestValues:
    @given(PLAIN)
    def test_plain_data_arrives_as_it_was(self, value):
        assert travel(value) == value
        assert same_types(travel(value), value)

    def test_floats_that_are_no_numbers_arrive(self):
        got = travel([math.nan, math.inf, -math.inf, -0.0])
        assert math.isnan(got[0])
        assert got[1:3] == [math.inf, -math.inf]
        assert math.copysign(1, got[3]) == -1

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3)])
    @pytest.mark.parametrize("layouts", [True, False])
    def test_a_tensor_arrives_with_its_numbers(self, dtype, shape, layouts):
        tensor = torch.randint(0, 2, shape).to(getattr(torch, dtype))
        got = travel(tensor, layouts=layouts)
        assert got.dtype == tensor.dtype
        assert got.shape == tensor.shape
        assert torch.equal(got, tensor)

    @pytest.mark.parametrize(
        "tensor",
        [
            torch.arange(12.0).reshape(3, 4)[:, ::2].T,
            torch.arange(5.0)[2:],
            torch.ones(1).expand(1000),
            torch.arange(3.0).flip(0).conj(),
        ],
        ids=["strided", "offset", "expanded", "flipped"],
    )
    def test_a_tensor_goes_to_a_student_as_it_lies_in_memory(self, tensor):
        got = travel(tensor, layouts=True)
        assert torch.equal(got, tensor)
        assert got.stride() == tensor.stride()
        assert got.storage_offset() == tensor.storage_offset()
        assert got.untyped_storage().nbytes() == tensor.untyped_storage().nbytes()

    def test_a_gradient_goes_with_its_tensor(self):
        weight = torch.ones(2, requires_grad=True)
        (3 * weight).sum().backward()
        got = travel([weight], layouts=True)[0]
        assert got.requires_grad
        assert got.grad.tolist() == [3, 3]
        assert not travel(weight).requires_grad

    def test_a_complex_view_comes_back_resolved(self):
        tensor = torch.tensor([1 + 2j]).conj()
        assert travel(tensor).tolist() == [1 - 2j]

    @pytest.mark.parametrize(
        "tensor",
        [torch.ones(2, 3).to_sparse(), torch.ones(2, 3, device="meta")],
        ids=["sparse", "meta"],
    )
    def test_what_is_not_dense_arrives_as_such(self, tensor):
        got = travel(tensor)
        assert got.shape == (2, 3)
        assert (got.layout, got.device) == (tensor.layout, tensor.device)

    @pytest.mark.parametrize(
        ("value", "name"),
        [
            (1 << LONGEST_INT, "very large int"),
            (Fraction(1, 1 << LONGEST_INT), "very large Fraction"),
            (torch.empty(1).expand(1 << 40), "Tensor of 4398046511104 bytes"),
            (Foreign("Yes"), "Yes"),
        ],
        ids=["int", "fraction", "tensor", "foreign"],
    )
    def test_what_is_too_large_is_named_and_not_sent(self, value, name):
        encoder = Encoder()
        assert decode(encoder.encode(value)).type_name.startswith(name)
        assert encoder.buffers == b""

    @pytest.mark.parametrize(
        "content",
        [
            [],
            {},
            3,
            2.5,
            ["x"],
            [["l"]],
            ["i", 3],
            ["i", "zz"],
            ["i", "0x1", "0x2"],
            ["i", "0x" + "f" * LONGEST_INT],
            ["f", "one"],
            ["q", "0x1", "0x0"],
            ["?", 5],
            ["d", ["a"]],
            ["d", [["l"], None]],
            ["T", "float32", [2], [0, 4]],
            ["T", "float32", [1], [0, 5]],
            ["T", "float32", [1], [-4, 0]],
            ["T", "float32", [1], [4, 8]],
            ["T", "float32", [-1], [0, 4]],
            ["T", "float32", [1 << 62, 1 << 62], [0, 4]],
            ["T", "float32", [True], [0, 4]],
            ["T", "float32", [1] * 99, [0, 4]],
            ["T", "qint8", [4], [0, 4]],
            ["T", "__class__", [4], [0, 4]],
            ["S", "torch.sparse_coo", "cpu", [1 << 62]],
            ["L", "uint8", [1 << 40], [0, 1], [0], 0, False, None],
            ["l", ["T", "float32", [1], [0, 4]], ["T", "float32", [1], [0, 4]]],
            ["f", "0x1p99999"],
        ],
        ids=str,
    )
    def test_anything_else_is_refused(self, content):
        with pytest.raises(WireError):
            decode(content, b"\0" * 4)

    def test_endless_nesting_and_endless_lists_are_refused(self):
        deep = None
        for _ in range(40):
            deep = ["l", deep]
        with pytest.raises(WireError):
            decode(deep)
        with pytest.raises(WireError):
            decode(["l", *[["l"]] * 200_000])

    @given(st.recursive(st.none() | st.integers() | st.floats() | st.text(), st.lists))
    def test_whatever_json_holds_is_read_or_refused(self, content):
        try:
            decode(content, b"bytes")
        except WireError:
            return

    def test_what_no_message_could_hold_is_named_instead(self):
        encoder = Encoder()
        tensors = [torch.zeros(1 << 19, dtype=torch.float64) for _ in range(5)]
        *fit, last = decode(encoder.encode(tensors), encoder.buffers)
        assert [tensor.numel() for tensor in fit] == [1 << 19] * 4
        assert "bytes" in last.type_name
        assert decode(Encoder().encode("x" * (LONGEST_TEXT + 1))).type_name == "very large str"


class TestChannel:
    def test_messages_arrive_one_by_one(self, ends):
        here, other = ends
        there = Channel(other)
        here.send({"a": 1}, b"xyz")
        here.send({"b": "\ud800"})
        assert there.receive() == ({"a": 1}, b"xyz")
        assert there.receive() == ({"b": "\ud800"}, b"")

    @pytest.mark.parametrize(
        "content",
        [
            struct.pack(">II", LONGEST_JSON + 1, 0),
            struct.pack(">II", 2, LONGEST_BUFFERS + 1),
            struct.pack(">II", 2, 0) + b"[]",
            struct.pack(">II", 2, 0) + b"{]",
            struct.pack(">II", 4, 0) + b"\xff\xfe\0\0",
            struct.pack(">II", 1 << 16, 0) + b"[" * (1 << 16),
            struct.pack(">II", 8002, 0) + b'{"a":' + b"9" * 7996 + b"}",
        ],
        ids=["long json", "long buffers", "list", "broken", "binary", "nested", "digits"],
    )
    def test_what_is_no_message_is_refused(self, ends, content):
        here, other = ends
        other.sendall(content)
        with pytest.raises(WireError):
            here.receive(time.monotonic() + 5)

    def test_a_short_message_that_came_with_another_is_ready(self, ends):
        here, other = ends
        there = Channel(other)
        assert not there.ready(0)
        here.send({"a": 1})
        here.send({"a": 2})
        assert there.receive()[0] == {"a": 1}
        assert there.ready(0)
        assert there.receive()[0] == {"a": 2}
        assert not there.ready(0)

    def test_a_message_that_stops_half_way_is_not_waited_for(self, ends):
        here, other = ends
        other.sendall(struct.pack(">II", 100, 0) + b"{")
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            here.receive(started + 0.1)
        assert time.monotonic() - started < 2

    def test_a_reader_that_does_not_read_is_not_waited_for(self, ends):
        here, _ = ends
        with pytest.raises(TimeoutError):
            here.send({}, b"x" * LONGEST_BUFFERS, deadline=time.monotonic() + 0.1)

    def test_the_end_of_the_other_side_is_said(self, ends):
        here, other = ends
        other.close()
        with pytest.raises(ClosedError):
            here.receive()
        with pytest.raises(ClosedError):
            here.send({})

    def test_nothing_longer_than_is_read_is_sent(self, ends):
        with pytest.raises(ValueError, match="too long to send"):
            ends[0].send({}, b"x" * (LONGEST_BUFFERS + 1))
