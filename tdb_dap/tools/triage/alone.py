"""A bmodel with its context alone: checked against its reference, op by op on the reference's operands."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import read_npz
from tdb_dap.engine.reference.comparison import Comparison
from tdb_dap.engine.reference.comparison import compare as compare_numbers
from tdb_dap.engine.reference.tolerance import Tolerances
from tdb_dap.errors import BadInput, NotSimulated, TdbError
from tdb_dap.tools.check.runner import walk
from tdb_dap.tools.check.schema import Row
from tdb_dap.tools.check.team import Alone
from tdb_dap.tools.check.worker import Job, Worker
from tdb_dap.tools.golden.files.compilation import Files
from tdb_dap.tools.golden.judging import Judged
from tdb_dap.tools.golden.level import Level
from tdb_dap.tools.model_options import ModelOptions
from tdb_dap.tools.triage.stages import NOT_JUDGED, Stage

_ONE = 1.01
"""Steps that a number may be off by another rounding."""

_MOST_ROUNDED = 0.5
"""Share of numbers that another rounding may change: those in the middle of two steps."""

_NO_REFERENCE = "it has no reference: give ref.npz next to it, or run triage where model_deploy --debug was run"


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
        stage.missing = "it has no final.mlir next to it"
        return
    if reference is None:
        stage.missing = _NO_REFERENCE
        return
    try:
        stage.level = Level(stage.title, source)
        # The commands of a dynamic subnet are made in the run; which of them belong to which op is not always certain.
        rows = [] if stage.is_dynamic else _rows(files)
        rows = [row for row in rows if row.role == "result" and row.numbers is not None]
        outputs = [] if rows else list(_outputs(files))
    except TdbError as error:
        stage.missing = f"it could not be compared: {error}"
        return
    ops = {op.line: op for op in stage.level.ops}
    for row in rows:
        if row.line in ops and row.numbers is not None:
            verdict, reason = _judged(row, stage.level)
            stage.executed.append(Judged(row.name, ops[row.line], verdict, reason, error=row.numbers.max_abs))
    for output in outputs:
        op = stage.level.by_name.get(output.name) or next(reversed(stage.level.ops), None)
        if op is not None:
            verdict, reason = ("bug", "; ".join(output.complaints)) if output.complaints else ("exact", "")
            stage.executed.append(Judged(output.name, op, verdict, reason, error=output.metrics.max_abs))
    if outputs:
        stage.missing = f"{stage.missing.removesuffix(NOT_JUDGED)}only the outputs are judged"


def _judged(row: Row, level: Level) -> tuple[str, str]:
    """Verdict and reason. Where the reference was rounded to a step, one step off is what another rounding gives."""
    assert row.numbers is not None
    if row.verdict != "fail":
        return ("exact" if row.verdict == "pass" else "unknown"), ""
    kind = level.type_named(row.name)
    step = kind.scale if kind is not None and kind.is_quantised else 0.0
    if row.numbers.max_abs <= _ONE * step and row.numbers.bad_share <= _MOST_ROUNDED:
        return "quantisation", ""
    return "bug", "; ".join(row.complaints)


def _outputs(files: Files) -> Iterator[Comparison]:
    """The outputs of a whole run against the reference's."""
    debugger = _job(files).open()
    try:
        reference = debugger.reference
        assert reference is not None
        stop = debugger.run()
        if stop.finding is not None:
            raise NotSimulated(stop.text)
        arrays = debugger.outputs()
        for tensor in debugger.program.outputs:
            expected = reference.whole(tensor.name)
            actual = np.asarray(arrays[tensor.name], np.float32)
            if expected is not None and expected.size == actual.size:
                tolerance = reference.tolerances.of(tensor.name, tensor.dtype.name)
                wanted = expected.astype(np.float32)
                yield compare_numbers(
                    tensor.name, actual.reshape(wanted.shape), wanted, tolerance, tensor.dtype, abs(tensor.scale) or 1.0
                )
    finally:
        debugger.close()


def _job(files: Files) -> Job:
    bmodel, reference = files.get("bmodel"), files.get("tpu_output")
    assert bmodel is not None
    assert reference is not None
    return Job(ModelOptions(bmodel, files.get("mlir_input"), (reference,)), Tolerances.parse([], []))


def _rows(files: Files) -> list[Row]:
    worker = Worker(_job(files), "standalone")
    try:
        return walk(worker, "standalone", Alone(), lambda done: None).rows
    finally:
        worker.close()
