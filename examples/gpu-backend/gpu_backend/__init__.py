"""A backend for tdb-dap: the built-in simulator, whose large float32 matrix products a CUDA device forms.

``tdb-dap run CONTEXT --backend gpu``. A device whose bits differ from the built-in simulator's is not used.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_backend.device import Device, Unusable, opened
from gpu_backend.product import Product, product_of
from tdb_dap.api import Chip, Executable, InProcess, Memory, Outcome, Program, View

LOG = logging.getLogger("gpu_backend")

WORTH = 1 << 24
"""Products of factors from which on the device is used: an estimate, nothing was measured."""


@dataclass(frozen=True)
class Overwritten:
    """The words that a command overwrote, as the debugger takes them to go back."""

    view: View
    old: NDArray[Any]

    @property
    def nbytes(self) -> int:
        return self.old.nbytes

    def undo(self, memory: Memory) -> None:
        memory.write(self.view, self.old)


class WithDevice(InProcess):
    """The built-in simulator; ``device`` forms matrix products of at least ``WORTH`` products."""

    name = "gpu"

    def __init__(self, chip: Chip, device: Device) -> None:
        super().__init__(chip)
        self._chip = chip
        self._device: Device | None = device
        self.formed = 0
        """Matrix products that the device has formed."""

    def execute(self, command: Executable, memory: Memory) -> Outcome:
        product = product_of(command.description, self._chip) if self._device is not None else None
        words = self._formed(product, memory) if product is not None and product.size >= WORTH else None
        if product is None or words is None:
            return super().execute(command, memory)
        old = memory.read(product.result)
        memory.write(product.result, words)
        return Outcome((Overwritten(product.result, old),))

    def execute_some(self, commands: Any, first: int, stop: int, memory: Memory) -> int:
        """No command is executed without being looked at."""
        return first

    def _formed(self, product: Product, memory: Memory) -> NDArray[np.uint32] | None:
        """The stored words of the result; None if the device fails, which is then not used again."""
        assert self._device is not None
        try:
            result = self._device.product(product.factors(memory))
        except Exception as error:  # of CUDA: most of its errors end the use of the device in this process
            LOG.warning("gpu: %s: %s; the built-in simulator continues", type(error).__name__, error)
            self._device = None
            return None
        self.formed += 1
        return result.view(np.uint32)


def attach(program: Program) -> InProcess:
    """The backend for a program; the built-in simulator, and a warning, if there is no device that can be used."""
    chip = program.target
    try:
        if not isinstance(chip, Chip):
            raise Unusable("this chip has no rules to compare the device with")
        return WithDevice(chip, opened(chip))
    except Unusable as reason:
        LOG.warning("gpu: %s; the built-in simulator is used instead", reason)
        return InProcess(chip)
