"""Old and new numbers of watched memory after the command that wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tdb_dap.engine.expressions.values import number_text
from tdb_dap.engine.hardware.byte_ranges import ByteRanges, element_offsets
from tdb_dap.engine.machine.undo_log import OverwrittenView

if TYPE_CHECKING:
    from tdb_dap.engine.hardware.dtypes import Array
    from tdb_dap.engine.machine.machine import Machine


def changes_text(ranges: ByteRanges, machine: Machine) -> str:
    """``1.5 → 0``, of several elements the first, the range and how many of them have changed.

    Empty if the last command wrote nothing there, or if what it overwrote is not kept number by number.
    """
    for change in machine.latest_changes():
        if not isinstance(change, OverwrittenView) or change.view.dtype.per_byte > 1:
            continue
        inside = _inside(element_offsets(change.view), change.view.dtype.itemsize, ranges)
        if change.view.space is ranges.space and change.view.core in (ranges.core, 0) and inside.any():
            dtype = change.view.dtype
            return _text(dtype.decode(change.old[inside]), dtype.decode(machine.memory.read(change.view)[inside]))
    return ""


def _inside(offsets: Array, size: int, ranges: ByteRanges) -> Array:
    """Marks of the elements that have a byte in the ranges; -1 is an element without bytes."""
    index = np.searchsorted(ranges.runs[:, 1], offsets, side="right")
    starts = np.append(ranges.runs[:, 0], np.iinfo(np.int64).max)[index]
    return np.asarray((offsets >= 0) & (starts < offsets + size))


def _text(old: Array, new: Array) -> str:
    differs = (old != new) & ~((old != old) & (new != new))
    if not differs.any():
        return f"{_range(old)}, unchanged"
    first = int(np.argmax(differs))
    if old.size == 1:
        return f"{number_text(old[0])} → {number_text(new[0])}"
    return (
        f"{int(differs.sum()):,} of {old.size:,} elements, first {old[first]:.4g} → {new[first]:.4g}; "
        f"{_range(old)} → {_range(new)}"
    )


def _range(numbers: Array) -> str:
    if numbers.size == 1:
        return number_text(numbers[0])
    return f"min {np.nanmin(numbers):.4g} max {np.nanmax(numbers):.4g}"
