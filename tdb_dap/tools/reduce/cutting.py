"""A few ops of a level as a module of their own: what they read from others becomes its inputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct, field

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.source.mlir_attributes import closing, split_top
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.errors import BadInput
from tdb_dap.tools.golden.bounds import HALF
from tdb_dap.tools.golden.formats import TensorType, tensor_type
from tdb_dap.tools.golden.level import Level, name_of, names

_VALUE = re.compile(r"%[\w.$-]+(?:#\d+)?")
_LOCATION = re.compile(r"\s*loc\([^()]*\)\s*$")
_EXTENTS = re.compile(r"^tensor<(?:\d+x)*")
_CONSTANTS = ("top.Weight", "top.None", "tpu.Buffer")
_CAST = '"tpu.Cast"({0}) {{round_mode = #tpu<round_mode HalfAwayFromZero>, with_scale = true}} : ({1}) -> {2}'

Shape = tuple[int, ...]


class Read(Struct, frozen=True):
    """A value that the ops read and do not compute: its tensor's ``name`` and the text of its type."""

    value: str
    name: str
    kind: str

    @property
    def given(self) -> str:
        """Name of the input that holds it: another one where the input is cast to the type first."""
        return f"{self.name}_given" if _is_cast(tensor_type(self.kind)) else self.name


class Part(Struct, frozen=True):
    """Some ops of one function of a level. ``inputs``: numbers of the tensors that they read from others, by name.

    ``weights``: as stored, by name; ``shapes``: of values that are not what the level's text says; ``is_sharing``:
    whether an input that other ops of the whole read, too, is an output as well: compilers look at how many readers a
    tensor has.
    """

    level: Level
    ops: tuple[MlirOp, ...]
    inputs: Mapping[str, Array]
    weights: Mapping[str, Array]
    shapes: Mapping[str, Shape] = field(default_factory=dict[str, Shape])
    is_sharing: bool = False

    @property
    def reads(self) -> tuple[Read, ...]:
        return tuple(reads(self.level, self.ops))

    @property
    def titles(self) -> tuple[str, ...]:
        """Names of the ops."""
        return tuple(op.name for op in self.ops)

    def given(self) -> dict[str, Array]:
        """The inputs as the module takes them, float32 or whole numbers."""
        return {read.given: self.inputs[read.name] for read in self.reads}

    def text(self, weight_file: str) -> str:
        """The module. Values that ops outside read, too, are outputs like those that nothing inside reads."""
        outside = self.reads
        renamed = {read.value: f"%in{number}" for number, read in enumerate(outside)}
        header = next(line for line in self.level.mlir.lines if line.startswith("module"))
        body = [re.sub(r'module\.weight_file = "[^"]*"', f'module.weight_file = "{weight_file}"', header), ""]
        arguments = []
        for number, read in enumerate(outside):
            kind = self._kind(read.value, read.kind)
            plain = _plain(kind)
            arguments.append(f"%arg{number}: {plain} loc(unknown)")
            source = f'"top.Input"(%arg{number}) {{do_preprocess = false}} : ({plain}) -> '
            if read.given == read.name:
                body.append(f'    %in{number} = {source}{kind} loc("{read.name}")')
            else:
                held = _calibrated(kind)
                body.append(f'    %given{number} = {source}{held} loc("{read.given}")')
                body.append(f'    %in{number} = {_CAST.format(f"%given{number}", held, kind)} loc("{read.name}")')
        for op in sorted((*_constants(self.level, self.ops), *self.ops), key=lambda op: op.line):
            line = _LOCATION.sub("", self.level.mlir.lines[op.line - 1].rstrip())
            line = line.replace(op.types, self._types(op)) if self.shapes else line
            body.append(_VALUE.sub(lambda match: renamed.get(match[0], match[0]), line) + _location(op))
        results = []
        for number, (value, name, kind) in enumerate(self._outputs()):
            value, kind = renamed.get(value, value), self._kind(value, kind)
            if _is_cast(tensor_type(kind)):
                body.append(f'    %out{number} = {_CAST.format(value, kind, _plain(kind))} loc("{name}_f32")')
                value, kind = f"%out{number}", _plain(kind)
            results.append((value, kind))
        kinds = [kind for _, kind in results]
        returned = kinds[0] if len(kinds) == 1 else f"({', '.join(kinds)})"
        body[1] = f"  func.func @main({', '.join(arguments)}) -> {returned} {{"
        body.append(f"    return {', '.join(value for value, _ in results)} : {', '.join(kinds)} loc(unknown)")
        return "\n".join([*body, "  } loc(unknown)", "} loc(unknown)", ""])

    def _outputs(self) -> Iterator[tuple[str, str, str]]:
        """Value, tensor's name and type of each output."""
        inside = {value for op in self.ops for value in op.operands}
        own = {op.line for op in self.ops}
        others = {value for op in self.level.mlir.ops.values() if op.line not in own for value in op.operands}
        if self.is_sharing:
            for read in self.reads:
                if read.value in others and not _is_cast(tensor_type(read.kind)):
                    yield read.value, read.name, read.kind
        for op in self.ops:
            for number, kind in enumerate(kinds_of(op)[1]):
                value = _result(op, number)
                if kind != "none" and (value not in inside or value in others):
                    yield value, name_of(op, value), kind

    def _kind(self, value: str, kind: str) -> str:
        return reshaped(kind, self.shapes[value]) if value in self.shapes else kind

    def _types(self, op: MlirOp) -> str:
        operands, results = kinds_of(op)
        before = ", ".join(self._kind(value, kind) for value, kind in zip(op.operands, operands, strict=False))
        after = [self._kind(_result(op, number), kind) for number, kind in enumerate(results)]
        return f"({before}) -> {after[0] if len(after) == 1 else '(' + ', '.join(after) + ')'}"


def part(level: Level, ops: Sequence[MlirOp], tensors: Mapping[str, Array], is_sharing: bool = False) -> Part:
    """These ops of one function alone. ``tensors``: what was computed at the level; BadInput if one is missing."""
    chosen = tuple(sorted(ops, key=lambda op: op.line))
    inputs: dict[str, Array] = {}
    for read in reads(level, chosen):
        if read.name not in tensors:
            raise BadInput(f"{level.path}: tensor {read.name} is not known; compile with --test_input, --test_result")
        array, kind = np.asarray(tensors[read.name]), tensor_type(read.kind)
        array = array.astype(np.int32 if kind is not None and _is_whole(kind) else np.float32)
        has_shape = kind is not None and kind.shape is not None and array.size == int(np.prod(kind.shape))
        inputs[read.name] = array.reshape(kind.shape) if has_shape and kind is not None and kind.shape else array
    weights: dict[str, Array] = {}
    for op in _constants(level, chosen):
        if op.location in level.weights:
            kind = tensor_type(kinds_of(op)[1][0])
            stored = level.weights[op.location]
            fits = kind is not None and kind.shape is not None and stored.size == int(np.prod(kind.shape))
            weights[op.location] = stored.reshape(kind.shape) if fits and kind is not None and kind.shape else stored
    return Part(level, chosen, inputs, weights, is_sharing=is_sharing)


def reads(level: Level, ops: Sequence[MlirOp]) -> list[Read]:
    """Values that the ops read from others, each once."""
    inside = {value for op in ops for value in op.results}
    by_name: dict[str, Read] = {}
    for op in ops:
        for value, kind in zip(op.operands, kinds_of(op)[0], strict=False):
            producer = level.mlir.op_defining(value, op.line)
            if producer is not None and producer.name not in _CONSTANTS and value.partition("#")[0] not in inside:
                by_name.setdefault(value, Read(value, name_of(producer, value), kind))
    return list(by_name.values())


def kinds_of(op: MlirOp) -> tuple[list[str], list[str]]:
    """Texts of the types of an op's operands and results."""
    end = closing(op.types, 0)
    results = op.types[end + 1 :].partition("->")[2].strip()
    return split_top(op.types[1:end]), split_top(results[1:-1]) if results.startswith("(") else [results]


def reshaped(kind: str, shape: Shape) -> str:
    """The text of a tensor's type with another shape."""
    return _EXTENTS.sub("tensor<" + "".join(f"{extent}x" for extent in shape), kind)


def _result(op: MlirOp, number: int) -> str:
    return op.results[number] if number < len(op.results) and len(op.results) > 1 else _only(op, number)


def _only(op: MlirOp, number: int) -> str:
    return op.results[0] if op.result_count == 1 else f"{op.results[0].partition(':')[0]}#{number}"


def _location(op: MlirOp) -> str:
    if not op.location:
        return " loc(unknown)"
    own = ", ".join(f'"{name}"' for name in names(op))
    return f" loc(fused[{own}])" if len(names(op)) > 1 else f" loc({own})"


def _constants(level: Level, ops: Sequence[MlirOp]) -> list[MlirOp]:
    constants = {}
    for op in ops:
        for value in op.operands:
            producer = level.mlir.op_defining(value, op.line)
            if producer is not None and producer.name in _CONSTANTS:
                constants[producer.line] = producer
    return list(constants.values())


def _is_cast(kind: TensorType | None) -> bool:
    """Whether a tensor goes into and out of a module as float32, and is cast inside."""
    return kind is not None and (kind.is_quantised or kind.storage in HALF)


def _is_whole(kind: TensorType) -> bool:
    return not kind.is_quantised and kind.limits is not None


def _plain(kind: str) -> str:
    """The type of a module's argument or result."""
    plain = tensor_type(kind)
    if plain is None or plain.shape is None or _is_whole(plain):
        return kind
    return reshaped("tensor<f32>", plain.shape)


def _calibrated(kind: str) -> str:
    """The type of an input that is cast to this type: with the range of numbers that it holds."""
    quantized = tensor_type(kind)
    assert quantized is not None
    if quantized.bounds is None or quantized.shape is None:
        return _plain(kind)
    low, high = quantized.bounds
    low = low if quantized.zero_point else -high
    return reshaped(f"tensor<!quant.calibrated<f32<{low!r}:{high!r}>>>", quantized.shape)
