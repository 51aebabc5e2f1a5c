"""From a context directory to a debugger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.backends.choice import make_backend, remote_address
from tdb_dap.engine.bmodel import stages_text
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.strides import is_same_order
from tdb_dap.engine.machine.input_data import InputData, load_inputs
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.machine.undo_log import DEFAULT_LIMIT
from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.engine.program.program import Program
from tdb_dap.engine.rendering.printable import quoted
from tdb_dap.engine.source.mapped_tensor import layer_names
from tdb_dap.errors import BadInput
from tdb_dap.system.notices import notice, picked_up
from tdb_dap.system.scratch import scratch_directory
from tdb_dap.targets.chips.registry import chip_of_library, target_for
from tdb_dap.tools.programs import RECORDING, File, is_dynamic, keep_source, open_program

if TYPE_CHECKING:
    from tdb_dap.backends.runtime import VendorRuntime
    from tdb_dap.engine.program.recorded_program import RecordedProgram
    from tdb_dap.engine.reference.reference import Reference, Tolerance, Tolerances
    from tdb_dap.engine.source.op_records import OpRecord

Progress = Callable[[str], None]
_EVALUATED = (".mlir", ".onnx")
"""Suffixes of references that are evaluated on the inputs."""


def read_inputs(data: Path, program: Program) -> dict[str, Array]:
    """Stored words of the inputs in a file; BadInput also names the stages, where the net has several.

    For a net that takes them in the shapes of the arrays, as far as these are no larger than what was compiled.
    """
    try:
        if isinstance(program, CompiledProgram) and program.stage.takes_other_shapes:
            contents = InputData.read(data)
            return contents.words(contents.shaped(program.inputs))
        return load_inputs(data, program.inputs)
    except BadInput as error:
        stages = program.net.stages
        if len(stages) < 2:
            raise
        contents = InputData.read(data)
        fitting = next((number for number, stage in enumerate(stages) if contents.fits(stage.inputs)), None)
        hint = f"stage {fitting} takes it" if fitting is not None else f"the stages take {stages_text(program.net)}"
        raise BadInput(f"{error}; {hint}") from None


def _require_compiled_shapes(program: CompiledProgram, words: Mapping[str, Array], data: Path | None) -> None:
    """BadInput for inputs in other shapes, where no run was recorded for them."""
    for tensor in program.inputs:
        own = words[tensor.name].shape if tensor.name in words else tensor.shape
        if own != tensor.shape:
            raise BadInput(
                f"{data}: {tensor.name} has shape {list(own)}, the model was compiled for {list(tensor.shape)}; other "
                "shapes of a dynamic model are run by the vendor's runtime, which made no recording here: see "
                "tdb-dap backends"
            )


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
    stage: int | None = None,
    fast: bool = False,
    lenient: bool = False,
    backend_token: str | None = None,
    recording: File | None = None,
    defers: bool = False,
    make: Callable[[Program, Machine, Reference | None], Debugger] = Debugger,
) -> Debugger:
    """See ``tdb_dap.open``. ``fast``: results are not exact, for speed; whoever shows them must say so.

    ``lenient``: illegal commands are computed, too.

    ``stage``: None: the one that takes the inputs; ``recording``: of a run of the model, in place of its dynamic
    subnets, or ``remote:HOST:PORT``: a server that makes one; ``defers``: arrays of a large reference are verified
    when they are first read, the rest by ``Reference.verify``; ``make``: the kind of debugger.
    """
    if fast and backend != "numpy":
        raise BadInput(f"a fast run has no backend {quoted(backend)}: only numpy can leave exactness")
    if static_tables not in ("firmware", "tdb"):
        raise BadInput(f"static tables {quoted(static_tables)} are not known; use 'firmware' or 'tdb'")
    say = progress or (lambda text: None)
    say("reading the model")
    # The vendor's debugger, whose tables these are, gives no separate tensor memory.
    program = open_program(context, net, stage, fast, inputs, static_tables == "tdb", lenient)
    library = Path(cmodel_path) if cmodel_path is not None else None
    if program.brings_inputs and (inputs is not None or recording is not None):
        raise BadInput(f"{context}: a recording holds its inputs; leave {inputs or recording} out")
    if not program.is_executable:
        raise BadInput(
            f"{context}: holds command streams and no memory, so nothing can be executed; dis, info and profile can be "
            "used"
        )
    if program.brings_inputs and backend != "numpy":
        raise BadInput(f"{context}: a recording is replayed by the built-in simulator; leave the backend {backend} out")
    files = [reference] if isinstance(reference, str | PathLike) else list(reference)
    paths = [Path(file) for file in files]
    context_files = program.context
    own_inputs = context_files.inputs if inputs is None else None
    if paths:
        picked_up(inputs=own_inputs)
    data = Path(inputs) if inputs is not None else context_files.inputs
    words: dict[str, Array] = {}
    if data is not None and not program.brings_inputs:
        say("reading the inputs")
        try:
            words = read_inputs(data, program)
        except BadInput as error:
            if inputs is not None or data.suffix == ".dat":  # of the context for certain
                raise
            notice(f"not used as the inputs: {error}")
            data = own_inputs = None
    sources: list[VendorRuntime] = []
    if isinstance(program, CompiledProgram):
        if recording is not None:
            program = _recorded_as_asked(program, words, str(recording), backend_token, say)
        elif is_dynamic(program):
            say("running the model on the vendor's runtime")
            # The vendor's debugger executes no dynamic subnets: with it a model stays as it was compiled.
            is_recorded = backend == "numpy" and static_tables != "tdb"
            program, sources = _run_by_the_vendor(program, words, library, is_recorded)
    if isinstance(program, CompiledProgram):
        _require_compiled_shapes(program, words, data)
    executing = make_backend(backend, program, library, backend_token)
    machine = Machine(program, static_tables, history_limit, executing)
    if history_limit == 0 and make is Debugger:
        machine.keep_no_changes()  # a run that only goes forwards: nobody can stop in it
    for source in sources:
        source.inputs = lambda: machine.inputs
        machine.sources.append(source)
    if words and not program.brings_inputs:
        machine.load_inputs(words)
    compared: Reference | None = None
    if paths:
        say("reading the reference")
        expected = [
            _computed(path, program, words)
            if path.suffix in _EVALUATED
            else _reference_data(path, program, data, backend, cmodel_path, backend_token, defers)
            for path in paths
        ]
        compared = _compared(paths, expected, tolerance, program)
        compared.is_computed = all(path.suffix in _EVALUATED or _is_model(path) for path in paths)
    elif context_files.reference is not None and (inputs is None or context_files.reference.suffix == ".npz"):
        say("reading the reference")
        compared = _picked_up(context_files.reference, program, tolerance, defers)
    debugger = make(program, machine, compared)
    if compared is not None and not paths and (doubt := _doubt(compared, machine)):
        debugger.withhold_reference(doubt)
    if not paths:
        picked_up(inputs=own_inputs, reference=context_files.reference if debugger.reference is not None else None)
    return debugger


def _compared(
    paths: Sequence[Path],
    expected: Sequence[Mapping[str, Array]],
    tolerance: Tolerance | Tolerances | None,
    program: Program,
) -> Reference:
    """Expected data by the names of the program's tensors; BadInput if it has none of them, or is damaged."""
    from tdb_dap.engine.reference.reference import Reference

    compared = Reference(paths, expected, tolerance)
    compared.ambiguous = _names_of_several(program.source.records)
    _know_the_only_output(compared, program)
    if compared.know_onnx_names(tensor.name for tensor in program.outputs):
        compared.know_onnx_names(_names(program))
    try:
        compared.check_names(_names(program))
    except BadInput:
        compared.verify()
        raise
    return compared


def _names_of_several(records: Iterable[OpRecord]) -> frozenset[str]:
    """Names that an op gives to several results, as an LSTM whose own names the compiler has lost."""
    names: set[str] = set()
    for record in records:
        if bytes(record.raw.results).count(b'"name"') < 2:
            continue  # most ops: to decode them all takes time
        places: dict[str, int] = {}
        try:
            results = record.results
        except BadInput:  # told where it is looked at
            continue
        for result in results:
            if places.setdefault(result.name, result.address) != result.address:
                names.add(result.name)
    return frozenset(names)


def _know_the_only_output(reference: Reference, program: Program) -> None:
    """Take an array as the only output, whatever its name, where it is the only one of the file and as large."""
    if len(reference.names) != 1 or len(program.outputs) != 1:
        return
    (name,), (output,) = reference.names, program.outputs
    known = {tensor.name for tensor in (*program.inputs, output)}
    if name not in known and name not in set(_names(program)) and reference.has_size(name, output.view.size):
        reference.know_as(output.name, name)
        notice(f"array {name} of {reference.paths[0].name} is compared with the only output, {output.name}")


def _picked_up(
    path: Path, program: Program, tolerance: Tolerance | Tolerances | None, defers: bool
) -> Reference | None:
    """Expected data next to the model; None, with a notice, if it does not belong to the program."""
    from tdb_dap.engine.reference.expected_files import open_expected

    try:
        compared = _compared([path], [open_expected(path, program.outputs, defers)], tolerance, program)
    except BadInput as error:
        notice(f"not used as the reference: {error}")
        return None
    for tensor in (*program.inputs, *program.outputs):
        own = compared.shape(tensor.name)
        if own is not None and not is_same_order(own, tensor.shape):
            notice(
                f"not used as the reference: {path}: {tensor.name} has shape {list(own)}, that of the model has "
                f"{list(tensor.shape)}"
            )
            return None
    return compared


def _doubt(reference: Reference, machine: Machine) -> str:
    """Why expected data next to the model are not to be used; empty if they are."""
    try:
        return reference.doubt(machine)
    except BadInput as error:
        notice(f"not used as the reference: {error}")
        return str(error)


def _computed(path: Path, program: Program, words: Mapping[str, Array]) -> dict[str, Array]:
    """Tensors by name of a reference that is evaluated on the inputs of the program."""
    from tdb_dap.tools.golden.files import onnx_model
    from tdb_dap.tools.golden.reference import computed, numbers

    given = numbers(words, program.inputs)
    if path.suffix == onnx_model.SUFFIX:
        return onnx_model.computed(path, given, set(_names(program)))
    return computed(path, given)


def _reference_data(
    path: Path,
    program: Program,
    inputs: Path | None,
    backend: str,
    cmodel_path: File | None,
    token: str | None,
    defers: bool,
) -> Mapping[str, Array]:
    """Tensors by name, of a file or of another compiled model that is run on the same inputs."""
    from tdb_dap.engine.reference.expected_files import open_expected

    if not _is_model(path):
        return open_expected(path, program.outputs, defers)
    from tdb_dap.engine.compare.recording import record

    other = open_debugger(path, inputs, backend=backend, history_limit=0, cmodel_path=cmodel_path, backend_token=token)
    try:
        return record(other)
    finally:
        other.close()


def _is_model(path: Path) -> bool:
    """Whether a reference is a compiled model, which is run on the same inputs."""
    return path.suffix != ".npz" and (
        path.is_dir() or not {".bmodel", ".cvimodel", RECORDING}.isdisjoint(path.suffixes)
    )


def recorded(program: CompiledProgram, recording: Path) -> RecordedProgram:
    """A program in place of one with dynamic subnets: what a recorded run of it has executed."""
    from tdb_dap.engine.program.recorded_program import RecordedProgram

    return RecordedProgram(recording, target_for, chip_of_library, keep_source, program)


def _recorded_as_asked(
    program: CompiledProgram, words: Mapping[str, Array], recording: str, token: str | None, say: Progress
) -> RecordedProgram:
    """The run that a recording holds, or that a server records now."""
    address = remote_address(recording)
    if address is None:
        return recorded(program, Path(recording))
    from tdb_dap.backends.remote.recorder import record_elsewhere

    _require_compiled_shapes(program, words, None)
    say(f"running the model on {recording}")
    with scratch_directory() as folder:
        path = folder / f"{program.net.name[:60]}{RECORDING}"
        record_elsewhere(program, address, words, path, token)
        return recorded(program, path)


def _run_by_the_vendor(
    program: CompiledProgram, words: Mapping[str, Array], given: Path | None, is_recorded: bool
) -> tuple[Program, list[VendorRuntime]]:
    """The program that the vendor's runtime executes for these inputs, where it is installed and can be recorded.

    Else the program as it is, and somebody who gives at least the outputs of its dynamic subnets, if there is one.
    """
    from tdb_dap.backends import runtime
    from tdb_dap.backends.launch.recorded_net import record_net

    chip = target_for(program.chip, str(program.context.bmodel))
    if is_recorded:
        with scratch_directory() as folder:
            recording = folder / f"{program.net.name[:60]}{RECORDING}"
            try:
                record_net(program, chip, words, recording, given)
                return recorded(program, recording), []
            except BadInput as error:
                notice(f"the dynamic subnets were not recorded: {error}")
    executable = runtime.find(given)
    if executable is None:
        return program, []
    kernel = chip.vendor_library.kernel_module if chip.vendor_library else ""
    return program, [runtime.VendorRuntime(executable, program, dict, kernel)]


def _names(program: Program) -> Iterator[str]:
    """Every tensor name that reference data can be about."""
    yield from (tensor.name for tensor in (*program.inputs, *program.outputs))
    for record in program.source.records:
        for value in (*record.operands, *record.results):
            yield from layer_names(value.name)
