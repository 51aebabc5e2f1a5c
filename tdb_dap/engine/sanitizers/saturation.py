"""``saturate``: a command clips too many of its results to the ends of their number format.

Counted are elements of integer results of 8 and 16 bits that are the largest or, of signed formats, the smallest number
there is, beyond the share that an operand has of them already. Moves clip nothing and are left out, and so are commands
that are set to: those with one of these numbers as a constant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tdb_dap.engine.control.observers import Observer
from tdb_dap.engine.control.stops import Finding
from tdb_dap.engine.hardware.dtypes import DType
from tdb_dap.engine.hardware.views import Constant, View
from tdb_dap.engine.sanitizers.finding_text import title_of
from tdb_dap.errors import BadAccess, NotSimulated

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.control.inspector import Inspector

NAME = "saturate"
DEFAULT_SHARE = 0.01
_FEWEST = 4
"""Clipped elements that are worth a report."""


class Saturation(Observer):
    """Counts clipped results. ``share``: of all elements, above which a result is reported."""

    looks_back = True

    def __init__(self, share: float = DEFAULT_SHARE) -> None:
        self._share = share
        self._before: tuple[int, float] = (-1, 0.0)

    def before_command(self, inspector: Inspector, command: Command) -> None:
        self._before = (command.ordinal, self._given(inspector, command)) if self._clips(command) else (-1, 0.0)

    def after_command(self, inspector: Inspector, command: Command) -> Finding | None:
        if not self._clips(command):
            return None
        for view in _integers(command, reads=False):
            count = _clipped(inspector, view)
            if count < _FEWEST or count <= self._share * view.size:
                continue
            if self._before[0] != command.ordinal:
                with inspector.machine.excursion():
                    inspector.machine.travel(command.ordinal)
                    self._before = command.ordinal, self._given(inspector, command)
            share = count / view.size
            if share - self._before[1] > self._share:
                text = (
                    f"{title_of(command)} clips {count:,} of {view.size:,} elements ({share:.1%}) of %{view.name} to "
                    f"the ends of {view.dtype}; the limit is {self._share:.3g}"
                )
                return Finding(
                    NAME, "Too many results are clipped", text, command.ordinal, (command.asm,), severity="warning"
                )
        return None

    def _clips(self, command: Command) -> bool:
        if command.engine != "tiu" or command.is_system:
            return False
        views = _integers(command, reads=False)
        if not views:
            return False
        constants = [operand for operand in command.description.reads if isinstance(operand, Constant)]
        ends = {end for view in views for end in _ends(view.dtype)}
        return not any(constant.value in ends for constant in constants)

    def _given(self, inspector: Inspector, command: Command) -> float:
        """The largest share that an operand of the same width has."""
        sizes = {view.dtype.itemsize for view in _integers(command, reads=False)}
        shares = [
            _clipped(inspector, view) / view.size
            for view in _integers(command, reads=True)
            if view.dtype.itemsize in sizes
        ]
        return max(shares, default=0.0)


def _ends(dtype: DType) -> tuple[int, ...]:
    return (dtype.minimum, dtype.maximum) if dtype.kind == "i" else (dtype.maximum,)


def _integers(command: Command, reads: bool) -> list[View]:
    try:
        chosen = command.description.reads if reads else command.description.results
    except NotSimulated:
        return []
    return [
        view
        for view in chosen
        if isinstance(view, View)
        and view.dtype.kind in "iu"
        and view.dtype.itemsize < 4
        and view.dtype.per_byte == 1
        and view.size
    ]


def _clipped(inspector: Inspector, view: View) -> int:
    ends = [view.dtype.bits_dtype.type(end & ((1 << view.dtype.bits) - 1)) for end in _ends(view.dtype)]
    try:
        pieces = inspector.memory.pieces(view)
    except BadAccess:
        return 0
    return sum(int(np.count_nonzero(piece == end)) for _, piece in pieces for end in ends)
