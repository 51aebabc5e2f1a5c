"""Compiled networks whose weights are compared with those of their layers, and ways to spoil them."""

from __future__ import annotations

import lzma
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.tools.programs import open_program
from tdb_dap.tools.weights.checking import WeightsReport
from tdb_dap.tools.weights.constants import Reader, Words
from tdb_dap.tools.weights.layers import layers_of
from tdb_dap.tools.weights.network import check_network
from tests.samples import DATA

LANES = DATA / "weights"
"""A product over 4 inputs and a filter of each channel, 72 outputs: more than the lanes of each chip."""

Edit = Callable[[Array], None]
"""Changes the bytes of a constant, (lanes, bytes)."""


def lanes(case: str) -> Path:
    """The context of a case such as ``bm1684x_int8asym``."""
    return LANES / f"lanes_{case}"


def checked(context: Path, constant: str = "", edit: Edit | None = None) -> WeightsReport:
    """The report on a network in whose file a constant has been edited in memory."""
    program = open_program(context)
    layers = layers_of(program.context.directory)
    assert isinstance(program, CompiledProgram)
    assert layers is not None
    if edit is not None:
        program.bmodel.payload = np.array(program.bmodel.payload)
        words = _words(program, constant)[1]
        edit(words.held.reshape(_lanes(words), -1))
    return check_network(program, layers)


def spoil(context: Path, constant: str, edit: Edit) -> None:
    """Edit a constant in the file of a context."""
    program = open_program(context)
    assert isinstance(program, CompiledProgram)
    start, words = _words(program, constant)
    packed = context / "compilation.bmodel.xz"
    data = bytearray(lzma.decompress(packed.read_bytes()))
    first = program.bmodel.payload_start + program.stage.weights.start + start
    edit(np.frombuffer(data, np.uint8)[first : first + words.held.size].reshape(_lanes(words), -1))
    packed.unlink()
    packed.with_suffix("").write_bytes(data)


def copied(case: str, into: Path) -> Path:
    """A copy of a case with the files of its layers; returns its context."""
    for file in LANES.glob("lanes*.*"):
        shutil.copyfile(file, into / file.name)
    shutil.copytree(lanes(case), into / f"lanes_{case}")
    return into / f"lanes_{case}"


def _words(program: CompiledProgram, constant: str) -> tuple[int, Words]:
    reader = Reader(program.net.name, program.stage, program.bmodel.bytes_of(program.stage.weights, "the weights"))
    mlir = program.source.mlir
    assert mlir is not None
    op = next(op for op in mlir.by_location[constant] if op.name == "top.Weight")
    words = reader.words(op)
    assert words is not None
    return reader.offsets[op.line], words


def _lanes(words: Words) -> int:
    return words.shape[1] if len(words.shape) == 4 else words.shape[0]
