"""Comparing two compiled models: their structure, then the tensors they compute from the same inputs."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.engine.bmodel import input_shapes
from tdb_dap.engine.compare.alignment import Difference, Layer, align
from tdb_dap.engine.hardware.strides import is_same_order
from tdb_dap.errors import NotSimulated
from tdb_dap.tools.check.runner import walk
from tdb_dap.tools.check.team import Alone
from tdb_dap.tools.check.worker import Job, Worker
from tdb_dap.tools.diff.schema import Change, DiffReport, LayerChange, LayerOf, Side
from tdb_dap.tools.model_options import ModelOptions
from tdb_dap.tools.programs import open_program
from tdb_dap.version import __version__

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.reference.tolerance import Tolerances
    from tdb_dap.tools.check.schema import Row
    from tdb_dap.tools.check.team import Progress


def compare_models(
    a: Path,
    b: Path,
    inputs: Path | None,
    tolerances: Tolerances,
    progress: Progress,
    values: bool = True,
    backend: str = "numpy",
    cmodel_path: Path | None = None,
) -> DiffReport:
    """The report about two models. ``values``: run both on ``inputs``; ``progress``: commands of B that are done."""
    first, second = open_program(a), open_program(b)
    aligned = align(first, second)
    rows: tuple[Row, ...] = ()
    unlike = _unlike_inputs(first, second) if values else ""
    why = unlike if values else "not asked for"
    if not why:
        job = Job(ModelOptions(b, inputs, (a,), backend, cmodel_path=cmodel_path), tolerances)
        try:
            with closing(Worker(job, "cascade")) as worker:
                walked = walk(worker, "cascade", Alone(), progress)
        except NotSimulated as error:
            why = str(error)
        else:
            rows, why = tuple(walked.rows), walked.stopped
    return DiffReport(
        tool=f"tdb-dap {__version__}",
        a=_side(first),
        b=_side(second),
        common=len(aligned.pairs),
        only_a=_only(aligned.only_a),
        only_b=_only(aligned.only_b),
        layers=tuple(
            LayerChange(name=pair.name, line_a=pair.a.line, line_b=pair.b.line, changes=_changes(pair.differences))
            for pair in aligned.pairs
            if pair.differences
        ),
        instructions=_changes(aligned.mnemonics),
        values=rows,
        not_compared=why,
        unlike_inputs=bool(unlike),
    )


def _unlike_inputs(a: Program, b: Program) -> str:
    """Why two programs cannot be run on the same inputs; empty if they can."""
    pairs = zip(a.inputs, b.inputs, strict=False)
    if len(a.inputs) == len(b.inputs) and all(is_same_order(x.shape, y.shape) for x, y in pairs):
        return ""
    return f"A takes {input_shapes(a.stage)}, B takes {input_shapes(b.stage)}: no inputs fit both"


def _side(program: Program) -> Side:
    return Side(
        model=str(program.context.bmodel),
        net=program.net.name,
        chip=program.chip,
        compiler=program.compiler,
        commands=program.commands.count_engines(0, len(program.commands)),
    )


def _only(layers: dict[str, Layer]) -> tuple[LayerOf, ...]:
    return tuple(LayerOf(name=name, line=layer.line, opcode=layer.opcode) for name, layer in layers.items())


def _changes(differences: tuple[Difference, ...]) -> tuple[Change, ...]:
    return tuple(Change(what=change.what, a=change.a, b=change.b) for change in differences)
