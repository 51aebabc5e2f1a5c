"""Functions on the host that a model names, with arguments by name.

They are given stored words, as they compare and copy them. Source of the rules: the vendor's runtime.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tdb_dap.engine.hardware.dtypes import BF16, F32, SI8, UI8, Array, DType
from tdb_dap.errors import NotSimulated

Arguments = Mapping[str, Any]


class HostTensor(NamedTuple):
    """Stored words of an input in its shape, and their format."""

    bits: Array
    dtype: DType

    @property
    def numbers(self) -> Array:
        return self.dtype.widen(self.bits)


class Room(NamedTuple):
    """Shape and format of an output."""

    shape: tuple[int, ...]
    dtype: DType


Function = Callable[[Sequence[HostTensor], Sequence[Room], Arguments], Sequence[Array]]
F = TypeVar("F", bound=Function)

FUNCTIONS: dict[str, Function] = {}
"""Functions by the name in the model; each gives the stored words of the outputs."""

_TILE = 256
"""Numbers of which the chip has found the largest one, before the host looks for its index."""


def host_function(name: str) -> Callable[[F], F]:
    """Declare that a function computes what the model calls ``name``."""

    def declare(function: F) -> F:
        FUNCTIONS[name] = function
        return function

    return declare


def call(name: str, inputs: Sequence[HostTensor], outputs: Sequence[Room], arguments: Arguments) -> list[Array]:
    """Stored words of the outputs; NotSimulated, with the arguments, where the function or a mode is not known."""
    function = FUNCTIONS.get(name)
    if function is None:
        listed = ", ".join(f"{key} = {value}" for key, value in arguments.items())
        raise NotSimulated(f"the host function {name}({listed[:200]}) is not simulated")
    try:
        made = function(inputs, outputs, arguments)
        return [bits.reshape(room.shape) for bits, room in zip(made, outputs, strict=True)]
    except KeyError as error:
        raise NotSimulated(f"the host function {name} has no argument {error}") from None
    except IndexError:
        counts = f"its inputs ({len(inputs)}) and outputs ({len(outputs)})"
        raise NotSimulated(f"the host function {name} does not fit {counts}") from None
    except (ValueError, TypeError) as error:
        raise NotSimulated(f"the host function {name}: its inputs do not fit together: {error}") from None


def _expect(count: int, room: Room) -> None:
    """Before anything is computed: the number of results is that of the output."""
    if count != math.prod(room.shape):
        raise ValueError(f"{count:,} numbers for an output of {math.prod(room.shape):,}")


@host_function("quant")
def quantise(inputs: Sequence[HostTensor], outputs: Sequence[Room], arguments: Arguments) -> list[Array]:
    """Floats times the scale, half away from zero, limited; or back: bytes times the scale, bfloat16 widened.

    As bfloat16: floats times ``_NEAREST``, cut off.
    """
    source, target = inputs[0], outputs[0].dtype
    _expect(source.bits.size, outputs[0])
    if arguments["to"] == "NONE" and target is F32:
        factor = np.float32(1) if source.dtype is BF16 else np.float32(_scale(arguments, 1 / 128))
        return [F32.encode(source.numbers.astype(np.float32) * factor)]
    if source.dtype is F32 and target is BF16:
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = source.numbers.astype(np.float32) * _NEAREST
        return [(scaled.view(np.uint32) >> np.uint32(16)).astype(np.uint16)]
    if source.dtype is not F32 or target not in (SI8, UI8):
        raise NotSimulated(f"quant of {source.dtype} as {target} is not simulated")
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = source.numbers * np.float32(_scale(arguments, 128))
    if np.isnan(scaled).any():
        raise NotSimulated("quant of NaN is undefined")
    # Limited first: a number near a half would be rounded by adding one, and float64 has room for both.
    limited = np.clip(scaled.astype(np.float64), target.minimum, target.maximum)
    return [target.encode(np.copysign(np.floor(np.abs(limited) + 0.5), limited))]


_NEAREST = np.float32(1.001957)
"""Factor of floats that are cut off to bfloat16: most of them are then rounded to nearest."""


def _scale(arguments: Arguments, steps: float) -> float:
    """The scale, or what follows from the largest number: ``steps`` of it, or its share."""
    if "threshold" in arguments:
        threshold = float(arguments["threshold"])
        return steps / threshold if steps > 1 else threshold * steps
    return float(arguments["scale"])


@host_function("argmax_v3")
def argmax(inputs: Sequence[HostTensor], outputs: Sequence[Room], arguments: Arguments) -> list[Array]:
    """Index of the largest number along the axis and all behind it, the first of equal ones; its value if asked for.

    The chip has found the largest of every 256; bfloat16 are compared as integers.
    """
    data, maxima = inputs
    axis = int(arguments["axis"])
    as_integers = np.int8 if data.dtype is SI8 else np.int16
    count = data.bits.shape[axis]
    tiles = -(-count // _TILE)
    outer = int(np.prod(data.bits.shape[:axis]))
    rows = np.ascontiguousarray(data.bits).view(as_integers).reshape(outer, count)
    largest = np.ascontiguousarray(maxima.bits).view(as_integers).reshape(outer, tiles)
    tile = largest.argmax(1)
    value = largest[np.arange(outer), tile]
    indices = np.empty(outer, np.float32)
    for row, (first, most) in enumerate(zip((tile * _TILE).tolist(), value.tolist(), strict=True)):
        equal = np.flatnonzero(rows[row, first : first + _TILE] == most)
        indices[row] = first + (equal[0] if equal.size else 0)
    if len(outputs) < 2:
        return [F32.encode(indices)]
    numbers = data.dtype.widen(value.view(data.dtype.bits_dtype)).astype(np.float32)
    factor = np.float32(1) if data.dtype is BF16 else np.float32(arguments.get("scale", 1.0))
    return [F32.encode(indices), F32.encode(numbers * factor)]


@host_function("embedding")
def embed(inputs: Sequence[HostTensor], outputs: Sequence[Room], arguments: Arguments) -> list[Array]:
    """Rows of a table by their numbers."""
    numbers, table = inputs
    if table.dtype is not outputs[0].dtype:
        raise NotSimulated(f"embedding of {table.dtype} as {outputs[0].dtype} is undefined")
    rows = table.bits.reshape(-1, table.bits.shape[1])
    _expect(numbers.bits.size * rows.shape[1], outputs[0])
    index = numbers.numbers.astype(np.int64).reshape(-1)
    if (index < 0).any() or (index >= rows.shape[0]).any():
        raise NotSimulated(f"embedding: a row is outside of 0 to {rows.shape[0] - 1}")
    return [rows[index]]


@host_function("softmax")
def softmax(inputs: Sequence[HostTensor], outputs: Sequence[Room], arguments: Arguments) -> list[Array]:
    """exp(x - largest) / sum along an axis, added in order in float32.

    The exponential is rounded correctly, which that of a C library nearly always is.
    """
    if inputs[0].dtype is not F32:
        raise NotSimulated(f"softmax of {inputs[0].dtype} is not simulated")
    _expect(inputs[0].bits.size, outputs[0])
    numbers = np.moveaxis(inputs[0].numbers, int(arguments["axis"]) % inputs[0].bits.ndim, 0)
    powers = np.exp((numbers - numbers.max(0)).astype(np.float64)).astype(np.float32)
    total = np.zeros(powers.shape[1:], np.float32)
    for part in powers:
        total = total + part
    return [F32.encode(np.moveaxis(powers / total, 0, int(arguments["axis"]) % inputs[0].bits.ndim))]


@host_function("interp")
def resize(inputs: Sequence[HostTensor], outputs: Sequence[Room], arguments: Arguments) -> list[Array]:
    """An image in another size: the nearest pixel, or between four of them with half a pixel as the centre."""
    mode = str(arguments["coordinate_transformation_mode"])
    source, (rows, columns) = inputs[0], outputs[0].shape[2:]
    _expect(math.prod(source.bits.shape[:2]) * rows * columns, outputs[0])
    if mode.startswith("nearest"):
        is_centred = mode == "nearest_half_pixel"
        row, column = (
            _nearest(size, wanted, is_centred)
            for size, wanted in zip(source.bits.shape[2:], (rows, columns), strict=True)
        )
        return [source.bits[:, :, row[:, None], column]]
    if mode not in ("half_pixel", "pytorch_half_pixel") or source.dtype is not F32:
        raise NotSimulated(f"interp of {source.dtype} with coordinate_transformation_mode = {mode} is not simulated")
    return [F32.encode(_bilinear(source.numbers, rows, columns, mode == "pytorch_half_pixel"))]


def _nearest(size: int, wanted: int, is_centred: bool) -> Array:
    step = np.float32(size) / np.float32(wanted)
    position = np.arange(wanted)
    if is_centred:
        return np.ceil((position + 0.5) * float(step) - 1.0).astype(np.int64)
    return (position.astype(np.float32) * step).astype(np.int64)


def _bilinear(numbers: Array, rows: int, columns: int, is_single_zero: bool) -> Array:
    (y1, y2, dy1, dy2), (x1, x2, dx1, dx2) = (
        _between(size, wanted, is_single_zero) for size, wanted in zip(numbers.shape[2:], (rows, columns), strict=True)
    )
    up, down = numbers[:, :, y1], numbers[:, :, y2]
    far, near = dy2[:, None], dy1[:, None]
    total = dx2 * far * up[..., x1] + dx1 * far * up[..., x2]
    result: Array = total + dx2 * near * down[..., x1] + dx1 * near * down[..., x2]
    return result


def _between(size: int, wanted: int, is_single_zero: bool) -> tuple[Array, Array, Array, Array]:
    """The two numbers around each result, and the distances to them, float32."""
    scale = np.float32(wanted) / np.float32(size)
    position = np.arange(wanted, dtype=np.float32)
    if scale != 1:
        is_zero = is_single_zero and wanted <= 1
        position = np.zeros_like(position) if is_zero else (position + np.float32(0.5)) / scale - np.float32(0.5)
    position = np.clip(position, np.float32(0), np.float32(size - 1))
    first = np.minimum(position.astype(np.int64), size - 1)
    second = np.minimum(first + 1, size - 1)
    after = np.where(first == second, np.float32(0.5), np.abs(position - first.astype(np.float32)))
    before = np.where(first == second, np.float32(0.5), np.abs(position - second.astype(np.float32)))
    return first, second, after, before
