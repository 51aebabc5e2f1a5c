"""The backend of the plugin: the built-in simulator, which offers long sums to a device first."""

from __future__ import annotations

from tdb_dap.backends.gpu.device import CudaSums, Unusable, opened
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.hardware.target import Target
from tdb_dap.engine.machine.backend import Executable, InProcess
from tdb_dap.engine.machine.undo_log import Outcome
from tdb_dap.engine.program.program import Program
from tdb_dap.system.remarks import remark
from tdb_dap.targets.kernel.accelerator import accelerated


class WithDevice(InProcess):
    """The target's own semantics; ``sums`` forms the long sums."""

    name = "gpu"

    def __init__(self, target: Target, sums: CudaSums) -> None:
        super().__init__(target)
        self._sums = sums
        self._is_closed = False

    def execute(self, command: Executable, memory: Memory) -> Outcome:
        with accelerated(self._sums):
            return super().execute(command, memory)

    def close(self) -> None:
        """Say what the device has done."""
        if not self._is_closed:
            remark(f"gpu: {self._sums.describe()}")
        self._is_closed = True


def attach(program: Program) -> InProcess:
    """The backend for a program; without a device that can be used the built-in simulator alone, and a remark."""
    try:
        return WithDevice(program.target, opened())
    except Unusable as missing:
        remark(f"gpu: {missing}; the built-in simulator forms all sums, with the same results")
        return InProcess(program.target)
