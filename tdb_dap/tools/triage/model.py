"""The last stage: the bmodel, run on the simulator, each op judged by the tpu dialect's meaning."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from tdb_dap.engine.compare.recording import Recorder
from tdb_dap.engine.control.stops import Finding
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import write_npz
from tdb_dap.engine.program.program import Program
from tdb_dap.engine.sanitizers import chosen, made
from tdb_dap.engine.sanitizers.hazards import NAME as HAZARD
from tdb_dap.engine.sanitizers.survey import survey
from tdb_dap.errors import TdbError
from tdb_dap.tools.golden.judging import executed
from tdb_dap.tools.opening import is_dynamic, open_debugger, open_program
from tdb_dap.tools.triage.stages import MODEL, Stage


def _accused(program: Program, finding: Finding) -> str:
    """The tensor whose op a finding is about; not one that is only loaded, if there is another."""
    found = [
        record
        for ordinal in (finding.focus, *finding.related)
        for record in program.source.records_of(ordinal)
        if record.results
    ]
    found.sort(key=lambda record: record.opcode == "tpu.Load")
    return found[0].results[0].name if found else ""


def run(
    bmodel: Path, before: Stage | None, inputs: Mapping[str, Array], progress: Callable[[int], None]
) -> tuple[Stage, list[Finding]]:
    """The stage of a bmodel and what the sanitizers find; ``missing`` says why it did not run, if so."""
    stage = Stage(MODEL, bmodel)
    recorder = Recorder()
    try:
        with tempfile.TemporaryDirectory(prefix="tdb-dap-") as folder:
            data = Path(folder) / "inputs.npz"
            write_npz(data, inputs)
            is_static = not is_dynamic(open_program(bmodel))
            debugger = open_debugger(Context.find(bmodel).bmodel, data if inputs else None, history_limit=0)
        try:
            sanitizers = made(chosen(["all"]), []) if is_static else {}
            found = survey(debugger, {"": recorder, **sanitizers}, progress)
        finally:
            debugger.close()
    except TdbError as error:
        stage.stopped = f"was not run: {error}"
        stage.missing = f"it {stage.stopped}"
        return stage, []
    stage.tensors = recorder.arrays
    # What nobody has written is often what was not waited for: a hazard comes first.
    findings = sorted(found.findings, key=lambda one: (one.severity != "error", one.filter != HAZARD))
    if findings and findings[0].severity == "error":
        stage.accused = _accused(debugger.program, findings[0])
    if found.stopped:
        stage.stopped = f"did not run to its end: {found.stopped}"
        stage.missing = f"it {stage.stopped}"
    if not is_static:
        stage.missing = "its dynamic subnets make their commands while they run: tensors in it are not judged"
    elif before is not None and before.level is not None:
        stage.level = before.level
        known = {**inputs, **stage.tensors}
        stage.executed = executed(before.level, known)
    return stage, findings
