"""From a context directory to a debugger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path

from tdb_dap.backends.choice import make_backend
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.input_data import load_inputs
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.machine.npz import read_npz
from tdb_dap.engine.machine.undo_log import DEFAULT_LIMIT
from tdb_dap.engine.program.program import Program
from tdb_dap.engine.reference.reference import Reference, Tolerance, Tolerances
from tdb_dap.engine.source.mapped_tensor import layer_names
from tdb_dap.errors import BadInput
from tdb_dap.system.remarks import picked_up, sources_missing
from tdb_dap.targets.chips.registry import target_for

File = str | PathLike[str]
Progress = Callable[[str], None]


def open_program(context: File, net: str | None = None, stage: int = 0, fast: bool = False) -> Program:
    """Read and decode one net of a compiled model; BadInput says what is wrong with it. ``fast``: ``Chip.inexact``."""
    make = (lambda chip, file: target_for(chip, file).inexact()) if fast else target_for
    return Program(Context.find(Path(context)), make, net, stage)


def open_debugger(
    context: File,
    inputs: File | None = None,
    reference: File | Sequence[File] = (),
    backend: str = "numpy",
    static_tables: str = "firmware",
    progress: Progress | None = None,
    tolerance: Tolerance | Tolerances | None = None,
    history_limit: int = DEFAULT_LIMIT,
    cmodel_path: File | None = None,
    net: str | None = None,
    stage: int = 0,
    fast: bool = False,
    backend_token: str | None = None,
    make: Callable[[Program, Machine, Reference | None], Debugger] = Debugger,
) -> Debugger:
    """See ``tdb_dap.open``. ``fast``: results are not exact, for speed; whoever shows them must say so.

    ``make``: the kind of debugger.
    """
    if fast and backend != "numpy":
        raise BadInput(f"a fast run has no backend {backend!r}: only numpy can leave exactness")
    if static_tables not in ("firmware", "tdb"):
        raise BadInput(f"static tables {static_tables!r} are not known; use 'firmware' or 'tdb'")
    say = progress or (lambda text: None)
    say("reading the model")
    program = open_program(context, net, stage, fast)
    library = Path(cmodel_path) if cmodel_path is not None else None
    executing = make_backend(backend, program, library, backend_token)
    machine = Machine(program, static_tables, history_limit, executing)
    _ask_the_vendor(program, machine, library)
    files = [reference] if isinstance(reference, str | PathLike) else list(reference)
    paths = [Path(file) for file in files]
    beside = program.context
    picked_up(inputs=beside.inputs if inputs is None else None, reference=beside.reference if not paths else None)
    data = Path(inputs) if inputs is not None else beside.inputs
    if data is not None:
        say("reading the inputs")
        machine.load_inputs(load_inputs(data, program.inputs))
    if not paths and beside.reference is not None:
        paths = [beside.reference]
    compared: Reference | None = None
    if paths:
        say("reading the reference")
        expected = [_reference_data(path, data, backend, cmodel_path, backend_token) for path in paths]
        compared = Reference(paths, expected, tolerance)
        compared.check_names(_names(program))
    return make(program, machine, compared)


def remark_sources(program: Program) -> None:
    """Remark what is missing of a model that was compiled without ``--debug``."""
    sources_missing(program.context.bmodel, program.context.mlir, program.context.locations)


def _reference_data(
    path: Path, inputs: Path | None, backend: str, cmodel_path: File | None, token: str | None
) -> dict[str, Array]:
    """Tensors by name, of an npz file or of another compiled model that is run on the same inputs."""
    if path.suffix == ".npz" or not (path.is_dir() or ".bmodel" in path.suffixes):
        return read_npz(path)
    from tdb_dap.engine.compare.recording import record

    other = open_debugger(path, inputs, backend=backend, history_limit=0, cmodel_path=cmodel_path, backend_token=token)
    try:
        return record(other)
    finally:
        other.close()


def _ask_the_vendor(program: Program, machine: Machine, given: Path | None) -> None:
    """Let the vendor's runtime give the outputs of dynamic subnets, where there are such and it is installed."""
    if not any(subnet.run_mode == "TPU_DYNAMIC" and subnet.stop > subnet.start for subnet in program.subnets):
        return
    from tdb_dap.backends import runtime

    executable = runtime.find(given)
    if executable is not None:
        library = target_for(program.chip, str(program.context.bmodel)).vendor_library
        kernel = library.kernel_module if library else ""
        machine.sources.append(runtime.VendorRuntime(executable, program, lambda: machine.inputs, kernel))


def _names(program: Program) -> set[str]:
    """Every tensor name that reference data can be about."""
    names = {tensor.name for tensor in (*program.inputs, *program.outputs)}
    for record in program.source.records:
        for value in (*record.operands, *record.results):
            names.update(layer_names(value.name))
    return names
