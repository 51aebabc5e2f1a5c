"""One op with its numbers, and the list of functions that compute ops."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.golden.formats import TensorType

_NAMED = re.compile(r"#\w+<(?:\w+ )?(\w+)>$")


class NoGolden(Exception):
    """An op cannot be computed here; the text says why."""


class Call(Struct, frozen=True):
    """One op: ``inputs`` are float64, dequantised, None where the op has none there.

    ``flushes``: whether subnormal results of f16 become zeros; ``variants``: other calls that the chip may compute.
    """

    name: str
    inputs: tuple[Array | None, ...]
    attributes: Mapping[str, Any]
    operand_types: tuple[TensorType | None, ...]
    result_types: tuple[TensorType | None, ...]
    flushes: bool = False
    variants: tuple[Call, ...] = ()

    def __getitem__(self, index: int) -> Array:
        """An operand that must be there."""
        array = self.optional(index)
        if array is None:
            raise NoGolden(f"operand {index} is missing")
        return array

    def optional(self, index: int) -> Array | None:
        """An operand; None if the op has none there."""
        return self.inputs[index] if index < len(self.inputs) else None

    def words(self, index: int) -> Array:
        """An operand as stored, without its zero point, float64."""
        kind = self.operand_types[index]
        return np.rint(self[index] / kind.scale) if kind is not None and kind.is_quantised else self[index]

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute; of ``#tpu<pool_mode Max>`` the word ``Max``."""
        value = self.attributes.get(name, default)
        if isinstance(value, str) and (match := _NAMED.match(value)) is not None:
            return match[1]
        return value

    def numbers(self, name: str, default: tuple[int, ...] = ()) -> list[int]:
        """An attribute that is a list of whole numbers."""
        value = self.attributes.get(name)
        return [int(number) for number in value] if isinstance(value, list) and value else list(default)

    def number(self, name: str, default: float = 0.0) -> float:
        value = self.attributes.get(name, default)
        return float(value) if isinstance(value, int | float) else default

    def flag(self, name: str) -> bool:
        return self.attributes.get(name) is True

    def axis(self, rank: int, name: str = "axis", default: int = 0) -> int:
        """An attribute that names an axis, from the front."""
        return int(self.number(name, default)) % max(1, rank)

    @property
    def result(self) -> TensorType | None:
        """Type of the first result."""
        return self.result_types[0] if self.result_types else None

    @property
    def is_integer(self) -> bool:
        """Whether the op itself computes with integers: its operand has a scale, its result one, too, or sums."""
        first = self.operand_types[0] if self.operand_types else None
        if self.name == "tpu.Cast" or self.result is None or first is None:
            return False
        return first.is_quantised and (self.result.is_quantised or self.result.storage in ("i32", "si32"))

    def relu(self, numbers: Array) -> Array:
        """The activation that the compiler has merged into an op."""
        if not self.flag("do_relu"):
            return numbers
        limit = self.number("relu_limit", -1)
        return np.clip(numbers, 0, limit if limit > 0 else None)


Golden = Callable[[Call], "Array | tuple[Array, ...]"]

_Function = TypeVar("_Function", bound="Callable[[Call], Array | tuple[Array, ...]]")

GOLDENS: dict[str, Golden] = {}
"""Op -> the function that computes it in float64."""

INTEGER: dict[str, Golden] = {}
"""Op -> what it computes where operands and result are quantised, before the last rounding."""

LINEAR = frozenset(
    f"{dialect}.{name}"
    for dialect in ("top", "tpu")
    for name in ("Conv", "Conv2D", "Conv1D", "Conv3D", "Deconv", "MatMul", "Scale", "BatchNorm", "A16MatMul")
)
"""Ops that sum up products of their first operand with weights."""


BOUNDED = frozenset(f"{dialect}.{name}" for dialect in ("top", "tpu") for name in ("NonZero", "Nms"))
"""Ops with as many results as they find: the compiler's shape is the most that there can be."""


def golden(*names: str, integer: bool = False) -> Callable[[_Function], _Function]:
    """Register a function for ops, in the dialects top and tpu unless the name has one."""

    def register(function: _Function) -> _Function:
        for name in names:
            for full in (name,) if "." in name else (f"top.{name}", f"tpu.{name}"):
                (INTEGER if integer else GOLDENS)[full] = function
        return function

    return register


def compute(call: Call) -> tuple[Array, ...]:
    """The results in float64: not rounded, but within what their formats hold; NoGolden if that is not known."""
    if any(kind is not None and kind.is_scaled_float for kind in (*call.operand_types, *call.result_types)):
        raise NoGolden("8-bit floats, whose scale is not in their type")
    function = INTEGER.get(call.name) if call.is_integer else None
    function = function or GOLDENS.get(call.name)
    if function is None:
        raise NoGolden("no golden function")
    try:
        with np.errstate(all="ignore"):
            arrays = function(call)
    except (ValueError, IndexError, TypeError, KeyError, OverflowError, MemoryError, np.exceptions.AxisError) as error:
        raise NoGolden(f"{error}"[:120]) from None
    results = arrays if isinstance(arrays, tuple) else (arrays,)
    if call.name in BOUNDED:
        return tuple(np.asarray(array, np.float64) for array in results)
    return tuple(
        _fitted(np.asarray(array, np.float64), kind)
        for array, kind in zip(results, (*call.result_types, *[None] * len(results)), strict=False)
    )


def _fitted(array: Array, kind: TensorType | None) -> Array:
    if kind is None:
        return array
    if kind.shape is not None and array.shape != kind.shape:
        if array.size != int(np.prod(kind.shape)):
            raise NoGolden(f"computed shape {array.shape}, the compiler says {kind.shape}")
        array = array.reshape(kind.shape)
    return kind.clipped(array)
