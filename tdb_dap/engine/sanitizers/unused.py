"""``unused``: a command whose results nobody reads before they are overwritten, or the program ends.

Compilers make no such commands, except for fills with a constant and for passing time. Where there is one, the command
that should have read it is missing, comes too early, or reads another place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.accesses import views_of
from tdb_dap.engine.memory import Memory, Region
from tdb_dap.engine.places import Place
from tdb_dap.engine.sanitizers.places import title_of
from tdb_dap.engine.stops import Finding
from tdb_dap.engine.views import View
from tdb_dap.errors import BadAccess

if TYPE_CHECKING:
    from tdb_dap.engine.commands import Command
    from tdb_dap.engine.program import Program

NAME = "unused"


def unused(program: Program) -> Iterator[Finding]:
    """One finding for each such command, in the order of execution."""
    writers = _Writers(program)
    read: set[int] = set()
    made: list[Command] = []
    for command in program.commands:
        if command.is_system:
            continue
        operands, results = views_of(command, False), views_of(command, True)
        for view in operands:
            read |= writers.of(view)
        for view in results:
            writers.wrote(view, command.ordinal)
        if results and operands and not _is_idle(operands, results):
            made.append(command)
    for tensor in program.outputs:
        read |= writers.of(tensor.view)
    for command in made:
        if command.ordinal not in read:
            names = ", ".join(f"%{view.name} {view.dtype}{list(view.shape)}" for view in views_of(command, True))
            text = f"nobody reads what {title_of(command)} writes before it is overwritten or the program ends: {names}"
            yield Finding(NAME, "A result is not used", text, command.ordinal, (command.asm,), severity="warning")


def _is_idle(operands: list[View], results: list[View]) -> bool:
    """Copies of something onto itself pass time."""
    return all(view in results for view in operands)


class _Writers:
    """The last command that wrote each byte: its ordinal from 1, digit by digit, in memories of marks."""

    def __init__(self, program: Program) -> None:
        geometry, regions = program.target.geometry, program.ddr_regions()
        digits = (len(program.commands).bit_length() + 7) // 8
        self._digits = [
            Memory(
                geometry,
                program.core_count,
                [Region(region.start, np.zeros(region.data.size, np.uint8), region.title) for region in regions],
            )
            for _ in range(digits)
        ]

    def of(self, view: View) -> set[int]:
        """Ordinals of the commands that wrote the bytes of a view; none where it has no place in memory."""
        number = np.zeros(1, np.int64)
        for digit, memory in enumerate(self._digits):
            try:
                number = number | _marks(memory, view).astype(np.int64) << 8 * digit
            except BadAccess:
                return set()
        return {ordinal - 1 for ordinal in np.flatnonzero(np.bincount(number)).tolist() if ordinal}

    def wrote(self, view: View, ordinal: int) -> None:
        """A command has written a view."""
        for digit, memory in enumerate(self._digits):
            try:
                _set_marks(memory, view, (ordinal + 1) >> 8 * digit & 255)
            except BadAccess:
                return


def _marks(memory: Memory, view: View) -> NDArray[np.uint8]:
    if view.dtype.per_byte > 1:
        return np.concatenate([*_runs(memory, view), np.zeros(0, np.uint8)])
    return np.ascontiguousarray(memory.read(view)).view(np.uint8).reshape(-1)


def _set_marks(memory: Memory, view: View, mark: int) -> None:
    if view.dtype.per_byte > 1:
        for run in _runs(memory, view):
            run.fill(mark)
        return
    word = int.from_bytes(bytes([mark]) * view.dtype.itemsize, "little")
    memory.write(view, np.full(view.shape, word, view.dtype.bits_dtype))


def _runs(memory: Memory, view: View) -> list[NDArray[np.uint8]]:
    """The bytes of a view of numbers of 4 bits, live: a mark is a byte's."""
    place = Place.of(view)
    return [memory.bytes_at(place.space, start, stop - start, view.core) for start, stop in place.runs.tolist()]
