"""Is it a weight or a command: the weights of one op that differs, compared with those of its layer."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from msgspec import Struct

from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.errors import TdbError

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program


class OpWeights(Struct, frozen=True):
    """Weights of an op. ``wrong``: a sentence for each wrong one; ``proven``: how many are right.

    ``untraced``: how many could not be compared.
    """

    wrong: tuple[str, ...]
    proven: int
    untraced: int

    @property
    def text(self) -> str:
        """``weight w6 is wrong: ...``, ``its weights are right``; empty where not all are known."""
        if self.wrong:
            more = f" and {len(self.wrong) - 1} more" if len(self.wrong) > 1 else ""
            return self.wrong[0] + more
        return "its weights are right" if self.proven and not self.untraced else ""


def op_weights(program: Program, lines: Collection[int]) -> OpWeights | None:
    """The weights that ops of final.mlir take; None where those of the layers are not in the compilation's files."""
    # A check in which nothing differs reads none of it.
    from tdb_dap.tools.weights.layers import layers_of
    from tdb_dap.tools.weights.network import check_network

    layers = layers_of(program.context.directory) if isinstance(program, CompiledProgram) else None
    if layers is None:
        return None
    assert isinstance(program, CompiledProgram)
    try:
        report = check_network(program, layers, lines)
    except TdbError:
        return None
    wrong = tuple(f"weight {fault.tensor} is wrong: {fault.summary}" for fault in report.faults)
    return OpWeights(wrong, report.proven, len(report.untraced))
