"""One level of the compilation: its ops, its weights, and what they compute."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import open_npz
from tdb_dap.engine.source.mlir_attributes import split_top
from tdb_dap.engine.source.mlir_file import MlirFile, MlirOp
from tdb_dap.errors import BadInput
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import chips
from tdb_dap.tools.golden.bounds import LEAST_F16
from tdb_dap.tools.golden.formats import TensorType, signature
from tdb_dap.tools.golden.integers import rounded_each
from tdb_dap.tools.golden.library import Call, NoGolden, compute

_ATTRIBUTE = 'module.weight_file = "'
_CHIP = re.compile(r'module\.chip = "(\w+)"')
_HOST = "tpu.GenericCpu"
_MOST_BETWEEN = 16
NOT_KNOWN = "is not known"
"""In the reason why an op cannot be computed: one of its operands is missing."""

_SOURCES = ("top.Weight", "top.None", "top.Input")
_NOTHING = ("top.None", "return", "func.return", "top.Weight", "tpu.Buffer")


class Missing(Struct, frozen=True):
    """An op that could not be computed, and why."""

    op: MlirOp
    reason: str


class Level:
    """A file of the compiler's, with its weights. ``title``: what the level is called.

    ``weights``: other ones than those of its file. Values have the names of their locations. BadInput if the file or
    its weights cannot be read.
    """

    def __init__(self, title: str, path: Path, weights: dict[str, Array] | None = None) -> None:
        self.title = title
        self.path = path
        self.mlir = MlirFile.read(path)
        self._weights: Mapping[str, Array] | None = weights

    @cached_property
    def weight_file(self) -> Path | None:
        """File of the weights that the module names; None if there is no such file."""
        for line in self.mlir.lines[:64]:
            start = line.find(_ATTRIBUTE)
            if start >= 0:
                name = line[start + len(_ATTRIBUTE) :].partition('"')[0]
                path = self.path.with_name(Path(name).name)
                return path if path.is_file() else None
        return None

    @property
    def weights(self) -> Mapping[str, Array]:
        """Arrays of the weight file by name; empty if there is none."""
        if self._weights is None:
            self._weights = open_npz(self.weight_file, defers=True, at_once=0) if self.weight_file is not None else {}
        return self._weights

    @cached_property
    def ops(self) -> tuple[MlirOp, ...]:
        """Operations that compute something, in the order of the text."""
        return tuple(op for op in self.mlir.ops.values() if op.name not in _NOTHING and op.results and "." in op.name)

    @cached_property
    def by_name(self) -> Mapping[str, MlirOp]:
        """The op that computes a tensor."""
        return {name: op for op in self.ops for name in names(op)}

    def operand_names(self, op: MlirOp) -> tuple[str, ...]:
        """Names of the tensors that an op reads, without weights and nothing."""
        producers = ((self.mlir.op_defining(value, op.line), value) for value in op.operands)
        return tuple(
            name_of(producer, value)
            for producer, value in producers
            if producer is not None and producer.name not in ("top.Weight", "top.None", "tpu.Buffer")
        )

    @cached_property
    def _chip(self) -> Chip | None:
        """The chip that the module names; None if it names none that is known."""
        match = next((match for line in self.mlir.lines[:64] if (match := _CHIP.search(line)) is not None), None)
        return chips().get(match[1].upper()) if match is not None else None

    @property
    def _is_narrow(self) -> bool:
        """Whether the chip computes f32 results in bfloat16."""
        return self._chip is not None and self._chip.narrow_floats

    def types(self, op: MlirOp) -> tuple[tuple[TensorType | None, ...], tuple[TensorType | None, ...]]:
        """Types of an op's operands and results, f32 as bfloat16 for a chip that computes it so."""
        operands, results = signature(op.types)
        if self._is_narrow and op.name.startswith("tpu.") and op.name != _HOST:
            results = tuple([_narrowed(kind) for kind in results])
        return operands, results

    def type_named(self, name: str) -> TensorType | None:
        """Type of the tensor of a name."""
        op = self.by_name.get(name)
        if op is None:
            return None
        kinds = self.types(op)[1]
        place = names(op).index(name)
        return kinds[place] if place < len(kinds) else None

    def weight(self, op: MlirOp) -> Array:
        """The numbers of a top.Weight in the shape of its type; NoGolden if the file does not have them."""
        stored = self.weights.get(op.location)
        if stored is None:
            raise NoGolden(f"weight {op.location} is not in {self.weight_file or 'its file'}")
        kind = next(iter(self.types(op)[1]), None)
        if kind is None or kind.shape is None:
            return wide(stored)
        if kind.storage == "bf16" and stored.dtype == np.uint16:
            stored = (stored.astype(np.uint32) << 16).view(np.float32)
        elif kind.storage == "f16" and stored.dtype == np.uint16:
            stored = stored.view(np.float16)
        if stored.size != int(np.prod(kind.shape)):
            raise NoGolden(f"weight {op.location} has {stored.size:,} numbers, not shape {kind.shape}")
        return wide(stored.reshape(kind.shape))

    def call(self, op: MlirOp, tensors: Mapping[str, Array]) -> Call:
        """An op with its operands taken from tensors by name; NoGolden if one is missing."""
        if op.bodies:
            raise NoGolden("holds other operations")
        operand_types, result_types = self.types(op)
        inputs: list[Array | None] = []
        for place, value in enumerate(op.operands):
            producer = self.mlir.op_defining(value, op.line)
            kind = operand_types[place] if place < len(operand_types) else None
            if producer is None:
                if op.name != "top.Input":
                    raise NoGolden(f"operand {value} is an argument")
                inputs.append(_shaped(tensors, op.location, kind))
            elif producer.name in ("top.None", "tpu.Buffer"):
                inputs.append(None)
            elif producer.name == "top.Weight":
                inputs.append(self.weight(producer))
            else:
                inputs.append(_shaped(tensors, name_of(producer, value), kind))
        attributes = op.attributes
        if self._is_narrow and op.name == "tpu.Cast" and all(self._is_input(value, op) for value in op.operands):
            attributes = {**attributes, "round_mode": "TowardsZero"}  # the runtime cuts inputs off
        call = Call(op.name, tuple(inputs), attributes, operand_types, result_types)
        return replace(call, variants=tuple(_variants(call, self._chip))) if self._chip is not None else call

    def _is_input(self, value: str, op: MlirOp) -> bool:
        producer = self.mlir.op_defining(value, op.line)
        return producer is not None and producer.name == "top.Input"

    def run(
        self, inputs: Mapping[str, Array], is_rounded: bool, ops: Sequence[MlirOp] | None = None
    ) -> tuple[dict[str, Array], list[Missing]]:
        """All tensors by name from the inputs, and the ops that could not be computed for lack of a golden.

        ``is_rounded``: each result as its format holds it: what is expected at this precision; else the ideal;
        ``ops``: only these.
        """
        tensors: dict[str, Array] = {name: wide(array) for name, array in inputs.items()}
        missing: list[Missing] = []
        for op in self.ops if ops is None else ops:
            try:
                call = self.call(op, tensors)
                results = compute(call)
            except NoGolden as reason:
                missing.append(Missing(op, str(reason)))
                continue
            kinds = call.result_types
            for place, (name, array) in enumerate(zip(names(op), results, strict=False)):
                kind = kinds[place] if place < len(kinds) else None
                mode = str(call.get("round_mode", "HalfAwayFromZero"))
                tensors[name] = _as_stored(call, array, kind, mode) if is_rounded and kind is not None else array
        return tensors, missing

    def from_nearest(self, name: str, tensors: Mapping[str, Array]) -> tuple[Array | None, tuple[MlirOp, ...]]:
        """A tensor computed from the nearest ones before it, each result in between rounded to its format.

        ``tensors``: those that are known, of which its own is not used. None where that is not possible; with the ops
        whose results are not known, the last one of them that of the tensor.
        """
        op = self.by_name.get(name)
        if op is None or op.name == "top.Input":
            return None, ()
        gap: list[MlirOp] = []
        queue = [op]
        while queue:
            one = queue.pop()
            if len(gap) > _MOST_BETWEEN:
                return None, ()
            if one not in gap:
                gap.append(one)
                before = (self.by_name.get(value) for value in self.operand_names(one) if value not in tensors)
                queue += [producer for producer in before if producer is not None]
        gap.sort(key=lambda one: one.line)
        read = {value for one in gap for value in self.operand_names(one)} - {name}
        arrays, missing = self.run({value: tensors[value] for value in read if value in tensors}, True, gap)
        return None if missing else arrays.get(name), tuple(gap)

    def inputs(self) -> Iterator[str]:
        """Names of the net's inputs."""
        return (op.location for op in self.ops if op.name == "top.Input")


def _variants(call: Call, chip: Chip) -> Iterator[Call]:
    """The op as a chip may compute it, though its text says something else."""
    if chip.gelu_by_tanh and call.get("mode") == "GELU":
        yield replace(call, attributes={**call.attributes, "approx_mode": "tanh"})
    kinds = (*call.operand_types, *call.result_types)
    if (
        chip.rules is not None
        and chip.rules.flushes_halves
        and any(k is not None and k.storage == "f16" for k in kinds)
    ):
        yield replace(call, inputs=tuple(map(_flushed, call.inputs, call.operand_types)), flushes=True)


def _flushed(array: Array | None, kind: TensorType | None) -> Array | None:
    """An operand with zeros in place of the subnormal numbers of f16."""
    if array is None or kind is None or kind.storage != "f16":
        return array
    return np.where(np.abs(array) < LEAST_F16, 0.0, array)


def _as_stored(call: Call, array: Array, kind: TensorType, mode: str) -> Array:
    """A result as its format holds it; of a quantised sum the operands are rounded, each after its factor."""
    each = rounded_each(call)
    return kind.clipped(each).reshape(array.shape) if each is not None else kind.stored(array, mode)


def _narrowed(kind: TensorType | None) -> TensorType | None:
    return replace(kind, storage="bf16") if kind is not None and kind.storage == "f32" else kind


def names(op: MlirOp) -> tuple[str, ...]:
    """Names of an op's results; a result without one gets the first and its number."""
    count = max(1, op.result_count)
    given = op.locations
    if len(given) == count or count == 1:
        return given[:count] if given else (f"line {op.line}",)
    return tuple(given[i] if i < len(given) else f"{op.location}#{i}" for i in range(count))


def name_of(op: MlirOp, value: str) -> str:
    """Name of the tensor that a value is."""
    return names(op)[op.result_index(value)]


def wide(array: Array) -> Array:
    """Numbers in float64; signalling NaNs of uninitialised memory become quiet ones."""
    with np.errstate(invalid="ignore"):
        return np.asarray(array, np.float64)


def _shaped(tensors: Mapping[str, Array], name: str, kind: TensorType | None) -> Array:
    array = tensors.get(name)
    if array is None:
        raise NoGolden(f"tensor {name} {NOT_KNOWN}")
    array = wide(array)
    if kind is not None and kind.shape is not None and array.shape != kind.shape:
        if array.size != int(np.prod(kind.shape)):
            raise NoGolden(f"tensor {name} has shape {array.shape}, not {kind.shape}")
        array = array.reshape(kind.shape)
    return array


def arguments(mlir: MlirFile, function: str = "main") -> tuple[str, ...]:
    """Types of a function's arguments."""
    definition = mlir.function_named(function)
    text = mlir.lines[definition.line - 1] if definition is not None else ""
    start = text.find("(")
    return tuple(split_top(text[start + 1 : text.find(") ->")])) if start >= 0 else ()


def opened(title: str, path: Path) -> Level | None:
    """A level, None if it cannot be read."""
    try:
        return Level(title, path)
    except BadInput:
        return None
