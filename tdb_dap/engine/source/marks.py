"""Values that are stored otherwise than their records say."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tdb_dap.engine.source.mlir_attributes import integer
from tdb_dap.system.patterns import pattern

if TYPE_CHECKING:
    from tdb_dap.engine.source.mlir_file import MlirFile

_REARRANGED = pattern(r"use_3ic_optimize = [1-9]")
_SHIFTED = pattern(r"indexing_map_s2l = (#map\d*)\b")
_PADDED = pattern(r'"tpu\.Store".*\bpaddings = \[[\d, ]*[1-9]')
_MAP = pattern(r"(#map\d*) = affine_map<\((.*)\) -> \((.*)\)>")
_AXIS = pattern(r"d(\d+)(?: \+ (\d+))?")
_SHARING = pattern(r'store_mode = "[24]N"')


class Marks:
    """Names of such values. ``mlir``: None if final.mlir is missing; then no value is marked."""

    def __init__(self, mlir: MlirFile | None) -> None:
        self._mlir = mlir

    @cached_property
    def rearranged(self) -> frozenset[str]:
        """Loads that spread channels (``use_3ic_optimize``)."""
        mlir = self._mlir
        if mlir is None:
            return frozenset()
        marked = (
            mlir.op_at(number) for number, line in mlir.lines_with("use_3ic_optimize") if _REARRANGED.search(line)
        )
        # The convolution after the load carries the mark, too, but its result is plain.
        return frozenset(name for op in marked if op and op.name == "tpu.Load" for name in op.locations)

    @cached_property
    def coefficients(self) -> frozenset[str]:
        """Weights and what is loaded of them, where batches do not share words, whatever their layout says.

        Weights that do share them say so: ``store_mode = "4N"``.
        """
        mlir = self._mlir
        if mlir is None:
            return frozenset()
        names: set[str] = set()
        for op in mlir.ops.values():
            if op.name == "tpu.Load":
                weight = mlir.op_visible_in(op.region, op.operands[0]) if op.operands else None
            else:
                weight = op
            if weight is not None and weight.name == "top.Weight" and not _SHARING.search(weight.text):
                names.update(op.locations)
        return frozenset(names)

    @cached_property
    def shifts(self) -> dict[int, tuple[int, ...]]:
        """By line: how far into its operand a load begins, on each axis, since it takes over a slice."""
        mlir = self._mlir
        if mlir is None:
            return {}
        maps = {
            match[1]: _shift_of(match[2], match[3])
            for _, line in mlir.lines_with("#map")
            if (match := _MAP.match(line))
        }
        loads = ((number, _SHIFTED.search(line)) for number, line in mlir.lines_with("indexing_map_s2l") if maps)
        shifts = {number: maps.get(match[1]) for number, match in loads if match}
        return {number: shift for number, shift in shifts.items() if shift is not None}

    @cached_property
    def padded(self) -> frozenset[int]:
        """Lines of stores that pad what they store: they write all of their results, not the part that records name."""
        lines = self._mlir.lines_with("paddings") if self._mlir is not None else ()
        return frozenset(number for number, line in lines if _PADDED.search(line))


def _shift_of(axes: str, places: str) -> tuple[int, ...] | None:
    """Offset added to each axis; None where a map does anything else."""
    matches = [_AXIS.fullmatch(place.strip()) for place in places.split(",")]
    if len(matches) != len(axes.split(",")) or any(
        axis is None or integer(axis[1]) != number for number, axis in enumerate(matches)
    ):
        return None
    return tuple(integer(axis[2] or "0") for axis in matches if axis is not None)


NO_MARKS = Marks(None)
"""Where final.mlir is not at hand."""
