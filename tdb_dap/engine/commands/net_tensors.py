"""Tensors at the border of a net: where they are, and numbers to and from their stored form."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.bmodel import SubnetInfo, TensorInfo
from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.engine.hardware.geometry import Geometry
from tdb_dap.engine.hardware.strides import contiguous, in_words, is_same_order, transposed_from
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.errors import BadInput
from tdb_dap.system.notices import notice


class Tensor(Struct, frozen=True):
    """An input or output. ``address`` is the device address, ``size`` in bytes."""

    name: str
    shape: tuple[int, ...]
    dtype: DType
    address: int
    size: int
    scale: float
    zero_point: int
    view: View

    @classmethod
    def of(cls, info: TensorInfo, geometry: Geometry) -> Tensor:
        space, offset = geometry.locate(info.address)
        layout, strides = Layout.CONTIGUOUS, contiguous(info.shape)
        if info.is_packed:
            layout, strides = Layout.CONTIGUOUS_XN, in_words(strides, info.dtype)
        view = View(space, offset, info.shape, info.dtype, layout, strides, geometry)
        return cls(info.name, info.shape, info.dtype, info.address, info.size, info.scale, info.zero_point, view)

    def in_shape(self, shape: tuple[int, ...]) -> Tensor:
        """The tensor of a run in another shape."""
        view = replace(self.view, shape=shape, strides=contiguous(shape))
        return replace(self, shape=shape, size=view.nbytes, view=view)

    def lower(self, numbers: Array, where: str) -> Array:
        """Stored words of the given numbers, as the compiler's runtime lowers inputs.

        Floats into 8 bits: clip(round half away(x * scale + zero point)); into wider integers: truncated; into bf16:
        the upper half of float32; into f16: rounded. BadInput names ``where`` if shape, type or a number do not fit:
        a finite number that would be infinite, NaN where there are integers, as many numbers in another layout. What
        share of the numbers is rounded or clipped by an input of plain integers is a remark.
        """
        if numbers.dtype.kind not in "fiub":
            raise BadInput(f"{where}: {numbers.dtype} is not a number type; {self.name} needs {self.dtype}")
        if not is_same_order(numbers.shape, self.shape):
            raise BadInput(
                f"{where}: shape {list(numbers.shape)} does not fit input {self.name} of shape {list(self.shape)}"
                f"{self._way_out(numbers.shape)}"
            )
        numbers = numbers.reshape(self.shape)
        if self.dtype.is_float:
            return self._lower_float(numbers, where)
        return self._lower_integer(numbers, where)

    def _way_out(self, shape: tuple[int, ...]) -> str:
        """Advice on an array of the right size in another layout; empty where nothing is known."""
        order = transposed_from(shape, self.shape)
        if order is not None:
            return f": the same axes in another order; give the array.transpose({', '.join(map(str, order))})"
        return ": as many numbers in another layout" if prod(shape) == self.view.size else ""

    def _lower_float(self, numbers: Array, where: str) -> Array:
        with np.errstate(over="ignore"):
            wide = numbers.astype(np.float32)
        if self.dtype.name == "bf16":
            words: Array = (wide.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
        else:
            words = self.dtype.encode(wide)
        lost = np.isfinite(numbers) & np.isinf(self.dtype.widen(words))
        if lost.any():
            raise BadInput(
                f"{where}: {np.count_nonzero(lost):,} of {lost.size:,} numbers are too large for input {self.name} of "
                f"type {self.dtype}, the first is {numbers[lost][0]:g}"
            )
        return words

    def _lower_integer(self, numbers: Array, where: str) -> Array:
        if numbers.dtype == self.dtype.numpy:
            return numbers.view(self.dtype.bits_dtype)
        if np.isnan(numbers).any():
            raise BadInput(f"{where}: holds NaN, which input {self.name} of type {self.dtype} cannot be")
        if numbers.dtype.kind == "f" and self.dtype.itemsize == 1:
            with np.errstate(over="ignore"):  # what is infinite is clipped
                scaled = numbers.astype(np.float32) * np.float32(self.scale) + np.float32(self.zero_point)
            rounded = np.copysign(np.floor(np.abs(scaled) + np.float32(0.5)), scaled)
            self._remark_changes(scaled, rounded, where)
            return self.dtype.encode(np.clip(rounded, self.dtype.minimum, self.dtype.maximum))
        integers = np.trunc(numbers.astype(np.float64)) if numbers.dtype.kind == "f" else numbers
        if integers.size and (integers.min() < self.dtype.minimum or integers.max() > self.dtype.maximum):
            raise BadInput(
                f"{where}: values from {integers.min()} to {integers.max()} of type {numbers.dtype} do not fit "
                f"input {self.name} of type {self.dtype}"
            )
        self._remark_changes(numbers, integers, where)
        return self.dtype.encode(integers)

    def _remark_changes(self, numbers: Array, integers: Array, where: str) -> None:
        """Remark which share of ``numbers``, in steps of the input, is not what the input can hold.

        Rounding is what a scaled input is for, and so is clipping by one step at the end of its range.
        """
        is_plain = self.scale == 1 and self.zero_point == 0
        least, most = self.dtype.minimum, self.dtype.maximum
        slack = 0 if is_plain else 1
        clipped = int(np.count_nonzero((integers < least - slack) | (integers > most + slack)))
        fractions = int(np.count_nonzero(numbers != integers)) if is_plain else 0
        if not clipped and not fractions:
            return
        low, high = float(numbers.min()), float(numbers.max())
        parts = [(fractions, "are rounded" if self.dtype.itemsize == 1 else "are truncated"), (clipped, "are clipped")]
        if fractions and low >= 0 and high <= 1:
            parts = [(numbers.size, "become 0 or 1" if integers.any() else "become 0")]
        shares = " and ".join(f"{_percent(count, numbers.size)} {change}" for count, change in parts if count)
        steps = "" if is_plain else " steps"
        notice(
            f"input {self.name} is {self.dtype} ({least} to {most}), {where} gives {low:g} to {high:g}{steps}: of the "
            f"values {shares}"
        )

    def given(self, bits: Array) -> Array:
        """Numbers that ``lower`` makes the stored words of an input from: (q - zero point) / scale, float32.

        The compiler's scale of an input is that from numbers to words; that of an output is the other way round.
        """
        numbers: Array = self.dtype.widen(bits)
        if self.dtype.is_float or (self.scale in (0.0, 1.0) and self.zero_point == 0):
            return numbers
        result: Array = (numbers.astype(np.float32) - np.float32(self.zero_point)) / np.float32(self.scale or 1.0)
        return result

    def holds(self, bits: Array, numbers: Array) -> bool:
        """Whether stored words of a scaled integer input stand for numbers, each within one step."""
        if self.dtype.is_float or self.scale in (0.0, 1.0):
            return False
        wanted = np.asarray(numbers, np.float64).reshape(-1) * self.scale + self.zero_point
        words = self.dtype.widen(bits).reshape(-1)
        return bool((np.abs(words - np.clip(wanted, self.dtype.minimum, self.dtype.maximum)) <= 1).all())

    def raise_(self, bits: Array) -> Array:
        """Numbers of stored words: (q - zero point) * scale in float32 for scaled integers; floats widened."""
        numbers: Array = self.dtype.widen(bits)
        if self.dtype.is_float:
            return numbers
        if self.scale == 1.0 and self.zero_point == 0:
            return numbers
        centred = numbers.astype(np.float32) - np.float32(self.zero_point)
        result: np.ndarray[Any, np.dtype[Any]] = centred * np.float32(self.scale)
        return result


def _percent(count: int, size: int) -> str:
    """A share in percent, never 0 for something and never 100 for less than all."""
    share = 100 * count / size
    if count == size:
        return "100 %"
    return f"{min(max(share, 0.1), 99.9):.1f} %"


def borders(info: SubnetInfo, geometry: Geometry) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Inputs and outputs of a subnet."""
    return tuple(Tensor.of(t, geometry) for t in info.inputs), tuple(Tensor.of(t, geometry) for t in info.outputs)
