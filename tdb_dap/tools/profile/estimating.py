"""Times of all commands while only some have been estimated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tdb_dap.engine.program.program import Program
    from tdb_dap.tools.profile.profiling import Costs


def likely_cycles(program: Program, costs: Costs) -> list[float]:
    """Cycles of each command: by the compiler, else as estimated, else the mean of its kind, its engine or all.

    Where nothing is known at all every command takes one cycle.
    """
    columns = program.commands.columns
    cycles = np.full(len(program.commands), np.nan)
    cycles[: len(costs.known)] = [cost.cycles for cost in costs.known]
    if costs.given:
        for ordinal, command in enumerate(program.commands):
            figure = costs.figure(command)
            if figure is not None:
                cycles[ordinal] = figure
    for keys in (columns.kind, columns.engine, np.zeros(len(cycles), np.int8)):
        _fill_with_means(cycles, keys)
    return [float(value) for value in np.nan_to_num(cycles, nan=1.0)]


def _fill_with_means(cycles: NDArray[np.float64], keys: NDArray[np.generic]) -> None:
    """Give what is not a number the mean of those numbers that have the same key."""
    _, group = np.unique(keys, return_inverse=True)
    known = ~np.isnan(cycles)
    counts = np.bincount(group[known], minlength=int(group.max(initial=-1)) + 1)
    sums = np.bincount(group[known], weights=cycles[known], minlength=len(counts))
    missing = ~known & (counts[group] > 0)
    cycles[missing] = sums[group[missing]] / counts[group[missing]]
