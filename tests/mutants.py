"""Faults in compiled models, for tests: see scripts/robustness/mutate_models."""

from __future__ import annotations

from random import Random

from scripts.robustness.mutate_models.faults import faults
from scripts.robustness.mutate_models.mutant import Mutant
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.tools.opening import open_debugger
from tests.samples import Case


def with_fault(of: Case, kind: str, start: str) -> Debugger:
    """A debugger of a model with the fault of a kind that concerns the command ``start`` (``7 D5``)."""
    whole = open_debugger(of.path, of.inputs)
    found = [fault for fault in faults(whole.program, Random(0))[kind] if fault.text.startswith(start + " ")]
    machine = Machine(Mutant(whole.program, found[0]))
    machine.load_inputs(whole.machine.inputs)
    return Debugger(machine.program, machine)
