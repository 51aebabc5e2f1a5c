"""Weights of a bmodel against the compiler's own file of them, byte for byte."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

from tdb_dap.engine.files.reference_files import weights_of
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import open_npz
from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.errors import BadInput
from tdb_dap.system.notices import notice
from tdb_dap.tools.check.schema import OpWeights, OtherWeight, Row, Weights
from tdb_dap.tools.weights.blaming import op_weights

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.source.mlir_file import MlirOp

_TYPE = re.compile(r"-> tensor<(?:\d+x)*([^,]+?), (\d+) : i64>")
_MOST_LISTED = 20


def compared_weights(program: Program) -> Weights | None:
    """Weights compared with those of ``NAME_tpu_addressed_..._weight.npz``; None where there is no such file.

    The file holds each weight as it is at its address. Weights that are packed (4-bit numbers) or compressed are
    otherwise and are counted apart, as are those that the file has in another size. A file of which most weights
    differ is that of another compilation.
    """
    path = weights_of(program.context.mlir)
    mlir = program.source.mlir
    if path is None or mlir is None or not isinstance(program, CompiledProgram):
        return None
    try:
        arrays = open_npz(path)
    except BadInput as error:
        notice(f"weights are not compared: {error}")
        return None
    known = [(op, place) for op in mlir.ops.values() if op.name == "top.Weight" and (place := _place(op)) is not None]
    verdicts = [_compared(program, op, place, arrays) for op, place in known if op.location in arrays]
    equal = verdicts.count("equal")
    others = [verdict for verdict in verdicts if isinstance(verdict, OtherWeight)]
    if len(others) > equal:
        notice(f"weights are not compared: {path} is of another compilation, {len(others):,} of its weights differ")
        return None
    count = sum(op.name == "top.Weight" for op in mlir.ops.values())
    listed = tuple(others[:_MOST_LISTED])
    return Weights(file=str(path), equal=equal, unknown=count - equal - len(others), differ=len(others), others=listed)


def weights_of_op(program: Program, culprit: Row | None) -> OpWeights | None:
    """The weights of the op of the first wrong result; read only then, so that a check without one is as fast."""
    if culprit is None or not culprit.is_own_fault:
        return None
    result = op_weights(program, (culprit.line,))
    if result is None:
        return None
    return OpWeights(wrong=result.wrong, proven=result.proven, untraced=result.untraced, text=result.text)


def _compared(
    program: CompiledProgram, op: MlirOp, place: int, arrays: Mapping[str, Array]
) -> OtherWeight | Literal["equal", "unknown"]:
    """A weight at its address against the compiler's array of it."""
    stage = program.stage
    held = program.bmodel.bytes_of(stage.weights, "the weights")
    wanted = np.frombuffer(np.ascontiguousarray(arrays[op.location]).tobytes(), np.uint8)
    start = place - stage.weights_address
    words = held[start : start + wanted.size] if start >= 0 else held[:0]
    if words.size != wanted.size:
        return "unknown"
    wrong = np.flatnonzero(words != wanted)
    if not wrong.size:
        return "equal"
    return OtherWeight(name=op.location, line=op.line, size=wanted.size, differing=wrong.size, first=int(wrong[0]))


def _place(op: MlirOp) -> int | None:
    """Device address of a weight; None for one that is not as the file has it."""
    match = _TYPE.search(op.text)
    if match is None or op.attributes.get("do_compress") is True or match[1].lstrip("su") == "i4":
        return None
    return int(match[2])
