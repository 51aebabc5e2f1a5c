"""From a context directory to a debugger."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.backends.choice import make_backend, remote_address
from tdb_dap.backends.discovery import cache_directory
from tdb_dap.backends.runtime import VendorRuntime
from tdb_dap.engine.bmodel import ModelFile, input_shapes, stages_text
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.files.atomic_files import whole_file
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.files.net_folders import name_of_folder, sources_beside
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.strides import is_same_order
from tdb_dap.engine.machine.input_data import InputData, load_inputs
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.machine.undo_log import DEFAULT_LIMIT
from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.engine.program.model_files import open_model_file
from tdb_dap.engine.program.program import Program
from tdb_dap.engine.reference.expected_files import open_expected
from tdb_dap.engine.reference.reference import Reference, Tolerance, Tolerances
from tdb_dap.engine.source.mapped_tensor import layer_names
from tdb_dap.errors import BadInput
from tdb_dap.system.notices import notice, picked_up, sources_missing
from tdb_dap.targets.chips.registry import chip_of_library, target_for
from tdb_dap.tools.golden.files import onnx_model
from tdb_dap.tools.golden.reference import SUFFIX, computed, numbers

if TYPE_CHECKING:
    from tdb_dap.engine.program.recorded_program import RecordedProgram

File = str | PathLike[str]

RECORDING = ".tdbrec"
"""Suffix of recordings."""
Progress = Callable[[str], None]


def open_program(
    context: File,
    net: str | None = None,
    stage: int | None = None,
    fast: bool = False,
    inputs: File | None = None,
    as_compiled: bool = False,
) -> Program:
    """Read and decode one net of a compiled model; BadInput says what is wrong with it.

    ``stage``: None: the first one, or the one that takes ``inputs`` (those of the context by default). ``fast``:
    ``Chip.inexact``; ``as_compiled``: see ``CompiledProgram``.
    """
    if Path(context).suffix == RECORDING:
        from tdb_dap.engine.program.recorded_program import RecordedProgram

        program = RecordedProgram(Path(context), target_for, chip_of_library, keep_source)
        for text in program.notices:
            notice(f"{Path(context).name}: {text}")
        return program
    make = (lambda chip, file: target_for(chip, file).inexact()) if fast else target_for
    files = Context.find(Path(context))
    bmodel = open_model_file(files.bmodel)
    if stage is None:
        stage = _stage_taking(bmodel, net, Path(inputs) if inputs is not None else files.inputs)
    return CompiledProgram(_with_sources(files, bmodel, net, stage), make, net, stage, bmodel, as_compiled)


def _stage_taking(bmodel: ModelFile, net: str | None, inputs: Path | None) -> int:
    """Number of the stage that is compiled for the shapes of these inputs, as the vendor's runtime chooses; else 0."""
    chosen = next((each for each in bmodel.metadata.nets if each.stages and net in (None, each.name)), None)
    if chosen is None or len(chosen.stages) < 2 or inputs is None:
        return 0
    data = InputData.read(inputs)
    fitting = [number for number, stage in enumerate(chosen.stages) if data.fits(stage.inputs)]
    fitting += [n for n, stage in enumerate(chosen.stages) if stage.takes_other_shapes and data.is_within(stage.inputs)]
    number = next(iter(fitting), 0)
    if number:
        notice(f"stage {number} of {chosen.name} takes {inputs.name}, {input_shapes(chosen.stages[number])}")
    return number


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


def _with_sources(context: Context, bmodel: ModelFile, net: str | None, stage: int) -> Context:
    """The context with the sources of one net of several, which have a folder each."""
    nets = bmodel.metadata.nets
    if context.mlir is not None or len(nets) < 2:
        return context
    folder = name_of_folder(net or nets[0].name, stage)
    return sources_beside(context.bmodel, [folder])[folder] or context


def keep_source(text: bytes, net: str = "") -> Path:
    """A file in the user's cache with the text of a final.mlir that came in a recording or is packed.

    For editors to open. The same text is always the same file, so breakpoints in it stay. ``net``: name of its folder.
    """
    path = cache_directory().parent / "sources" / hashlib.sha256(text).hexdigest()[:16] / net / "final.mlir"
    if not path.exists():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as file:
                file.write(text)
        except (OSError, BadInput) as error:
            raise BadInput(f"{path}: the source in the recording cannot be kept there: {error}") from None
    return path


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
    backend_token: str | None = None,
    recording: File | None = None,
    defers: bool = False,
    make: Callable[[Program, Machine, Reference | None], Debugger] = Debugger,
) -> Debugger:
    """See ``tdb_dap.open``. ``fast``: results are not exact, for speed; whoever shows them must say so.

    ``stage``: None: the one that takes the inputs; ``recording``: of a run of the model, in place of its dynamic
    subnets, or ``remote:HOST:PORT``: a server that makes
    one; ``defers``: who opens it calls ``Reference.verify``; ``make``: the kind of debugger.
    """
    if fast and backend != "numpy":
        raise BadInput(f"a fast run has no backend {backend!r}: only numpy can leave exactness")
    if static_tables not in ("firmware", "tdb"):
        raise BadInput(f"static tables {static_tables!r} are not known; use 'firmware' or 'tdb'")
    say = progress or (lambda text: None)
    say("reading the model")
    # The vendor's debugger, whose tables these are, gives no separate tensor memory.
    program = open_program(context, net, stage, fast, inputs, as_compiled=static_tables == "tdb")
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
    if data is not None:
        say("reading the inputs")
        words = read_inputs(data, program)
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
            if path.suffix in (SUFFIX, onnx_model.SUFFIX)
            else _reference_data(path, program, data, backend, cmodel_path, backend_token, defers)
            for path in paths
        ]
        compared = _compared(paths, expected, tolerance, program)
    elif context_files.reference is not None and (inputs is None or context_files.reference.suffix == ".npz"):
        say("reading the reference")
        compared = _picked_up(context_files.reference, program, tolerance, defers)
    if not paths:
        picked_up(inputs=own_inputs, reference=context_files.reference if compared is not None else None)
    return make(program, machine, compared)


def _compared(
    paths: Sequence[Path],
    expected: Sequence[Mapping[str, Array]],
    tolerance: Tolerance | Tolerances | None,
    program: Program,
) -> Reference:
    """Expected data by the names of the program's tensors; BadInput if it has none of them, or is damaged."""
    compared = Reference(paths, expected, tolerance)
    _know_the_only_output(compared, program)
    if compared.know_onnx_names(tensor.name for tensor in program.outputs):
        compared.know_onnx_names(_names(program))
    try:
        compared.check_names(_names(program))
    except BadInput:
        compared.verify()
        raise
    return compared


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


def remark_sources(program: Program) -> None:
    """Remark what is missing of a model that was compiled without ``--debug``."""
    if not program.brings_inputs:
        sources_missing(program.context.bmodel, program.context.mlir, program.context.locations)


def _computed(path: Path, program: Program, words: Mapping[str, Array]) -> dict[str, Array]:
    """Tensors by name of a reference that is evaluated on the inputs of the program."""
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
    if path.suffix == ".npz" or not (path.is_dir() or {".bmodel", RECORDING} & set(path.suffixes)):
        return open_expected(path, program.outputs, defers)
    from tdb_dap.engine.compare.recording import record

    other = open_debugger(path, inputs, backend=backend, history_limit=0, cmodel_path=cmodel_path, backend_token=token)
    try:
        return record(other)
    finally:
        other.close()


def is_dynamic(program: Program) -> bool:
    """Whether it has subnets whose commands are made while they run."""
    return any(subnet.run_mode == "TPU_DYNAMIC" and subnet.stop > subnet.start for subnet in program.subnets)


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
    with tempfile.TemporaryDirectory(prefix="tdb-dap-") as folder:
        path = Path(folder) / f"{program.net.name[:60]}{RECORDING}"
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
        with tempfile.TemporaryDirectory(prefix="tdb-dap-") as folder:
            recording = Path(folder) / f"{program.net.name[:60]}{RECORDING}"
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
