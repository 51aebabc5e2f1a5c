"""Differences that only the order of two commands makes, which nothing settles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tdb_dap.engine.machine.orders import other_orders
from tdb_dap.engine.sanitizers.hazards import hazards
from tdb_dap.tools.check.schema import Blame, Row

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program

_MUCH_NEARER = 0.5
"""Share of its error that another order leaves at most."""

OutputsIn = Callable[[Sequence[int]], Sequence[Row]]
"""The rows of the outputs of the net after the commands of these ordinals."""


def with_race(rows: list[Row], program: Program, outputs_in: OutputsIn) -> list[Row]:
    """The rows; where unordered commands that change places make the outputs right, the first that differs says so.

    Right, or much nearer to the reference: the rest may be rounding. The rows are unchanged if no output differs,
    nothing races, or another order makes no such difference.
    """
    outputs = {tensor.name for tensor in program.outputs}
    own = [row for row in rows if row.name in outputs and row.role != "operand"]
    if not program.has_waits or not any(row.verdict == "fail" for row in own):
        return rows
    pairs = list(hazards(program))
    if not pairs:
        return rows
    others = {name: outputs_in(order) for name, order in other_orders(program)}
    name = min(others, key=lambda name: _error(others[name]), default=None)
    if name is None or _error(others[name]) > _MUCH_NEARER * _error(own):
        return rows
    is_right = not any(row.verdict == "fail" for row in others[name])
    euclidean = [1 - _error(some) for some in (others[name], own)]
    outcome = "every output passes"
    if not is_right:
        outcome = (
            f"the outputs are nearer to the reference (euclidean {euclidean[0]:.4f} instead of {euclidean[1]:.4f})"
        )
    one, other = (program.commands[ordinal] for ordinal in (*pairs[0].related, pairs[0].focus))
    more = f" ({len(pairs) - 1} more such pairs)" if len(pairs) > 1 else ""
    text = (
        f"nothing orders {one.token} {one.name}{_line(one.mlir_lines)} and {other.token} {other.name}"
        f"{_line(other.mlir_lines)}, which touch the same bytes{more}; with {name} first {outcome}"
    )
    first = next(row for row in rows if row.verdict == "fail" and row.role != "operand")
    blame = Blame(kind="race", line=first.line, text=text)
    return [replace(row, blame=blame) if row is first else row for row in rows]


def _error(rows: Sequence[Row]) -> float:
    """1 - the least Euclidean similarity; infinite where nothing is compared, or a number is none."""
    numbers = [row.numbers.euclidean for row in rows if row.numbers is not None]
    return 1 - min(numbers) if numbers and not any(math.isnan(number) for number in numbers) else math.inf


def _line(lines: Sequence[int]) -> str:
    return f" (line {', '.join(map(str, lines))})" if lines else ""
