"""A model with its data, as tools take it; to be sent to other processes, and opened there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.reference.tolerance import Tolerances


class Opens(Protocol):
    """A program with its data, to be debugged from the start."""

    @property
    def context(self) -> Path: ...

    @property
    def references(self) -> tuple[Path, ...]: ...

    def open(self) -> Debugger:
        """A debugger before the first command, without history."""
        ...


class ModelOptions(Struct, frozen=True):
    """A model, its data and the backend that executes it, as ``open_debugger`` takes them."""

    context: Path
    inputs: Path | None = None
    references: tuple[Path, ...] = ()
    backend: str = "numpy"
    static_tables: str = "firmware"
    cmodel_path: Path | None = None
    net: str | None = None
    stage: int | None = None
    recording: str | None = None

    def open(self, tolerance: Tolerances | None = None, fast: bool = False, lenient: bool = False) -> Debugger:
        """A debugger before the first command, without history; it verifies what it reads of a large reference."""
        from tdb_dap.tools.opening import open_debugger

        return open_debugger(
            self.context,
            self.inputs,
            self.references,
            self.backend,
            self.static_tables,
            tolerance=tolerance,
            history_limit=0,
            cmodel_path=self.cmodel_path,
            net=self.net,
            stage=self.stage,
            fast=fast,
            lenient=lenient,
            recording=self.recording,
            defers=True,
        )
