"""Whether a fault changes anything, and who finds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scripts.mutate_models.mutant import Fault, Mutant
from scripts.mutate_models.orders import Outcome, outcomes
from tdb_dap.engine.debugger import Debugger
from tdb_dap.engine.dtypes import Array
from tdb_dap.engine.machine import Machine
from tdb_dap.engine.program import Program
from tdb_dap.engine.sanitizers import chosen, made
from tdb_dap.engine.sanitizers.survey import survey
from tdb_dap.errors import BadInput

REFUSED = "refused"
"""The finder of faults that keep the model from being loaded or executed."""


@dataclass(frozen=True)
class Verdict:
    """``changes``: whether something else can come out; ``finders``: the sanitizers that report it."""

    kind: str
    text: str
    changes: bool
    finders: frozenset[str]


def judge(program: Program, inputs: Mapping[str, Array], truth: Outcome, fault: Fault) -> Verdict:
    """Make a fault, look what comes out, and ask the sanitizers, which do not know that."""
    try:
        mutant = Mutant(program, fault)
    except BadInput:
        return Verdict(fault.kind, fault.text, True, frozenset({REFUSED}))
    return Verdict(fault.kind, fault.text, outcomes(mutant, inputs) != {truth}, sanitized(mutant, inputs))


def sanitized(program: Program, inputs: Mapping[str, Array]) -> frozenset[str]:
    """The sanitizers that report anything."""
    machine = Machine(program, history_limit=0)
    machine.load_inputs(inputs)
    found = survey(Debugger(program, machine), made(chosen(["all"])), lambda done: None)
    names = {finding.filter for finding in found.findings}
    return frozenset(names | {REFUSED}) if found.stopped else frozenset(names)
