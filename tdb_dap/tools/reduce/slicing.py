"""One op of a bmodel with the commands that it needs: the others do nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.runs import Runs
from tdb_dap.engine.machine.npz import write_npz
from tdb_dap.engine.program.accesses import Accesses, views_of
from tdb_dap.engine.program.program import Program
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.targets.chips.registry import target_for
from tdb_dap.tools.export.folder import export
from tdb_dap.tools.golden.level import Level
from tdb_dap.tools.opening import open_debugger
from tdb_dap.tools.patch.editor import Editor
from tdb_dap.tools.programs import open_program
from tdb_dap.tools.reduce.cases import NAME
from tdb_dap.tools.triage import model
from tdb_dap.tools.triage.schema import Triage
from tdb_dap.tools.triage.stages import Stage


class Sliced(Struct, frozen=True):
    """``commands``: those that still do something, of ``before``; ``own``: those of the op itself; ``opcode``: its."""

    opcode: str
    own: int
    commands: int
    before: int


def slice_of(program: Program, ordinals: Iterable[int]) -> list[int]:
    """Those commands and all whose bytes they read, directly or through others; in the order of execution."""
    accesses = Accesses(program.commands)
    kept: set[int] = set()
    todo = list(ordinals)
    while todo:
        ordinal = todo.pop()
        if ordinal in kept:
            continue
        kept.add(ordinal)
        for view in views_of(program.commands[ordinal], is_write=False):
            todo += _writers(program, accesses, ByteRanges.of(view), ordinal)
    return sorted(kept)


def _writers(program: Program, accesses: Accesses, place: ByteRanges, before: int) -> list[int]:
    """The commands that have written what is in a byte range before a command."""
    writers: list[int] = []
    runs = place.runs
    while runs.size:
        rest = ByteRanges(place.space, place.core, runs)
        writer = accesses.last_writer(rest, before, lambda ordinal: False)
        if writer is None:
            break
        writers.append(writer)
        for view in views_of(program.commands[writer], is_write=True):
            written = ByteRanges.of(view)
            if (written.space, written.core) == (place.space, place.core):
                runs = _without(runs, written.runs)
        before = writer
    return writers


def _without(runs: Runs, others: Runs) -> Runs:
    """Bytes of ``runs`` that are not in ``others``."""
    edges = np.unique(np.concatenate([runs.reshape(-1), others.reshape(-1)]))
    starts, stops = edges[:-1], edges[1:]
    wanted = _holds(runs, starts) & ~_holds(others, starts)
    return np.stack([starts[wanted], stops[wanted]], axis=1)


def _holds(runs: Runs, positions: Array) -> Array:
    index = np.searchsorted(runs[:, 0], positions, "right") - 1
    return (index >= 0) & (positions < runs[np.maximum(index, 0), 1])


def sliced(bmodel: Path, triage: Triage, before: Stage | None, inputs: dict[str, Array], folder: Path) -> Sliced | None:
    """Write the op as a bmodel and as commands with their bytes into a folder; None if it is right there.

    ``before``: stage tpu, for what the op should give. BadInput where the chip has no command that does nothing.
    """
    program = open_program(bmodel)
    records = [
        record
        for record in program.source.records
        if record.ordinals and any(value.name == triage.tensor for value in record.results)
    ]
    records = [record for record in records if record.opcode != "tpu.Load"] or records
    own = sorted({ordinal for record in records for ordinal in record.ordinals})
    if not own:
        raise BadInput(f"{bmodel}: no command belongs to {triage.tensor}")
    folder.mkdir(parents=True)
    write_npz(folder / "inputs.npz", inputs)
    kept = slice_of(program, own)
    reduced = folder / NAME / "compilation.bmodel"
    reduced.parent.mkdir()
    with Editor(program, reduced) as editor:
        editor.keep(kept)
    for path, name in ((program.context.mlir, "final.mlir"), (program.context.locations, "tensor_location.json")):
        if path is not None:
            suffix = ".xz" if path.name.endswith(".xz") else ""
            (reduced.parent / f"{name}{suffix}").write_bytes(path.read_bytes())
    if not _fails_alike(bmodel, reduced, triage, inputs):
        return None
    debugger = open_debugger(bmodel, folder / "inputs.npz", history_limit=0)
    try:
        title = f"{records[0].opcode} {triage.tensor}"
        export(debugger, target_for(program.chip, str(bmodel)), records, folder / "commands", title)
    finally:
        debugger.close()
    _write_numbers(bmodel, triage, before, inputs, folder)
    return Sliced(records[0].opcode, len(own), len(kept), len(program.commands))


def _fails_alike(bmodel: Path, reduced: Path, triage: Triage, inputs: dict[str, Array]) -> bool:
    """Whether the op has the same numbers as in the whole, or the sanitizers find the same."""
    stage, findings = model.run(reduced, None, inputs, lambda done: None)
    if triage.verdict == "fault":
        return any(one.severity == "error" for one in findings) and stage.accused == triage.tensor
    original, _ = model.run(bmodel, None, inputs, lambda done: None)
    one, other = stage.tensors.get(triage.tensor), original.tensors.get(triage.tensor)
    return one is not None and other is not None and np.array_equal(one, other, equal_nan=True)


def _write_numbers(bmodel: Path, triage: Triage, before: Stage | None, inputs: dict[str, Array], folder: Path) -> None:
    """``actual.npz``: the chip's; ``expected.npz``: what follows from the operands that the chip had."""
    stage, _ = model.run(bmodel, before, inputs, lambda done: None)
    if triage.tensor in stage.tensors:
        write_npz(folder / "actual.npz", {triage.tensor: np.asarray(stage.tensors[triage.tensor], np.float32)})
    if before is None or before.level is None or triage.tensor not in before.level.by_name:
        return
    expected = expected_of(before.level, triage.tensor, {**inputs, **stage.tensors})
    if expected is not None:
        write_npz(folder / "expected.npz", {triage.tensor: expected})


def expected_of(level: Level, tensor: str, tensors: dict[str, Array]) -> Array | None:
    """A tensor from the operands of its op, as its format holds it; None if they are not known."""
    op = level.by_name[tensor]
    known = {name: tensors[name] for name in level.operand_names(op) if name in tensors}
    try:
        results, _ = level.run(known, is_rounded=True, ops=(op,))
    except TdbError:
        return None
    return np.asarray(results[tensor], np.float32) if tensor in results else None
