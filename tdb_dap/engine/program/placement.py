"""Check that every tensor of a program is in a memory of the chip."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import adjoining
from tdb_dap.engine.program.access_table import SPACES

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program


def misplaced(program: Program) -> list[str]:
    """Inputs, outputs and operands of commands outside of all memories, one line each and once for each address."""
    problems = [
        f"{word} {tensor.name} at %{tensor.view.name} is in no known memory"
        for word, tensors in (("input", program.inputs), ("output", program.outputs))
        for tensor in tensors
        if tensor.view.space is Space.UNKNOWN
    ]
    rows, geometry = program.access_rows, program.target.geometry
    bad = rows.space == SPACES.index(Space.UNKNOWN)
    inside = np.zeros(len(rows), np.bool_)
    for group in adjoining(program.ddr_regions()):
        for first, region in enumerate(group):
            size = sum(part.data.size for part in group[first:])
            inside |= (rows.start >= region.start) & (rows.least_stop <= region.start + size)
    bad |= (rows.space == SPACES.index(Space.GLOBAL)) & ~inside
    for space, size in ((Space.L2, geometry.l2_bytes), (Space.STATIC, geometry.static_bytes)):
        bad |= (rows.space == SPACES.index(space)) & ((rows.start < 0) | (rows.stop > size))
    seen: set[str] = set()
    for index in np.flatnonzero(bad).tolist():
        view = rows.views[int(rows.view[index])]
        if view.name in seen:
            continue
        seen.add(view.name)
        command = program.commands[int(rows.ordinal[index])]
        title = view.space.title
        where = "no known memory" if view.space is Space.UNKNOWN else f"no part of {title} that the model has"
        problems.append(f"command {command.ordinal} ({command.name}): %{view.name} is in {where}")
    return problems
