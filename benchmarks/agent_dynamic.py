"""Models with dynamic subnets whose weights are not numbers, for benchmarks/agent.py.

The vendor's runtime makes their commands, so the agent's server records a run when it opens one. The op at fault is the
first that computes with the weight.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tdb_dap.engine.bmodel import Bmodel
from tdb_dap.engine.compare.recording import record
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.npz import write_npz
from tdb_dap.engine.program.program import Program
from tdb_dap.errors import TdbError
from tdb_dap.tools.opening import open_debugger

DATA = Path(__file__).parent.parent / "tests" / "data"
MODELS = (
    "bm1684x/toy_bm1684x_f32dyn",
    "bm1688/toy_bm1688_f16dyn",
    "bm1690/toy_bm1690_f16dyn",
    "memory/dynamic_conv_bm1684x_f32",
)


def faults() -> Iterator[tuple[str, str, frozenset[str], Callable[[Path], Path | None]]]:
    """Model, weight, the tensors of which any is the op at fault, and what makes a context directory."""
    for name in MODELS:
        path = DATA / name
        try:
            debugger = open_debugger(path, path / "input.npz", history_limit=0)
        except TdbError:  # the vendor's runtime is missing
            continue
        try:
            weights = _weights(debugger.program)
            stored = {weight: debugger.machine.memory.read(view).tobytes() for weight, view in weights.items()}
            tensors = record(debugger)
            for weight, words in stored.items():
                at_fault = computed_with(debugger.program, weight)
                yield path.name, weight, at_fault, _maker(path, words, weights[weight].dtype.itemsize, tensors)
        finally:
            debugger.close()


def _weights(program: Program) -> dict[str, View]:
    """Weights of floats that commands read from the memory of the device: name -> view."""
    mlir = program.source.mlir
    names = {n for op in (mlir.ops.values() if mlir else ()) if op.name == "top.Weight" for n in op.locations}
    return {
        operand.name: operand.view
        for source in program.source.records
        for operand in source.operands
        if operand.name in names
        and operand.view is not None
        and operand.view.space is Space.GLOBAL
        and operand.view.dtype.is_float
    }


def computed_with(program: Program, weight: str) -> frozenset[str]:
    """Tensors of the first ops that compute with a weight, and of those that load it."""
    carried, tensors = {weight}, set[str]()
    for source in program.source.records:
        if any(value.name in carried for value in source.operands):
            names = {value.name for value in source.results}
            if source.opcode == "tpu.Load":
                carried |= names
            else:
                tensors |= names
    return frozenset(tensors | carried)


def _maker(path: Path, words: bytes, width: int, tensors: Mapping[str, Array]) -> Callable[[Path], Path | None]:
    return lambda folder: _made(path, words, width, tensors, folder)


def _made(path: Path, words: bytes, width: int, tensors: Mapping[str, Array], folder: Path) -> Path | None:
    """A copy whose weight is NaN; None if its words are not in the file once, as they are in memory."""
    context = folder / "model"
    shutil.copytree(path, context, ignore=shutil.ignore_patterns("*.bmodel*", "*.json", "disasm*", "trace*", "check*"))
    bmodel = Bmodel(next(path.glob("*.bmodel*")))
    payload = bmodel.payload.tobytes()
    if payload.count(words) != 1:
        return None
    copy = context / "compilation.bmodel"
    bmodel.copy_to(copy)
    nan = b"\x00\x00\xc0\x7f" if width == 4 else b"\x00\x7e"
    with copy.open("r+b") as file:
        file.seek(bmodel.payload_start + payload.index(words))
        file.write(nan * (len(words) // width))
    write_npz(context / "ref.npz", tensors)
    return context
