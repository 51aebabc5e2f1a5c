"""A bmodel of which only the context is there: held against its reference, op by op on the reference's operands."""

from __future__ import annotations

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import read_npz
from tdb_dap.engine.reference.tolerance import Tolerances
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.tools.check.job import Job
from tdb_dap.tools.check.runner import walk
from tdb_dap.tools.check.schema import Row
from tdb_dap.tools.check.team import Alone
from tdb_dap.tools.check.worker import Worker
from tdb_dap.tools.golden.compilation import Files
from tdb_dap.tools.golden.judging import Judged
from tdb_dap.tools.golden.level import Level
from tdb_dap.tools.triage.stages import Stage

_NO_REFERENCE = "it has no reference: give ref.npz beside it, or run triage where model_deploy --debug was run"


def read_inputs(files: Files) -> dict[str, Array]:
    """The net's inputs by name; none if there are none, or they cannot be read."""
    path = files.get("mlir_input")
    try:
        return dict(read_npz(path)) if path is not None else {}
    except BadInput:
        return {}


def compare(stage: Stage, files: Files) -> None:
    """Judge the ops of the bmodel; ``stage.missing`` says why not, if so."""
    bmodel, source, reference = (files.get(name) for name in ("bmodel", "final_mlir", "tpu_output"))
    if bmodel is None or source is None:
        stage.missing = "it has no final.mlir beside it"
        return
    if reference is None:
        stage.missing = _NO_REFERENCE
        return
    try:
        stage.level = Level(stage.title, source)
        rows = _rows(files)
    except TdbError as error:
        stage.missing = f"it could not be compared: {error}"
        return
    ops = {op.line: op for op in stage.level.ops}
    for row in rows:
        if row.role != "operand" and row.line in ops and row.numbers is not None:
            stage.executed.append(
                Judged(
                    row.name,
                    ops[row.line],
                    "bug" if row.verdict == "fail" else "exact" if row.verdict == "pass" else "unknown",
                    "; ".join(row.complaints),
                    error=row.numbers.max_abs,
                )
            )


def _rows(files: Files) -> list[Row]:
    bmodel, reference = files.get("bmodel"), files.get("tpu_output")
    assert bmodel is not None
    assert reference is not None
    worker = Worker(Job(bmodel, files.get("mlir_input"), (reference,), Tolerances.parse([], [])), "standalone")
    try:
        return walk(worker, "standalone", Alone(), lambda done: None).rows
    finally:
        worker.close()
