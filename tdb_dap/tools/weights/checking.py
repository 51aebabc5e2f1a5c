"""All constants of a language model compared with the model before conversion, one by one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from tdb_dap.engine.bmodel import Bmodel, Stage
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.system.progress import SILENT, Progress
from tdb_dap.tools.float_model.model import FloatModel
from tdb_dap.tools.float_model.vision_config import ENCODER
from tdb_dap.tools.weights.constants import Constant, FloatConstant, QuantisedConstant, Untraced, constants
from tdb_dap.tools.weights.guessing import Candidates
from tdb_dap.tools.weights.proving import WeightFault, proved_float, proved_quantised
from tdb_dap.tools.weights.vision import is_table, vision_weight

_BLOCK = re.compile(r"block(?:_cache|_kv)?_(\d+)")
_CUT = re.compile(r"(.+)_0\.weight")
"""A product whose first outputs are a multiple of the lanes, packed; the rest stays in floats."""

_EXPERT = ".experts.expert_id."
_TABLES = ("rotary_cos.weight", "rotary_sin.weight")
_MOST_OTHERS = 64
"""Tensors that are tried as those that a wrong constant holds."""


class WeightsReport(Struct):
    """Constants by verdict. ``numbers``: how many were proven; ``quantised``: the proven ones, by tensor."""

    proven: int = 0
    numbers: int = 0
    faults: list[WeightFault] = field(default_factory=list)
    untraced: list[Untraced] = field(default_factory=list)
    quantised: dict[str, list[QuantisedConstant]] = field(default_factory=dict)
    rests: dict[str, int] = field(default_factory=dict)
    """Numbers by tensor that are proven and only rounded, such as those beyond the last group of a quantised matrix."""
    source: Callable[[str], Array] | None = None

    @property
    def wrong_tensors(self) -> set[str]:
        """Tensors of which a constant is wrong."""
        return {fault.tensor for fault in self.faults}

    def dequantised(self, tensor: str) -> Array | None:
        """Numbers that the bmodel holds of a weight, float32; None where it is not quantised, or not proven.

        A part that no constant holds is None as a whole: half of a matrix is not compared with. The rest of a matrix
        that stays in floats is that of the model before conversion.
        """
        parts = self.quantised.get(tensor)
        if not parts or tensor in self.wrong_tensors:
            return None
        matrix = self.source(tensor).copy() if self.source is not None else np.zeros((0, 0), np.float32)
        covered = np.zeros(matrix.shape, bool)
        for one in parts:
            place = np.s_[one.rows : one.rows + one.levels.shape[0], one.columns : one.columns + one.levels.shape[1]]
            matrix[place], covered[place] = one.numbers(), True
        return matrix if covered.size - int(covered.sum()) <= self.rests.get(tensor, 0) else None


def check_weights(
    bmodel: Bmodel,
    nets: Mapping[str, Stage],
    sources: Mapping[str, Context | None],
    float_model: FloatModel,
    progress: Progress = SILENT,
) -> WeightsReport:
    """Compare every constant of the nets with its weight in float. Memory: a few copies of the largest tensor."""
    wanted = Wanted(float_model)
    report = WeightsReport(source=wanted.read)
    progress.start(sum({stage.weights.start: stage.weights.size for stage in nets.values()}.values()))
    done = 0
    for constant in constants(bmodel, nets, sources):
        judge(constant, wanted, report)
        done += _size(constant)
        progress.update(done)
    progress.clear()
    return report


def _size(constant: Constant) -> int:
    if isinstance(constant, FloatConstant):
        return constant.words.held.size
    return constant.packed.held.size if isinstance(constant, QuantisedConstant) else 0


def judge(constant: Constant, wanted: Wanted, report: WeightsReport) -> None:
    """Add the verdict on a constant to a report."""
    if isinstance(constant, Untraced):
        report.untraced.append(constant)
        return
    if isinstance(constant, QuantisedConstant) and (cut := _CUT.fullmatch(constant.tensor)):
        name = f"{cut[1]}.weight"
        if constant.tensor not in wanted and name in wanted:
            constant = replace(constant, tensor=name)
    source = wanted.of(constant)
    if source is None:
        report.untraced.append(Untraced(constant.net, constant.tensor, constant.line, wanted.why(constant)))
        return
    others = wanted.others(constant)
    if isinstance(constant, QuantisedConstant):
        fault, count = proved_quantised(constant, source, others), constant.levels.size
        report.quantised.setdefault(constant.tensor, []).append(replace(constant))  # without what it has unpacked
    else:
        assert isinstance(constant, FloatConstant)
        tolerance = wanted.tolerance(constant)
        fault, count = proved_float(constant, source, others, tolerance), constant.words.numbers.size
    if fault is not None:
        report.faults.append(fault)
    else:
        report.proven += 1
        report.numbers += count
        if isinstance(constant, FloatConstant) and count < source.size:
            report.rests[constant.tensor] = report.rests.get(constant.tensor, 0) + count


class Wanted:
    """Numbers that constants were made of."""

    def __init__(self, float_model: FloatModel) -> None:
        self._model = float_model
        self._weights = float_model.weights

    def of(self, constant: Constant) -> Array | None:
        """Float32 numbers of a constant's tensor; None where the model before conversion has none."""
        name = constant.tensor
        if constant.net == ENCODER:
            return vision_weight(self._model, constant)
        if name in _TABLES:
            return self._table(constant)
        if _EXPERT in name:
            return self._experts(name)
        if name not in self._weights:
            return self._weights.read(self._weights.head) if self._is_head(constant) else None
        if name.endswith("lm_head.weight") and self._weights.head != name:
            name = self._weights.head
        numbers = self._weights.read(name)
        offset = self._model.config.kind.norm_offset
        return numbers + np.float32(offset) if offset and numbers.ndim == 1 and "norm" in name else numbers

    def read(self, name: str) -> Array:
        """Float32 numbers of a tensor by its name in the bmodel."""
        return self._weights.read(name if name in self._weights else self._weights.head)

    def __contains__(self, name: str) -> bool:
        return name in self._weights

    def why(self, constant: Constant) -> str:
        """Reason that there are no numbers."""
        return "filled by the host" if "lora_" in constant.tensor else "the model before conversion has no such tensor"

    def tolerance(self, constant: Constant) -> float | None:
        """Error of numbers that the converter computes in float32; None of those that are only rounded."""
        return (
            2e-6 * (constant.words.shape[0] + 8)
            if (constant.tensor in _TABLES or is_table(constant.tensor)) and isinstance(constant, FloatConstant)
            else None
        )

    def others(self, constant: Constant) -> Candidates:
        """Tensors of the same shape; tables of layers with another rotary embedding."""
        if constant.tensor in _TABLES:
            rotary = self._model.config.rotary
            first = {one.frequencies.tobytes(): layer for layer, one in reversed([*enumerate(rotary)])}
            return [(f"the table of layer {one}", partial(self._some_table, constant, one)) for one in first.values()]
        return [
            (name.removesuffix(".weight"), partial(self._weights.read, name))
            for name in self._weights.like(constant.tensor)[:_MOST_OTHERS]
        ]

    def _is_head(self, constant: Constant) -> bool:
        return constant.net == "lm_head" and constant.tensor.endswith(("lm_head.weight", "output_layer.weight"))

    def _table(self, constant: Constant) -> Array | None:
        """Cosines or sines by position and by pair of numbers, as often as the converter has each."""
        block = _BLOCK.fullmatch(constant.net)
        return self._table_of(constant, int(block[1])) if block is not None else None

    def _some_table(self, constant: Constant, layer: int) -> Array:
        table = self._table_of(constant, layer)
        return np.zeros(0, np.float32) if table is None else table

    def _table_of(self, constant: Constant, layer: int) -> Array | None:
        if not isinstance(constant, FloatConstant):
            return None
        positions, width = constant.words.shape[0], constant.words.shape[-1] * constant.words.shape[-2]
        table = self._model.config.rotary[layer].table(np.arange(positions), self._model.room or positions)
        which = table[_TABLES.index(constant.tensor)]
        return np.tile(which, (1, width // which.shape[1])).astype(np.float32) if width % which.shape[1] == 0 else None

    def _experts(self, name: str) -> Array | None:
        """The matrices of all experts, one below the other."""
        before, _, after = name.partition(_EXPERT)
        names: list[str] = []
        while (one := f"{before}.experts.{len(names)}.{after}") in self._weights:
            names.append(one)
        matrices = [self._weights.read(one) for one in names]
        return np.stack(matrices) if matrices else None
