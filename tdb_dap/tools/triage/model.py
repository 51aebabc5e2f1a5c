"""The last stage: the bmodel, run on the simulator, each op judged by the tpu dialect's meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.commands.commands import Command
from tdb_dap.engine.compare.recording import Recorder
from tdb_dap.engine.control.inspector import Inspector
from tdb_dap.engine.control.observers import Observer
from tdb_dap.engine.control.stops import Finding
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.npz import write_npz
from tdb_dap.engine.program.program import Program
from tdb_dap.engine.sanitizers import chosen, made
from tdb_dap.engine.sanitizers.bounds import leaves_buffers
from tdb_dap.engine.sanitizers.hazards import NAME as HAZARD
from tdb_dap.engine.sanitizers.survey import known_ahead, survey
from tdb_dap.errors import TdbError
from tdb_dap.system.scratch import scratch_directory
from tdb_dap.tools.golden.judging import executed
from tdb_dap.tools.opening import open_debugger
from tdb_dap.tools.programs import is_dynamic, open_program
from tdb_dap.tools.triage.stages import MODEL, NOT_JUDGED, Stage

_NAN = "nan"
"""Name of the sanitizer."""


def _accused(program: Program, finding: Finding) -> str:
    """The tensor whose op a finding is about; not one that is only loaded, if there is another."""
    names = [
        record
        for ordinal in (finding.focus, *finding.related)
        for record in program.source.records_of(ordinal)
        if record.results
    ]
    names.sort(key=lambda record: record.opcode == "tpu.Load")
    return names[0].results[0].name if names else ""


class Races(Observer):
    """Follows the writers of races: ``idle`` are those that write what is there already, in either order the same."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self._writers = {writer for finding in findings if (writer := _writer(finding)) is not None}
        self._before: list[Array] = []
        self.idle: set[int] = set()

    def before_command(self, inspector: Inspector, command: Command) -> None:
        if command.ordinal in self._writers:
            self._before = _results(inspector, command)

    def after_command(self, inspector: Inspector, command: Command) -> None:
        if command.ordinal in self._writers:
            after = _results(inspector, command)
            if after and all(map(np.array_equal, self._before, after)):
                self.idle.add(command.ordinal)


def _results(inspector: Inspector, command: Command) -> list[Array]:
    return [inspector.memory.read(view) for view in command.results if isinstance(view, View)]


def _writer(finding: Finding) -> int | None:
    """The one command of a race that writes; None if both do, or it is no race."""
    if finding.filter != HAZARD or len(finding.details) != 2 or not finding.related:
        return None
    ordinals = [
        ordinal
        for ordinal, text in zip((finding.related[0], finding.focus), finding.details, strict=True)
        if text.startswith("writes")
    ]
    return ordinals[0] if len(ordinals) == 1 else None


def _weighed(finding: Finding, races: Races, is_spoiled: bool) -> Finding:
    """A finding that changes no tensor in any order becomes a warning."""
    if _writer(finding) in races.idle:
        return replace(finding, severity="warning", text=f"{finding.text}; it writes what is there already")
    if finding.filter == _NAN and not is_spoiled:
        return replace(finding, severity="warning", text=f"{finding.text}; no tensor holds them")
    return finding


def _without_harm(finding: Finding) -> Finding:
    """A finding in a run whose ops compute what they should: a write beyond buffers has destroyed nothing."""
    if not leaves_buffers(finding):
        return finding
    return replace(finding, severity="warning", text=f"{finding.text}; no tensor is spoiled by it")


def _knows_ops(program: Program) -> bool:
    """Whether a run of a dynamic bmodel was recorded, and it is certain which commands are those of each op."""
    records = program.source.records
    return not is_dynamic(program) and len(records) > 0 and all(record.is_certain for record in records)


def run(
    bmodel: Path, before: Stage | None, inputs: Mapping[str, Array], progress: Callable[[int], None]
) -> tuple[Stage, list[Finding]]:
    """The stage of a bmodel and what the sanitizers find; ``missing`` says why it did not run, if so."""
    stage = Stage(MODEL, bmodel)
    recorder = Recorder()
    try:
        with scratch_directory() as folder:
            data = folder / "inputs.npz"
            write_npz(data, inputs)
            is_made_in_run = is_dynamic(open_program(bmodel))
            debugger = open_debugger(Context.find(bmodel).bmodel, data if inputs else None, history_limit=0)
        is_judged = not is_made_in_run or _knows_ops(debugger.program)
        try:
            names = chosen(["all"]) if is_judged else {}
            if is_made_in_run:  # what a recording cannot tell was not asked for
                names.pop(HAZARD, None)
            sanitizers = made(names, [])
            races = Races(known_ahead(debugger, sanitizers.values()))
            result = survey(debugger, {"": recorder, **sanitizers, " ": races}, progress)
        finally:
            debugger.close()
    except TdbError as error:
        stage.stopped = f"was not run: {error}"
        stage.missing = f"it {stage.stopped}"
        return stage, []
    # The outputs of a static bmodel are results of its ops: without these, nothing of it is to be judged.
    knows_any = is_made_in_run or bool(debugger.program.source.records)
    stage.tensors = recorder.arrays if knows_any else {}
    if debugger.program.inputs and not any(array.any() for array in inputs.values()):
        stage.has_only_zeros = True
        stage.missing = f"its inputs were zeros, as there is no test input: {NOT_JUDGED}"
    is_spoiled = any(not np.isfinite(array).all() for array in recorder.arrays.values())
    weighed = [_weighed(finding, races, is_spoiled) for finding in result.findings]
    # Uninitialised bytes are often those of a missing wait: a hazard comes first.
    findings = sorted(weighed, key=lambda one: (one.severity != "error", one.filter != HAZARD))
    if findings and findings[0].severity == "error":
        stage.accused = _accused(debugger.program, findings[0])
    if result.stopped:
        stage.stopped = f"did not run to its end: {result.stopped}"
        stage.missing = f"it {stage.stopped}"
    stage.is_dynamic = is_made_in_run
    if not is_judged:
        stage.missing = f"its dynamic subnets make their commands while they run: {NOT_JUDGED}"
    elif before is not None and before.level is not None:
        stage.level = before.level
        known = {**inputs, **stage.tensors}
        stage.executed = executed(before.level, known)
        if not any(one.verdict == "bug" for one in stage.executed):
            findings = sorted(map(_without_harm, findings), key=lambda one: one.severity != "error")
            if not findings or findings[0].severity != "error":
                stage.accused = ""
    return stage, findings
