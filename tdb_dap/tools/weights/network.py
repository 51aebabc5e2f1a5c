"""Constants of a compiled network compared with the weights of its layers, without a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import partial

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import F8E4M3, Array, DType
from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.engine.source.element_types import ElementType, element_type
from tdb_dap.engine.source.mlir_attributes import split_top
from tdb_dap.engine.source.mlir_file import MlirFile, MlirOp
from tdb_dap.errors import BadInput
from tdb_dap.tools.weights.checking import WeightsReport
from tdb_dap.tools.weights.constants import (
    Constant,
    FloatConstant,
    QuantisedConstant,
    Reader,
    ScaledConstant,
    Untraced,
    Words,
)
from tdb_dap.tools.weights.guessing import UNKNOWN, Candidates, guess
from tdb_dap.tools.weights.layers import Layers, part_of
from tdb_dap.tools.weights.layouts import Factors, filters, float_factors, integer_factors, own_block
from tdb_dap.tools.weights.proving import WeightFault, best_reading, proved_float, proved_quantised, wrong_numbers

_FILTERED = ("top.Conv", "top.Deconv")
_WINDOWS = ("tpu.Conv2D",)
_RECURRENT = ("tpu.LSTM", "tpu.GRU")
"""Ops whose weights have their gates in an order of the chip's."""

_PRODUCTS = ("tpu.MatMul",)
_PACKED = "tpu.A16MatMul"
_BIAS_OF_PACKED = 4
_E4M3 = 448.0
"""Largest number of E4M3, which the largest number of a tensor becomes."""

_MOST_OTHERS = 64
_UNKNOWN_LAYOUT = "laid out in an unknown way"
_TABLE = "a table, not a weight"
_NO_SOURCE = "no layer has a weight of its name"


def check_network(program: CompiledProgram, layers: Layers, lines: Collection[int] | None = None) -> WeightsReport:
    """Compare the constants of a network with its layers' weights. ``lines``: only those that these ops take."""
    report = WeightsReport()
    mlir = program.source.mlir
    if mlir is not None:
        _Network(program, mlir, layers, report).check(lines)
    if lines is None:
        for name, own, given in layers.imported_otherwise():
            wrong = own != given
            first = int(np.flatnonzero(wrong)[0])
            text = guess(own[None], given[None], wrong[None])
            numbers = int(wrong.sum()), own.size, float(own[first]), float(given[first])
            report.faults.append(WeightFault(layers.path.name, name, 0, text, (first,), None, *numbers))
    return report


class _Network:
    """One check."""

    def __init__(self, program: CompiledProgram, mlir: MlirFile, layers: Layers, report: WeightsReport) -> None:
        self._mlir = mlir
        self._layers = layers
        self._report = report
        stage = program.stage
        self._net = program.net.name
        self._reader = Reader(self._net, stage, program.bmodel.bytes_of(stage.weights, "the weights"))
        self._done: set[int] = set()

    def check(self, lines: Collection[int] | None) -> None:
        """Judge the weights of each op; of what no op takes that is known, its name says what it is."""
        for op in self._mlir.ops.values():
            if lines is not None and op.line not in lines:
                continue
            if op.name == _PACKED:
                self._attempt(op, self._packed, op)
            for place in range(len(op.operands)) if op.name not in ("top.Weight", "tpu.Load") else ():
                weight = self._weight(op, place)
                if weight is not None and weight.line not in self._done:
                    self._done.add(weight.line)
                    self._attempt(weight, self._of_op, op, place, weight)

    def _attempt(self, op: MlirOp, judge: Callable[..., None], *arguments: object) -> None:
        """Judge a constant; in files whose numbers contradict each other it is not traced."""
        try:
            judge(*arguments)
        except (ValueError, IndexError, TypeError, ArithmeticError):
            self._untraced(op, "its shape, its op and its layer contradict each other")

    def _weight(self, op: MlirOp, place: int) -> MlirOp | None:
        """The constant that an operand is, or is loaded from."""
        producer = self._mlir.op_defining(op.operands[place], op.line)
        if producer is not None and producer.name == "tpu.Load" and producer.operands:
            producer = self._mlir.op_defining(producer.operands[0], producer.line)
        return producer if producer is not None and producer.name == "top.Weight" else None

    def _of_op(self, op: MlirOp, place: int, weight: MlirOp) -> None:
        words = self._reader.words(weight)
        if weight.attributes.get("do_compress") is True:
            self._untraced(weight, "compressed")
            return
        if words is None:
            self._untraced(weight, "in a format that is not known")
            return
        names = self._layers.names(op)
        at = 2 if op.name == _PACKED and place == _BIAS_OF_PACKED else place
        own = names[at] if at < len(names) else None
        name = self._layers.named(weight.location) or own
        numbers = self._layers.read(name) if name is not None else None
        if name is None or numbers is None:
            self._untraced(weight, _TABLE if weight.location.endswith("_table") else _NO_SOURCE)
        elif op.name in _RECURRENT and self._layers.named(weight.location) is None:
            self._untraced(weight, _UNKNOWN_LAYOUT)
        elif op.name in _WINDOWS and place == 1:
            self._filter(op, weight, words, name, numbers, names[2] if len(names) > 2 else None)
        elif op.name in _PRODUCTS and place == 1 and words.type not in ("f32", "f16", "bf16"):
            self._right(op, weight, words, name, numbers)
        elif op.name in _PRODUCTS and place == 2 and words.type != "f16":
            self._bias_of_product(op, weight, words, name, numbers)
        elif words.dtype is not None:
            self._float(FloatConstant(self._net, name, weight.line, words), numbers)
        else:
            self._untraced(weight, _UNKNOWN_LAYOUT)

    def _untraced(self, weight: MlirOp, why: str) -> None:
        self._report.untraced.append(Untraced(self._net, weight.location, weight.line, why))

    def _settle(self, constant: Constant, fault: WeightFault | None, size: int) -> None:
        """Count a constant; one of which nothing is understood and most numbers differ was made in an unknown way."""
        if fault is None:
            self._report.proven += 1
            self._report.numbers += size
        elif fault.guess == UNKNOWN and 2 * fault.wrong > fault.size:
            self._report.untraced.append(Untraced(self._net, constant.tensor, constant.line, _UNKNOWN_LAYOUT))
        else:
            self._report.faults.append(fault)

    def _others(self, name: str, shape: tuple[int, ...]) -> Candidates:
        return [
            (other, partial(self._matrix_of, other))
            for other in self._layers.like(shape)[:_MOST_OTHERS]
            if other != name
        ]

    def _matrix_of(self, name: str) -> Array:
        numbers = self._layers.read(name)
        assert numbers is not None
        return numbers.reshape(len(numbers), -1)

    def _float(self, constant: FloatConstant, numbers: Array) -> None:
        stored = constant.words.numbers
        part = part_of(constant.words.name)
        if part is not None and stored.size != numbers.size:
            extents = tuple(extent for extent in stored.shape if extent > 1)
            numbers = numbers.reshape([extent for extent in numbers.shape if extent > 1])
            constant = replace(constant, words=replace(constant.words, part=part, shape=extents))
        if constant.words.part is None and stored.size != numbers.size:
            self._report.untraced.append(Untraced(self._net, constant.tensor, constant.line, "its size is another"))
            return
        fault = proved_float(constant, numbers, self._others(constant.tensor, numbers.shape))
        is_cast = self._layers.named(constant.words.name) is not None
        if fault is not None and not is_cast and fault.wrong == fault.size:
            fault = replace(fault, guess=UNKNOWN)  # a pass may have folded a factor into it
        self._settle(constant, fault, stored.size)

    def _filter(self, op: MlirOp, weight: MlirOp, words: Words, name: str, numbers: Array, bias: str | None) -> None:
        """The filter of a convolution, with the biases and the factors that it may begin with."""
        layer = self._layers.attributes(op)
        groups = layer.get("group", 1)
        if self._layers.kind(op) not in _FILTERED:  # a scale and a bias of each channel
            numbers = numbers.reshape(-1, 1, 1, 1)
            groups = len(numbers)
        blocks = groups if isinstance(groups, int) and op.attributes.get("group", 1) == 1 else 1
        shape = (numbers.shape[0], numbers.shape[1] * blocks, *numbers.shape[2:])
        wanted = numbers.reshape(len(numbers), -1)
        constant = FloatConstant(self._net, name, weight.line, words)
        others = self._others(name, numbers.shape)
        lanes = words.shape[1] if len(words.shape) == 4 and words.shape[0] == 1 else words.shape[0]
        if op.attributes.get("coeff_merged") is not True:
            if words.dtype is not None:
                held = filters(words.numbers.reshape(lanes, -1), shape, False)
                pairs = [(own_block(matrix, blocks), wanted) for _, matrix in held]
                fault = best_reading(constant, pairs, words.dtype, wanted.size, others) if pairs else None
                if pairs:
                    self._settle(constant, self._at(fault, numbers.shape), wanted.size)
                    return
            self._untraced(weight, _UNKNOWN_LAYOUT)
            return
        made_of: list[tuple[int, ScaledConstant, Factors]] = []
        for header, matrix in filters(words.held.reshape(lanes, -1), shape, True):
            factors = _factors_of(header, len(numbers), words.dtype)
            made = _scaled(op, constant, factors, own_block(matrix, blocks), words.dtype) if factors else None
            if made is None or factors is None:
                continue
            made_of.append((wrong_numbers(made, wanted), made, factors))
            if not made_of[-1][0]:
                break
        if not made_of:
            self._untraced(weight, _UNKNOWN_LAYOUT)
            return
        made_of.sort(key=lambda reading: reading[0])
        # Where all is wrong, numbers agree by chance in a wrong layout: the first that is understood counts.
        judged = [(made, factors, proved_quantised(made, wanted, others)) for _, made, factors in made_of[:1]]
        for _, made, factors in made_of[1:]:
            first = judged[0][2]
            if first is None or 2 * first.wrong <= first.size or judged[-1][2] is None:
                break
            if judged[-1][2].guess != UNKNOWN:
                break
            judged.append((made, factors, proved_quantised(made, wanted, others)))
        known = (one for one in judged if one[2] is None or one[2].guess != UNKNOWN)
        made, factors, fault = next(known, judged[0])
        self._settle(constant, self._at(fault, numbers.shape), wanted.size)
        self._header(op, made, factors, bias, is_known=fault is None)

    def _at(self, fault: WeightFault | None, shape: tuple[int, ...], axis: int = 0) -> WeightFault | None:
        """A fault with its place in the layer's own array. ``axis``: that of the channels."""
        if fault is None or len(fault.first) != 2:
            return fault
        row, column = fault.first
        width = int(np.prod(shape)) // shape[0]
        flat = row * width + column if axis == 0 else column * width + row
        first = tuple(int(index) for index in np.unravel_index(flat, shape))
        text = re.sub(r"\b(?:row|group)(s?)\b", r"channel\1", fault.guess)
        return replace(fault, first=first, channel=row, group=None, guess=text)

    def _header(self, op: MlirOp, made: ScaledConstant, factors: Factors, name: str | None, is_known: bool) -> None:
        """Biases and zero points in front of a filter; those of a wrong filter (not ``is_known``) are not judged."""
        source, target = _ends(op)
        if source is None or target is None or not is_known:
            return
        bias = self._layers.read(name) if name is not None else None
        if made.largest == _E4M3:
            steps, unit = factors.biases, _reach(source) / _E4M3 * made.scales[:, 0]
            tolerance = np.abs(steps) * 1e-4 + 1e-6
        else:
            other = np.flatnonzero(factors.zeros != target.zero_point)
            if other.size:
                first = int(other[0])
                actual, right = int(factors.zeros[first]), target.zero_point
                text = f"zero point of its results off by {actual - right:+d}"
                self._report.faults.append(_fault(made, text, first, other.size, len(factors.zeros), actual, right))
            unit = source.scale * made.scales[:, 0]
            steps = factors.biases + made.levels.astype(np.float64).sum(1) * source.zero_point
            tolerance = np.full(len(steps), 1.0) + np.abs(steps) * 1e-3
        wanted = bias.reshape(-1) if bias is not None else np.zeros(len(steps), np.float32)
        if wanted.size == len(steps):
            constant = Constant(made.net, name or f"bias of {made.tensor}", made.line)
            self._biases(constant, steps, unit, tolerance, wanted)

    def _biases(self, constant: Constant, steps: Array, unit: Array, tolerance: Array, wanted: Array) -> None:
        """Biases in steps of ``unit`` against those before quantisation."""
        with np.errstate(all="ignore"):
            wrong = ~(np.abs(steps - wanted / unit) <= tolerance)
        if not wrong.any():
            self._report.proven += 1
            self._report.numbers += len(steps)
            return
        numbers = (steps * unit).astype(np.float32)
        text = guess(numbers[None], wanted[None], wrong[None])
        first = int(np.flatnonzero(wrong)[0])
        self._settle(
            constant,
            _fault(constant, text, first, int(wrong.sum()), len(steps), numbers[first], wanted[first]),
            len(steps),
        )

    def _right(self, op: MlirOp, weight: MlirOp, words: Words, name: str, numbers: Array) -> None:
        """The right matrix of a product in 8 bits, with one scale, or one for each output."""
        matrix = numbers.reshape(-1, numbers.shape[-1])
        scale = self._scale_of_product(op, weight, words)
        stored = words.numbers.reshape(-1, words.shape[-1])
        if words.dtype is not None and words.type == "f8E5M2":
            fault = proved_float(FloatConstant(self._net, name, weight.line, words), numbers)
            self._settle(FloatConstant(self._net, name, weight.line, words), fault, matrix.size)
            return
        if op.attributes.get("right_transpose") is True:
            stored = stored.T
        if self._layers.attributes(op).get("right_transpose") is True:
            matrix = matrix.T
        if scale is None or stored.shape != matrix.shape:
            self._untraced(weight, _UNKNOWN_LAYOUT)
            return
        scales = np.broadcast_to(np.asarray(scale, np.float32).reshape(-1, 1), (matrix.shape[1], 1))
        kind = _E4M3_LEVELS if words.dtype is not None else _INTEGERS
        levels = stored.T.astype(np.float32)
        per_tensor = np.size(scale) == 1
        is_shift = words.dtype is None and set(op.attributes.get("multipliers", ())) == {1}
        constant = ScaledConstant(self._net, name, weight.line, levels, scales, *kind, per_tensor, is_shift)
        fault = proved_quantised(constant, matrix.T)
        self._settle(constant, self._at(fault, matrix.shape, axis=1), matrix.size)

    def _scale_of_product(self, op: MlirOp, weight: MlirOp, words: Words) -> Array | None:
        """Scale of the right matrix, or the scales of its columns; None if it is not known."""
        if words.dtype is not None:
            listed = weight.attributes.get("scale")
            return np.asarray(listed, np.float64) if isinstance(listed, list) and listed else None
        source, target = _ends(op)
        factors, shifts = op.attributes.get("multipliers"), op.attributes.get("rshifts")
        if source is None or target is None or not source.is_quantised or not target.is_quantised:
            return None
        if not isinstance(factors, list) or not isinstance(shifts, list) or not factors:
            return None
        scale: Array = np.asarray(factors, np.float64) * 2.0 ** -np.asarray(shifts, np.float64)
        return scale * target.scale / source.scale

    def _bias_of_product(self, op: MlirOp, weight: MlirOp, words: Words, name: str, wanted: Array) -> None:
        right = self._weight(op, 1)
        held = self._reader.words(right) if right is not None else None
        source, _ = _ends(op)
        scale = self._scale_of_product(op, right, held) if right is not None and held is not None else None
        stored = words.numbers.reshape(-1).astype(np.float64)
        if words.dtype is not None and (scale is None or held is None or held.dtype is None or not _reach(source)):
            self._float(FloatConstant(self._net, name, weight.line, words), wanted)
            return
        if scale is None or held is None or source is None or wanted.size != stored.size:
            self._untraced(weight, _UNKNOWN_LAYOUT)
            return
        if words.dtype is not None:
            factor = np.broadcast_to(scale.reshape(-1), stored.shape) * _reach(source) / _E4M3
            constant = FloatConstant(self._net, name, weight.line, words)
            self._biases(constant, stored, factor, np.abs(stored) * 1e-4 + 1e-6, wanted.reshape(-1))
            return
        matrix = held.numbers.reshape(-1, held.shape[-1]).astype(np.float64)
        sums = matrix.sum(1 if op.attributes.get("right_transpose") is True else 0)
        if sums.size != stored.size:
            self._untraced(weight, _UNKNOWN_LAYOUT)
            return
        unit = source.scale * np.broadcast_to(np.asarray(scale, np.float64).reshape(-1), stored.shape)
        steps = stored + sums * source.zero_point
        constant = FloatConstant(self._net, name, weight.line, words)
        self._biases(constant, steps, unit, 1.0 + np.abs(steps) * 1e-3, wanted.reshape(-1))

    def _packed(self, op: MlirOp) -> None:
        """A matrix in 4 or 8 bits with scales of groups."""
        constant, lines = self._reader.quantised(op)
        self._done |= lines
        if not isinstance(constant, QuantisedConstant):
            self._report.untraced += [constant] if isinstance(constant, Untraced) else []
            return
        names = self._layers.names(op)
        name = names[1] if len(names) > 1 else None
        numbers = self._layers.read(name) if name is not None else None
        if name is None or numbers is None or numbers.ndim < 2:
            self._report.untraced.append(Untraced(self._net, constant.tensor, constant.line, _NO_SOURCE))
            return
        matrix = numbers.reshape(-1, numbers.shape[-1])
        matrix = matrix if self._layers.attributes(op).get("right_transpose") is True else matrix.T
        rows = constant.levels.shape[0]
        readings = [
            (fault.wrong if fault is not None else 0, start, fault)
            for start in range(0, max(1, len(matrix) - rows + 1), max(1, rows // _PARTS))
            for fault in [proved_quantised(replace(constant, tensor=name, rows=start), matrix)]
        ]
        readings.sort(key=lambda reading: reading[:2])
        wrong, start, fault = readings[0]
        if 2 * wrong > constant.levels.size:  # numbers of another part agree by chance
            known = (one for one in readings if one[2] is not None and one[2].guess != UNKNOWN)
            _, start, fault = next(known, readings[0])
        self._settle(replace(constant, tensor=name, rows=start), fault, constant.levels.size)


_PARTS = 8
"""Places in a row of parts that are tried for one whose name does not say which it is."""

_INTEGERS = (0.0, 0.5, 127.0)
_E4M3_LEVELS = (2.0**-4, 2.0**-10, _E4M3)
"""Half a step of a level relative to it, the least half step, and the level of the largest number."""


def _factors_of(header: Array, outputs: int, dtype: DType | None) -> Factors | None:
    """Factors and biases in front of a filter in 8 bits."""
    if dtype is None:
        return integer_factors(header, outputs)
    return float_factors(header, outputs) if dtype is F8E4M3 else None


def _scaled(
    op: MlirOp, constant: Constant, factors: Factors, levels: Array, dtype: DType | None
) -> ScaledConstant | None:
    """A filter in 8 bits with the scale of each channel, from the factors of its results; None if not known."""
    source, target = _ends(op)
    if source is None or target is None:
        return None
    named = constant.net, constant.tensor, constant.line
    if dtype is F8E4M3:
        if not _reach(source) or not _reach(target):
            return None
        scales = factors.scales[:, None] * _reach(target) / _reach(source)
        numbers = F8E4M3.decode(levels).astype(np.float32)
        return ScaledConstant(*named, numbers, scales.astype(np.float32), *_E4M3_LEVELS)
    if dtype is not None or not source.is_quantised or not target.is_quantised:
        return None
    scales = factors.scales[:, None] * target.scale / source.scale
    return ScaledConstant(*named, levels.view(np.int8).astype(np.float32), scales.astype(np.float32), *_INTEGERS)


def _ends(op: MlirOp) -> tuple[ElementType | None, ElementType | None]:
    """Formats of an op's first operand and result."""
    operands, _, results = op.types.rpartition(" -> ")
    return _format(operands), _format(results)


def _format(types: str) -> ElementType | None:
    """Number format of the first tensor of ``(tensor<...>, ...)``."""
    first = next(iter(split_top(types.strip().removeprefix("(").removesuffix(")"))), "")
    try:
        return element_type(first.strip().removeprefix("tensor<").lstrip("0123456789x"))
    except BadInput:
        return None


def _reach(kind: ElementType | None) -> float:
    """Largest number of a tensor in F8 by its calibration."""
    return max(map(abs, kind.calibrated), default=0.0) if kind is not None and kind.calibrated is not None else 0.0


def _fault(
    constant: Constant, text: str, first: int, wrong: int, size: int, actual: float, wanted: float
) -> WeightFault:
    line = constant.net, constant.tensor, constant.line
    return WeightFault(*line, text, (first,), None, wrong, size, float(actual), float(wanted))
