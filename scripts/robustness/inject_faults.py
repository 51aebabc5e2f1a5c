"""Put faults into correct models and count how often ``check --blame`` names the op that they were put into.

    python -m scripts.robustness.inject_faults FOLDER...

FOLDER: of recorded models, such as tests/data, each a context with ``input.npz`` and ``ref.npz``. Into each model go,
one at a time, three faults chosen at random (always the same ones) among those that show:

* a weight with its sign changed: to be blamed is the first op that reads it;
* a command that is not executed: to be blamed is its op;
* a command that rounds in another way: to be blamed is its op. That moves few results by a last place, so that it is
  compared with a recording of the right model, exactly.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.commands.commands import Command
from tdb_dap.engine.compare.dataflow import Producers
from tdb_dap.engine.compare.recording import record
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.undo_log import Outcome
from tdb_dap.engine.machine.what_if import change_field
from tdb_dap.engine.program.program import Program
from tdb_dap.engine.reference.tolerance import Tolerances
from tdb_dap.engine.source.op_records import OpRecord
from tdb_dap.errors import BadExpression, NotSimulated, TdbError
from tdb_dap.tools.check.causes.blame import first_culprit, with_blame
from tdb_dap.tools.check.runner import walk
from tdb_dap.tools.check.schema import Row
from tdb_dap.tools.check.team import Alone
from tdb_dap.tools.check.worker import Job, Worker
from tdb_dap.tools.model_options import ModelOptions

Fault = Callable[[Debugger], None]
TRIES = 12
"""Faults of a kind that are tried in a model until one shows."""


def changed_weight(view: View) -> Fault:
    """Negates a tensor in memory before the program starts."""
    return lambda debugger: debugger.machine.write(view, -debugger.machine.read(view))


def dropped_command(ordinal: int) -> Fault:
    """The backend does not execute one command."""

    def drop(debugger: Debugger) -> None:
        execute = debugger.machine.backend.execute

        def skipping(command: Command, memory: object) -> Outcome:
            return Outcome() if command.ordinal == ordinal else execute(command, memory)  # type: ignore[arg-type]

        debugger.machine.backend.execute = skipping  # type: ignore[method-assign, assignment]

    return drop


def changed_field(ordinal: int, field: str, value: int) -> Fault:
    """One field of one command has another value."""
    return lambda debugger: change_field(debugger.machine, ordinal, field, value)


def no_fault(debugger: Debugger) -> None:
    """The model as it is."""


def blamed(job: Job, fault: Fault = no_fault) -> list[Row]:
    """The rows of a check with blame of a program with a fault."""
    rows = _rows(job, fault, "cascade")
    return with_blame(rows, _rows(job, fault, "standalone"), Producers(job.open().program))


def _rows(job: Job, fault: Fault, mode: str) -> list[Row]:
    debugger = job.open()
    fault(debugger)
    return walk(Worker(job, mode, debugger), mode, Alone(), lambda done: None).rows  # type: ignore[arg-type]


@dataclass(frozen=True)
class Injected:
    """A fault, in words, with the ops that are right to be blamed: the lines of any of which one must be named."""

    text: str
    lines: frozenset[int]
    fault: Fault


class Model:
    """A recorded model and the faults that can be put into it."""

    def __init__(self, path: Path, recorded: Path) -> None:
        self.path = path
        self._recorded = recorded
        self.job = Job(ModelOptions(path, path / "input.npz", (path / "ref.npz",)), Tolerances())

    @cached_property
    def program(self) -> Program:
        return self.job.open().program

    @cached_property
    def computing(self) -> list[OpRecord]:
        """Ops that own commands, in the order of execution."""
        records = (r for r in self.program.source.records if r.ordinals)
        return sorted((r for r in records if r.opcode not in ("tpu.Load", "tpu.Store")), key=lambda r: r.first)

    @cached_property
    def exact(self) -> Job:
        """Compares with a recording of the model without a fault; nothing may differ."""
        path = self._recorded / f"{self.path.name}.npz"
        if not path.exists():
            arrays = record(self.job.open())
            np.savez(path, **arrays)  # type: ignore[arg-type]
        return replace(
            self.job, model=replace(self.job.model, references=(path,)), tolerances=Tolerances.parse(["maxAbs=0"])
        )

    def weights(self, choice: random.Random) -> Iterator[Injected]:
        """Weights that are all in DDR, by the loads of layer groups or by the ops that read them there."""
        readers: dict[str, tuple[View, set[int]]] = {}
        mlir = self.program.source.mlir
        ops = mlir.ops.values() if mlir else ()
        names = {name for op in ops if op.name == "top.Weight" for name in op.locations}
        records = [r for r in self.program.source.records if r.ordinals]
        loaded: dict[str, str] = {}
        for r in sorted(records, key=lambda r: r.first):
            for value in r.operands:
                weight = loaded.get(value.name, value.name)
                if weight not in names:
                    continue
                if r.opcode == "tpu.Load" and value.view is not None:
                    loaded.update((result.name, weight) for result in r.results)
                    readers.setdefault(weight, (value.view, set()))
                elif r.opcode != "tpu.Load" and value.view is not None:
                    readers.setdefault(weight, (value.view, set()))[1].add(r.line)
        found = sorted((name, view, lines) for name, (view, lines) in readers.items() if lines)
        choice.shuffle(found)
        for name, view, lines in found:
            yield Injected(f"weight {name} negated", frozenset({min(lines)}), changed_weight(view))

    def dropped(self, choice: random.Random) -> Iterator[Injected]:
        """Commands of ops that move data."""
        for r, ordinal in self._commands(choice):
            command = self.program.commands[ordinal]
            yield Injected(f"command {ordinal} {command.name} dropped", frozenset({r.line}), dropped_command(ordinal))

    def rounded(self, choice: random.Random) -> Iterator[Injected]:
        """Commands that round, with another mode."""
        for r, ordinal in self._commands(choice):
            command = self.program.commands[ordinal]
            try:
                mode = command.attributes.get("round_mode")
            except NotSimulated:
                continue
            field = next((f for f in command.fields if f.endswith("opd2_n_str")), None)
            if field is None or mode is None or command.fields[field] != mode:
                continue
            other = choice.choice([m for m in range(5) if m != mode])
            text = f"command {ordinal} {command.name} rounds in mode {other} instead of {mode}"
            yield Injected(text, frozenset({r.line}), changed_field(ordinal, field, other))

    def _commands(self, choice: random.Random) -> Iterator[tuple[OpRecord, int]]:
        owned = [(r, ordinal) for r in self.computing for ordinal in r.ordinals]
        choice.shuffle(owned)
        for r, ordinal in owned:
            if not self.program.commands[ordinal].is_system and self.program.commands[ordinal].has_descriptor:
                yield r, ordinal


KINDS: Mapping[str, tuple[Callable[[Model, random.Random], Iterator[Injected]], bool]] = {
    "changed weight": (Model.weights, False),
    "dropped command": (Model.dropped, False),
    "changed round mode": (Model.rounded, True),
}
"""Kind -> the faults, and whether results are compared exactly."""


@dataclass(frozen=True)
class Outcomes:
    """What became of one kind of fault in one model; ``text`` is empty where no fault shows.

    ``suspected``: the op is named besides the one that is blamed, because the reference does not hold its results.
    """

    right: bool = False
    suspected: bool = False
    text: str = ""


def inject(model: Model, kind: str) -> Outcomes:
    """Try faults of a kind until one makes a result wrong, and see which op is blamed for it."""
    faults, exact = KINDS[kind]
    choice = random.Random(f"{model.path.name} {kind}")
    job = model.exact if exact else model.job
    if any(row.verdict == "fail" for row in _rows(job, no_fault, "cascade")):
        return Outcomes()
    for injected in islice(faults(model, choice), TRIES):
        with suppress(NotSimulated, BadExpression):
            rows = blamed(job, injected.fault)
            if all(row.verdict != "fail" or row.role == "operand" for row in rows):
                continue
            culprit = first_culprit(rows)
            right = culprit is not None and culprit.line in injected.lines
            expected = ", ".join(f"line {line}" for line in sorted(injected.lines))
            named = f"{culprit.title}: {culprit.blame.text}" if culprit and culprit.blame else "nothing"
            suspected = bool(culprit and culprit.blame and injected.lines & set(culprit.blame.suspects))
            return Outcomes(right, suspected and not right, f"{injected.text} ({expected}) -> {named}")
    return Outcomes()


def main() -> int:
    """Print a line per fault and the sums."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    arguments = parser.parse_args()
    sums = {kind: Counter[str]() for kind in KINDS}
    models: set[str] = set()
    with TemporaryDirectory() as recorded:
        for path in sorted(p.parent for folder in arguments.folders for p in folder.glob("**/ref.npz")):
            model = Model(path, Path(recorded))
            for kind in KINDS:
                try:
                    found = inject(model, kind)
                except TdbError as error:
                    print(f"{path.name:32} {kind:20} cannot be run: {error}", flush=True)
                    break
                verdict = "-"
                if found.text:
                    models.add(path.name)
                    verdict = "right" if found.right else "suspect" if found.suspected else "WRONG"
                    sums[kind][verdict] += 1
                print(f"{path.name:32} {kind:20} {verdict:8} {found.text}", flush=True)
    print(f"{len(models)} models")
    for kind, count in sums.items():
        named = f"{count['right']} blamed, {count['suspect']} named among the suspects, {count['WRONG']} wrong"
        print(f"{kind:20} {count.total()}: {named}")
    return int(any(count["WRONG"] for count in sums.values()))


if __name__ == "__main__":
    sys.exit(main())
