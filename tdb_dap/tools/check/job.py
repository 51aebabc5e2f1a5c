"""Job of a check: model, data and settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.engine.compare.finding import Role
from tdb_dap.engine.reference.tolerance import Tolerances
from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.engine.control.debugger import Debugger


@dataclass(frozen=True)
class Job:
    """One model, its inputs and what it is compared with; goes to other processes as it is.

    ``keep``: which tensors come back with the rows: ``none``, ``failed`` or ``all``; ``pictures``: whether rows of what
    differs have pictures, which only some reports show; ``wanted``: keys of the tensors that are compared, None: all.
    """

    context: Path
    inputs: Path | None
    references: tuple[Path, ...]
    tolerances: Tolerances
    backend: str = "numpy"
    static_tables: str = "firmware"
    cmodel_path: Path | None = None
    net: str | None = None
    stage: int | None = None
    keep: str = "none"
    pictures: bool = True
    wanted: frozenset[tuple[int, Role, int, str]] | None = None
    recording: Path | None = None

    def open(self, defers: bool = False) -> Debugger:
        """A debugger at the start of the program. BadInput if there is nothing to compare with.

        ``defers``: who opens it calls ``Reference.verify``.
        """
        from tdb_dap.tools.opening import open_debugger

        debugger = open_debugger(
            self.context,
            self.inputs,
            self.references,
            backend=self.backend,
            static_tables=self.static_tables,
            tolerance=self.tolerances,
            history_limit=0,
            cmodel_path=self.cmodel_path,
            net=self.net,
            stage=self.stage,
            recording=self.recording,
            defers=defers,
        )
        if debugger.reference is None:
            own = debugger.program.context.reference
            of_own = self.inputs is not None and own is not None and not self.references
            hint = f"; {own.name} is for the inputs beside it: leave --inputs out to use it" if of_own and own else ""
            raise BadInput(
                f"{self.context}: nothing to compare with; give --reference R.npz, the ..._tpu_outputs.npz{hint}"
            )
        return debugger
