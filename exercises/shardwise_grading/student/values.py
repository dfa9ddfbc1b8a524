"""Plain data as messages: ints of any size, exact floats, fractions, and tensors with their layout.

`Encoder` and `decode` know every type that `as_data` lets through. A tensor goes to a student as it
lies in memory, with strides, offset and gradient; back it comes densely packed, so that no claim
about strides has to be believed.
"""

from __future__ import annotations

import ctypes
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shardwise_grading.data import DEEPEST, MOST, Foreign, tensor_type
from shardwise_grading.student.wire import LONGEST_BUFFERS, WireError

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

LONGEST_INT = 1 << 17  # bits; 16 bytes for each of 10**300 parameters have a thousand
LONGEST_TEXT = 1 << 20  # characters
LARGEST_TENSOR = 4 << 20  # bytes
MOST_DIMENSIONS = 16
DTYPES = (
    *("float64", "float32", "float16", "bfloat16", "complex64", "complex128"),
    *("int64", "int32", "int16", "int8", "uint8", "bool"),
)


class Encoder:
    """Turns values into what json can write, and collects the bytes of tensors.

    Args:
        layouts: whether tensors keep strides, offset, ``requires_grad`` and ``grad``.

    Example:
        >>> Encoder().encode([1, 2.5, Fraction(1, 3), "text", None])
        ['l', ['i', '0x1'], ['f', '0x1.4000000000000p+1'], ['q', '0x1', '0x3'], 'text', None]
    """

    def __init__(self, *, layouts: bool = False) -> None:
        """Start with no bytes."""
        self._layouts = layouts
        self._buffers: list[bytes] = []
        self._length = 0

    @property
    def buffers(self) -> bytes:
        """The bytes of all tensors that were encoded so far."""
        return b"".join(self._buffers)

    def encode(self, value: Any) -> Any:  # noqa: ANN401
        """Encode plain data, as `as_data` makes it; what is too large becomes `Foreign`."""
        if value is None or type(value) is bool:
            return value
        if type(value) is Foreign:
            return ["?", value.type_name]
        if type(value) is tensor_type():
            return self._layout(value) if self._layouts else self._dense(value)
        if type(value) is dict:
            return ["d", *([self.encode(key), self.encode(item)] for key, item in value.items())]
        if type(value) in (list, tuple):
            return [type(value).__name__[0], *map(self.encode, value)]
        return _scalar(value)

    def _append(self, content: bytes) -> list[int]:
        start, self._length = self._length, self._length + len(content)
        self._buffers.append(content)
        return [start, self._length]

    def _layout(self, tensor: Tensor) -> list[Any]:
        plain = tensor.detach()
        storage = plain.untyped_storage()
        grad = None if tensor.grad is None else self._layout(tensor.grad)
        return [
            "L",
            _dtype_name(plain),
            list(plain.shape),
            self._append(_bytes_at(storage.data_ptr(), storage.nbytes())),
            list(plain.stride()),
            plain.storage_offset(),
            tensor.requires_grad,
            grad,
        ]

    def _dense(self, tensor: Tensor) -> list[Any]:
        import torch  # noqa: PLC0415

        if tensor.layout is not torch.strided or tensor.device.type != "cpu":
            return ["S", str(tensor.layout), tensor.device.type, list(tensor.shape)]
        size = tensor.numel() * tensor.element_size()
        too_large = size > LARGEST_TENSOR or self._length + size > LONGEST_BUFFERS
        if too_large or tensor.ndim > MOST_DIMENSIONS or _dtype_name(tensor) == "":
            return ["?", f"Tensor of {size} bytes and dtype {tensor.dtype}"]
        packed = tensor.detach().resolve_conj().resolve_neg().contiguous()
        content = self._append(_bytes_at(packed.data_ptr(), size))
        return ["T", _dtype_name(packed), list(packed.shape), content]


def decode(value: Any, buffers: bytes = b"", *, layouts: bool = False) -> Any:  # noqa: ANN401
    """Turn what `Encoder` made back into plain data.

    Args:
        value: a part of a message.
        buffers: the bytes that came with it.
        layouts: whether tensors may come with strides; only for what is trusted, as a stride of 0
            makes a large tensor of a small one.

    Raises:
        WireError: it is anything but what an `Encoder` writes.

    Example:
        >>> decode(["t", ["i", "-0xff"], ["f", "nan"]])
        (-255, nan)
        >>> decode(["i", "twelve"])
        Traceback (most recent call last):
        shardwise_grading.student.wire.WireError: no value: ['i', 'twelve']
    """
    return _Decoder(buffers, layouts).decode(value, 0)


class _Decoder:
    def __init__(self, buffers: bytes, layouts: bool) -> None:
        self._buffers = buffers
        self._left = len(buffers)
        self._nodes = 0
        self._readers: dict[str, Callable[..., Any]] = {
            "i": _int,
            "f": _float,
            "q": lambda over, under: Fraction(_int(over), _int(under)),
            "?": _foreign,
            "T": self._tensor,
            "S": _placeholder,
        }
        if layouts:
            self._readers["L"] = self._laid_out

    def decode(self, value: Any, depth: int) -> Any:  # noqa: ANN401
        self._nodes += 1
        if value is None or type(value) in (bool, str):
            return value
        if type(value) is not list or not value or depth > DEEPEST + 1 or self._nodes > MOST + 1:
            raise WireError(f"no value: {str(value)[:80]}")
        tag, *parts = value
        if tag in ("l", "t"):
            items = (self.decode(part, depth + 1) for part in parts)
            return list(items) if tag == "l" else tuple(items)
        if tag == "d":
            return dict(self._pair(part, depth + 1) for part in parts)
        try:
            return self._readers[tag](*parts)
        except (ValueError, TypeError, KeyError, RuntimeError, ArithmeticError) as error:
            raise WireError(f"no value: {str(value)[:80]}") from error

    def _pair(self, part: Any, depth: int) -> tuple[int | str, Any]:  # noqa: ANN401
        if type(part) is not list or len(part) != 2:  # noqa: PLR2004
            raise WireError(f"no item of a dict: {str(part)[:80]}")
        key = self.decode(part[0], depth)
        if type(key) not in (int, str):
            raise WireError(f"no key of a dict: {str(part[0])[:80]}")
        return key, self.decode(part[1], depth)

    def _content(self, place: Any) -> bytearray:  # noqa: ANN401
        start, end = (_exact(number, int) for number in _exact(place, list))
        if not 0 <= start <= end <= len(self._buffers):
            raise ValueError(f"bytes {start} to {end} of {len(self._buffers)}")
        self._left -= end - start
        if self._left < 0:
            raise ValueError("more bytes than there are: parts overlap")
        return bytearray(self._buffers[start:end])

    def _tensor(self, dtype: str, shape: list[int], place: list[int]) -> Tensor:
        flat = _flat(dtype, self._content(place))
        if math.prod(_sizes(shape)) != flat.numel():
            raise ValueError(f"{flat.numel()} elements for the shape {shape}")
        return flat.reshape(shape)

    def _laid_out(
        self,
        dtype: str,
        shape: list[int],
        place: list[int],
        stride: list[int],
        offset: int,
        requires_grad: bool,
        grad: list[Any] | None,
    ) -> Tensor:
        flat = _flat(dtype, self._content(place))
        tensor = flat.as_strided(shape, stride, offset).requires_grad_(requires_grad)
        if grad is not None:
            tensor.grad = self._laid_out(*grad[1:])
        return tensor


def _scalar(value: Any) -> str | list[str]:  # noqa: ANN401
    if type(value) is str and len(value) <= LONGEST_TEXT:
        return value
    if type(value) is int and value.bit_length() <= LONGEST_INT:
        return ["i", hex(value)]
    if type(value) is float:
        return ["f", value.hex()]
    if type(value) is Fraction:
        parts = (value.numerator, value.denominator)
        if max(part.bit_length() for part in parts) <= LONGEST_INT:
            return ["q", *map(hex, parts)]
    return ["?", f"very large {type(value).__name__}"]


def _exact(value: Any, kind: type) -> Any:  # noqa: ANN401
    if type(value) is not kind:
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value


def _foreign(name: Any) -> Foreign:  # noqa: ANN401
    return Foreign("".join(filter(str.isprintable, _exact(name, str)[:100])))


def _int(text: Any) -> int:  # noqa: ANN401
    if len(_exact(text, str)) > LONGEST_INT // 4 + 3:
        raise ValueError("a very large int")
    return int(text, 16)


def _float(text: Any) -> float:  # noqa: ANN401
    return float.fromhex(_exact(text, str))


def _sizes(shape: Any) -> list[int]:  # noqa: ANN401
    sizes = [_exact(size, int) for size in _exact(shape, list)]
    if len(sizes) > MOST_DIMENSIONS or any(not 0 <= size <= 1 << 40 for size in sizes):
        raise ValueError(f"no shape: {shape}")
    return sizes


def _dtype_name(tensor: Tensor) -> str:
    name = str(tensor.dtype).removeprefix("torch.")
    return name if name in DTYPES else ""


def _flat(dtype: str, content: bytearray) -> Tensor:
    import torch  # noqa: PLC0415

    if dtype not in DTYPES:
        raise ValueError(f"no dtype: {dtype}")
    kind = getattr(torch, dtype)
    return torch.frombuffer(content, dtype=kind) if content else torch.empty(0, dtype=kind)


def _placeholder(layout: str, device: str, shape: list[int]) -> Tensor:
    """Make an empty tensor of the same kind: a check says what it is, and never reads it."""
    import torch  # noqa: PLC0415

    sizes = _sizes(shape)
    if device == "meta" or _exact(layout, str) == "torch.strided":
        return torch.empty(sizes, device="meta")
    return torch.empty(sizes, layout=torch.sparse_coo)


def _bytes_at(address: int, size: int) -> bytes:
    return ctypes.string_at(address, size) if size else b""
