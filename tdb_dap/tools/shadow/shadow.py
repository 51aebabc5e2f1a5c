"""Each tensor of the chip compared with its ideal value, rounded to its format and exact.

Error made here and error inherited add up to the distance from the ideal: the op's exact result, from the operands that
the chip had, is between the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import BadInput
from tdb_dap.targets.chips.registry import chips
from tdb_dap.tools.golden.files.compilation import Files, find
from tdb_dap.tools.golden.judging import Judged, judge_call
from tdb_dap.tools.golden.level import Level, names, wide
from tdb_dap.tools.golden.library import NoGolden, compute
from tdb_dap.tools.golden.lowering import counterpart
from tdb_dap.tools.golden.reference import text_in

"""Ops that are computed between tensors of the chip."""

_SAME_BYTES = ("tpu.Reshape", "tpu.Squeeze", "tpu.Unsqueeze", "tpu.Flatten")


class Shadowed(Struct, frozen=True):
    """One tensor. ``actual``, ``expected``, ``ideal``: the numbers at ``index``, where it is furthest from the ideal.

    ``here``, ``inherited``: the error made by its op and that of its operands, roots of mean squares over that of the
    ideal; ``verdict``, ``reason``: of ``Judged``, on the error made here.
    """

    name: str
    index: tuple[int, ...]
    actual: float
    expected: float | None
    ideal: float
    here: float
    inherited: float
    verdict: str
    reason: str = ""


class Shadow:
    """The shadows of a compilation for certain inputs. ``expected``, ``ideal``: tensors by name, float64.

    ``files``: of the compilation, where they are known. ``expected`` is rounded to each format, ``ideal`` never, with
    the weights of the imported model where that is there.
    BadInput if the compiler's text is missing, or cannot be read.
    """

    def __init__(self, context: Path, inputs: Mapping[str, Array], files: Files | None = None) -> None:
        self.files = files = files or find(context)
        chip = chips().get(files.properties.get("chip", "").upper())
        if chip is not None and not chip.has_golden:
            raise BadInput(
                f"{context}: the arithmetic of ops that are compiled for {chip.name} is not known apart from its "
                "commands; compare with the compiler's *_tpu_outputs.npz"
            )
        self.level = Level("tpu", text_in(files, context))
        self.inputs = {name: wide(inputs[name]) for name in self.level.inputs() if name in inputs}
        if len(self.inputs) < len(list(self.level.inputs())):
            raise BadInput(f"{self.level.path}: its inputs are {', '.join(self.level.inputs())}; give --inputs X.npz")
        self._source = files.get("top_mlir")

    def knows(self, name: str) -> bool:
        """Whether the compiler's text has a tensor of this name that an op computes."""
        op = self.level.by_name.get(name)
        return op is not None and op.name != "top.Input"

    @cached_property
    def expected(self) -> dict[str, Array]:
        """Tensors by name as their formats hold them; computed when it is first asked for."""
        return self.level.run(self.inputs, is_rounded=True)[0]

    @cached_property
    def ideal(self) -> dict[str, Array]:
        """Tensors by name, never rounded; computed when it is first asked for."""
        source = self._source
        known: dict[str, Array] = {}
        if source is not None:
            top = Level("top", source)
            given = {name: self.inputs[name] for name in top.inputs() if name in self.inputs}
            for name, array in top.run(given, is_rounded=False)[0].items():
                target = counterpart(self.level, name, self.expected)
                if target is not None and np.size(array) == np.size(self.expected[target]):
                    known[target] = array
        arrays = dict(self.inputs)
        for op in self.level.ops:
            missing = [name for name in names(op) if name not in known]
            arrays.update((name, known[name]) for name in names(op) if name in known)
            if not missing or op.name == "top.Input":
                continue
            try:
                results = compute(self.level.call(op, arrays))
            except NoGolden:
                continue
            arrays.update((name, array) for name, array in zip(names(op), results, strict=False) if name in missing)
        return arrays

    def completed(self, chip: Mapping[str, Array]) -> dict[str, Array]:
        """The tensors of a run, with those for which the compiler makes no commands: the same bytes by another name."""
        arrays = dict(chip)
        for op in self.level.ops:
            if op.name in _SAME_BYTES and not any(name in arrays for name in names(op)):
                try:
                    arrays.update(zip(names(op), compute(self.level.call(op, {**self.inputs, **arrays})), strict=False))
                except NoGolden:
                    continue
        return arrays

    def local(self, name: str, chip: Mapping[str, Array]) -> Array | None:
        """A tensor computed from the nearest tensors of the chip before it; None if that is not possible.

        For ops whose operands are not on the chip, because the compiler has taken other ops in place of several. Each
        result in between is rounded to its format.
        """
        return self.level.from_nearest(name, {**self.inputs, **chip})[0]

    def judged(self, name: str, chip: Mapping[str, Array]) -> Judged | None:
        """The verdict on what the op of a tensor of the chip did with the operands that it had; None without a golden.

        ``chip``: what it computed, by name.
        """
        exact = self._exact(name, chip)
        return exact[1] if exact is not None else None

    def _exact(self, name: str, chip: Mapping[str, Array]) -> tuple[Array, Judged | None] | None:
        """A tensor of the chip as it follows from the operands that its op had, and the verdict on it."""
        op = self.level.by_name.get(name)
        if op is None or op.name == "top.Input" or name not in chip:
            return None
        place = names(op).index(name)
        try:
            call = self.level.call(op, {**self.inputs, **chip})
            computed = compute(call)
        except NoGolden:
            return None
        if place >= len(computed) or not computed[place].size or computed[place].size != np.size(chip[name]):
            return None
        return computed[place], next(judge_call(op, call, {place: chip[name]}, computed, closely=False), None)

    def of(self, name: str, chip: Mapping[str, Array]) -> Shadowed | None:
        """A tensor of the chip with its shadows; ``chip``: what it computed, by name. None without a golden."""
        ideal = self.ideal.get(name)
        known = None if ideal is None else self._exact(name, chip)
        if ideal is None or known is None or known[0].size != ideal.size:
            return None
        exact, judged = known
        actual, ideal = (np.reshape(wide(one), exact.shape) for one in (chip[name], ideal))
        with np.errstate(all="ignore"):
            distance = np.nan_to_num(np.abs(actual - ideal), nan=np.inf)
            here, inherited, reach = _rms(actual - exact), _rms(exact - ideal), _rms(ideal) or 1.0
        index = np.unravel_index(int(distance.argmax()), exact.shape)
        expected = self.expected.get(name)
        return Shadowed(
            name,
            tuple(int(i) for i in index),
            float(actual[index]),
            float(np.reshape(expected, exact.shape)[index]) if expected is not None else None,
            float(ideal[index]),
            here / reach,
            inherited / reach,
            judged.verdict if judged is not None else "unknown",
            judged.reason if judged is not None else "",
        )


def _rms(array: Array) -> float:
    finite = array[np.isfinite(array)]
    return float(np.sqrt(np.mean(np.square(finite)))) if finite.size else 0.0
