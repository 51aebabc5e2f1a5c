"""Whether a fault changes anything, and who finds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scripts.robustness.mutate_models.mutant import Fault, Mutant
from tdb_dap.engine.checks.exception_filters import FILTERS
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.machine.orders import other_orders
from tdb_dap.engine.program.program import Program
from tdb_dap.engine.reference.reference import Reference
from tdb_dap.engine.sanitizers import chosen, made
from tdb_dap.engine.sanitizers.survey import survey
from tdb_dap.errors import BadAccess, BadInput, NotSimulated

MISMATCH = "mismatch"
"""The exception filter that compares with a reference, here with what the model computes without a fault."""

REFUSED = "refused"
"""The finder of faults that keep the model from being loaded or executed."""


Outcome = bytes | str
"""The outputs of the net, or why there are none."""


@dataclass(frozen=True)
class Verdict:
    """``changes``: whether something else can come out; ``finders``: the sanitizers that report it."""

    kind: str
    text: str
    changes: bool
    finders: frozenset[str]

    @property
    def is_found(self) -> bool:
        """Whether somebody reports it who needs no reference."""
        return bool(self.finders - {MISMATCH})


@dataclass(frozen=True)
class Model:
    """A model without faults. ``truth``: what comes out of it; ``reference``: all its tensors."""

    program: Program
    inputs: Mapping[str, Array]
    truth: Outcome
    reference: Reference


def judge(model: Model, fault: Fault) -> Verdict:
    """Make a fault, look what comes out, and ask the sanitizers, which do not know that."""
    try:
        mutant = Mutant(model.program, fault)
    except BadInput:
        return Verdict(fault.kind, fault.text, True, frozenset({REFUSED}))
    changes = outcomes(mutant, model.inputs) != {model.truth}
    return Verdict(fault.kind, fault.text, changes, finders(mutant, model.inputs, model.reference))


def outcomes(program: Program, inputs: Mapping[str, Array]) -> set[Outcome]:
    """What can come out of a program, without asking any sanitizer: the outputs in every order that is allowed."""
    own = range(len(program.commands))
    return {_run(program, inputs, ordinals) for ordinals in (own, *(order for _, order in other_orders(program)))}


def _run(program: Program, inputs: Mapping[str, Array], ordinals: Sequence[int]) -> Outcome:
    if len(ordinals) < len(program.commands):
        return "deadlock"
    machine = Machine(program, history_limit=0)
    machine.load_inputs(inputs)
    try:
        machine.run_in_order(ordinals)
        return b"".join(machine.memory.read(tensor.view).tobytes() for tensor in program.outputs)
    except (NotSimulated, BadAccess) as error:
        return f"{type(error).__name__}"


def finders(program: Program, inputs: Mapping[str, Array], reference: Reference) -> frozenset[str]:
    """Who reports anything."""
    machine = Machine(program, history_limit=0)
    machine.load_inputs(inputs)
    observers = {**made(chosen(["all"])), MISMATCH: FILTERS[MISMATCH].make(None)}
    found = survey(Debugger(program, machine, reference), observers, lambda done: None)
    names = {finding.filter for finding in found.findings}
    return frozenset(names | {REFUSED}) if found.stopped else frozenset(names)
