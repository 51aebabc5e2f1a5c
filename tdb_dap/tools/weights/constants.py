"""Constants of a language model's nets: their words in the bmodel, and the tensor that they were made of."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
from msgspec import Struct

from tdb_dap.engine.bmodel import Bmodel, Stage
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.hardware.dtypes import BF16, F8E4M3, F8E5M2, F16, F32, Array, DType
from tdb_dap.engine.source.mlir_attributes import integer
from tdb_dap.engine.source.mlir_file import MlirFile, MlirOp

_TYPE = re.compile(r"-> tensor<((?:\d+x)*)([^,>]+?), (\d+) : i64>")
_FLOAT = re.compile(r"(.+\.(?:weight|bias))((?:_\d+_\d+)*)_(?:bf16|f16|f32)((?:_\d+_\d+)*)")
_DEQUANTISED = re.compile(r"_dequant(?:_(?:bf16|f16))?$")
_FORMAT = re.compile(r"_(?:bf16|f16|f32)$")
_PLAIN = re.compile(r"(.+\.(?:weight|bias))((?:_\d+_\d+)*)")
_PART = re.compile(r"_(\d+)_(\d+)")
_FORMATS: Mapping[str, DType] = {"bf16": BF16, "f16": F16, "f32": F32, "f8E4M3FN": F8E4M3, "f8E5M2": F8E5M2}
_WORDS: Mapping[str, type[np.generic]] = {
    "ui8": np.uint8,
    "si8": np.int8,
    "i8": np.int8,
    "i32": np.int32,
    "si32": np.int32,
}
_BYTES = ("ui8", "si8", "i8")


class Words(Struct, frozen=True):
    """A constant as it is in the file. ``shape`` and ``type`` as final.mlir has them; ``part``: axis and first index
    of a part of a larger constant, such as that of one core.
    """

    name: str
    line: int
    shape: tuple[int, ...]
    type: str
    held: Array
    part: tuple[int, int] | None = None

    @property
    def numbers(self) -> Array:
        """Stored numbers in the shape of the constant: float32 of float formats, else the words."""
        if self.type in _FORMATS:
            dtype = _FORMATS[self.type]
            words = self.held.view(f"<u{dtype.itemsize}").reshape(self.shape)
            return dtype.decode(words.astype(dtype.bits_dtype)).astype(np.float32)
        return self.held.view(_WORDS[self.type]).reshape(self.shape)

    @property
    def dtype(self) -> DType | None:
        """Float format; None for words."""
        return _FORMATS.get(self.type)


class Constant(Struct, frozen=True):
    """A constant of a net. ``tensor``: name of the one that it was made of; ``line``: in the net's final.mlir."""

    net: str
    tensor: str
    line: int


class FloatConstant(Constant, frozen=True):
    """Numbers that were only rounded to a float format."""

    words: Words


class QuantisedConstant(Constant, frozen=True, dict=True):
    """A matrix (outputs, inputs) in ``bits`` bits with a scale and a zero point for each group of a row.

    ``rows``: first row and ``columns``: first column of this part in the whole matrix; ``is_paired``: a constant holds
    zero points and scales in turn, row by row, instead of one constant for each, spread over the lanes.
    """

    bits: int
    packed: Words
    scale_words: Words
    zero_words: Words | None
    rows: int = 0
    columns: int = 0
    is_paired: bool = False

    @cached_property
    def levels(self) -> Array:
        """Stored numbers, uint8 or int8 (outputs, inputs)."""
        stored = self.packed.numbers
        if self.bits != 4:
            return stored
        unpacked = np.empty((stored.shape[0], 2 * stored.shape[1]), np.uint8)
        unpacked[:, 0::2], unpacked[:, 1::2] = stored & 15, stored >> 4
        return unpacked

    @cached_property
    def scales(self) -> Array:
        """float32 (outputs, groups)."""
        if self.is_paired:
            return self.scale_words.numbers.reshape(len(self.levels), -1)[:, 1::2]
        return _by_row(self.scale_words.numbers, len(self.levels)).astype(np.float32)

    @cached_property
    def zeros(self) -> Array:
        """Zero points, float32 (outputs, groups)."""
        if self.is_paired:
            return self.scale_words.numbers.reshape(len(self.levels), -1)[:, 0::2]
        if self.zero_words is None:
            return np.zeros_like(self.scales)
        return _by_row(self.zero_words.numbers, len(self.levels)).astype(np.float32)

    @property
    def group(self) -> int:
        """Numbers of a row with one scale."""
        return self.levels.shape[1] // self.scales.shape[1]

    def numbers(self) -> Array:
        """Dequantised, float32 (outputs, inputs)."""
        rows, columns = self.levels.shape
        grouped = self.levels.reshape(rows, -1, self.group).astype(np.float32)
        return ((grouped - self.zeros[..., None]) * self.scales[..., None]).reshape(rows, columns)


class ScaledConstant(Constant, frozen=True):
    """A matrix (channels, numbers) of a network in 8 bits.

    ``levels``: its words as numbers; ``scales``: of each channel; ``half_step``: of a level, relative to it, and
    ``least_half_step``; ``largest``: level of the largest number; ``is_per_tensor``: the scale is that of all channels
    together; ``is_shift``: a scale is what a shift makes of those of operand and result, and may be larger than its
    numbers need.
    """

    levels: Array
    scales: Array
    half_step: float
    least_half_step: float
    largest: float
    is_per_tensor: bool = False
    is_shift: bool = False
    rows: int = 0
    columns: int = 0

    @property
    def zeros(self) -> Array:
        """Zero points: none."""
        return np.zeros_like(self.scales)

    @property
    def group(self) -> int:
        """Numbers of a channel with one scale: all."""
        return self.levels.shape[1]


class Untraced(Constant, frozen=True):
    """A constant of which it is not known how it was made. ``tensor``: its own name; ``why``: in a few words."""

    why: str


def constants(bmodel: Bmodel, nets: Mapping[str, Stage], sources: Mapping[str, Context | None]) -> Iterator[Constant]:
    """Constants of nets, each place in the file once; ``Untraced`` for a net without final.mlir as well."""
    seen: set[tuple[int, int]] = set()
    for net, stage in nets.items():
        context = sources.get(net)
        if not stage.weights.size:
            continue
        if context is None or context.mlir is None:
            yield Untraced(net, net, 0, "no final.mlir; convert with --debug")
            continue
        reader = Reader(net, stage, bmodel.bytes_of(stage.weights, "the weights"))
        for constant in reader.constants(MlirFile.read(context.mlir)):
            place = (stage.weights.start, constant.line)
            words = constant.words if isinstance(constant, FloatConstant) else getattr(constant, "packed", None)
            if words is not None:
                place = (stage.weights.start + reader.offsets[words.line], -1)
            if place not in seen:
                seen.add(place)
                yield constant


class Reader:
    """Constants of one net."""

    def __init__(self, net: str, stage: Stage, held: Array) -> None:
        self._net = net
        self._stage = stage
        self._held = held
        self.offsets: dict[int, int] = {}

    def constants(self, mlir: MlirFile) -> Iterator[Constant]:
        """All constants of the net of a language model."""
        used: set[int] = set()
        for op in mlir.ops.values():
            if op.name == "tpu.A16MatMul":
                constant, lines = self.quantised(op)
                used |= lines
                if constant is not None:
                    yield constant
        for op in mlir.ops.values():
            if op.name == "top.Weight" and op.line not in used:
                yield self._float(op)

    def _float(self, op: MlirOp) -> Constant:
        words = self.words(op)
        match = _FLOAT.fullmatch(op.location) or _PLAIN.fullmatch(op.location)
        if op.attributes.get("do_compress") is True:
            return Untraced(self._net, op.location, op.line, "compressed")
        if words is None or words.dtype is None:
            return Untraced(self._net, op.location, op.line, "in a format that is not known")
        if match is None:
            is_unpacked = _DEQUANTISED.search(op.location) is not None
            why = "the compiler has unpacked it again" if is_unpacked else "its name is not that of a weight"
            return Untraced(self._net, op.location, op.line, why)
        return FloatConstant(self._net, match[1], op.line, words)

    def quantised(self, op: MlirOp) -> tuple[Constant | None, set[int]]:
        """The matrix of a product with packed weights, and the lines of its constants; None if it has none."""
        operands = [self._operand(op, index) for index in range(1, min(4, len(op.operands)))]
        lines = {one.line for one in operands if one is not None}
        words = [self.words(one) if one is not None else None for one in operands]
        bits, group = int(op.attributes.get("weight_bits") or 0), int(op.attributes.get("q_group_size") or 0)
        known = len(words) >= 2 and words[0] is not None and words[1] is not None
        if not lines:
            return None, lines
        name = op.location
        first = words[0] if words else None
        is_known = known and bits in (4, 8) and op.attributes.get("w_transpose", True) is True
        if not is_known or first is None or len(first.shape) != 2 or first.type not in _BYTES or words[1] is None:
            return Untraced(
                self._net, name, op.line, f"{bits} bits in groups of {group}, laid out in an unknown way"
            ), lines
        rows = columns = 0
        if first.part is not None:
            name = re.sub(r"_\d+$", "", name)
            rows, columns = (first.part[1], 0) if first.part[0] == 0 else (0, first.part[1])
        columns *= 8 // bits
        zeros = words[2] if len(words) > 2 else None
        scales, inputs = words[1], first.shape[1] * 8 // bits
        pairs = scales.numbers.size * (group or inputs) == 2 * first.shape[0] * inputs
        is_paired = zeros is None and pairs
        made = QuantisedConstant(
            self._net, f"{name}.weight", op.line, bits, first, scales, zeros, rows, columns, is_paired
        )
        return made, lines

    def _operand(self, op: MlirOp, index: int) -> MlirOp | None:
        if op.region is None:
            return None
        matches = [one for one in op.region.outermost.definitions(op.operands[index]) if one.name == "top.Weight"]
        return matches[0] if len(matches) == 1 else None

    def words(self, op: MlirOp) -> Words | None:
        """Words of a constant; None where they are outside of the file's, or in an unknown format."""
        match = _TYPE.search(op.text)
        if match is None or (match[2] not in _FORMATS and match[2] not in _WORDS):
            return None
        shape = tuple(integer(extent) for extent in match[1].split("x")[:-1])
        size = _FORMATS[match[2]].itemsize if match[2] in _FORMATS else np.dtype(_WORDS[match[2]]).itemsize
        start = integer(match[3]) - self._stage.weights_address
        stop = start + math.prod(shape) * size
        if start < 0 or stop > self._held.size:
            return None
        self.offsets[op.line] = start
        name = _FORMAT.sub("", op.location)  # that of a rest that stays in floats is before the format
        part = _PART.findall(name)
        is_part = part and name.endswith("_".join(("", *part[-1])))
        where = (int(part[-1][0]), int(part[-1][1])) if is_part else None
        return Words(op.location, op.line, shape, match[2], self._held[start:stop], where)


def _by_row(numbers: Array, rows: int) -> Array:
    """(rows, groups) of scales that the compiler has spread over the lanes: (lanes, rows / lanes, groups)."""
    if numbers.ndim == 3 and numbers.shape[0] * numbers.shape[1] >= rows and numbers.shape[0] > 1:
        numbers = numbers.transpose(1, 0, 2).reshape(-1, numbers.shape[2])[:rows]
    return numbers.reshape(rows, -1)
