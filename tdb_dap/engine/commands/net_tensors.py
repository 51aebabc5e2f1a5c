"""Tensors at the border of a net: where they lie, and numbers to and from their stored form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tdb_dap.engine.bmodel import SubnetInfo, TensorInfo
from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.engine.hardware.geometry import Geometry
from tdb_dap.engine.hardware.strides import contiguous, in_words
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.errors import BadInput


@dataclass(frozen=True)
class Tensor:
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

    def lower(self, numbers: Array, where: str) -> Array:
        """Stored words of the given numbers, as the compiler's runtime lowers inputs.

        Floats into 8 bits: clip(round half away(x * scale + zero point)); into wider integers: truncated; into bf16:
        the upper half of float32; into f16: rounded. BadInput names ``where`` if shape, type or a number do not fit:
        a finite number that would be infinite, or NaN where there are integers.
        """
        if numbers.dtype.kind not in "fiub":
            raise BadInput(f"{where}: {numbers.dtype} is not a number type; {self.name} needs {self.dtype}")
        if numbers.size != self.view.size:
            raise BadInput(
                f"{where}: shape {list(numbers.shape)} does not fit input {self.name} of shape {list(self.shape)}"
            )
        numbers = numbers.reshape(self.shape)
        if self.dtype.is_float:
            return self._lower_float(numbers, where)
        return self._lower_integer(numbers, where)

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
            return self.dtype.encode(np.clip(rounded, self.dtype.minimum, self.dtype.maximum))
        whole = np.trunc(numbers.astype(np.float64)) if numbers.dtype.kind == "f" else numbers
        if whole.size and (whole.min() < self.dtype.minimum or whole.max() > self.dtype.maximum):
            raise BadInput(
                f"{where}: values from {whole.min()} to {whole.max()} of type {numbers.dtype} do not fit "
                f"input {self.name} of type {self.dtype}"
            )
        return self.dtype.encode(whole)

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


def borders(info: SubnetInfo, geometry: Geometry) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Inputs and outputs of a subnet."""
    return tuple(Tensor.of(t, geometry) for t in info.inputs), tuple(Tensor.of(t, geometry) for t in info.outputs)
