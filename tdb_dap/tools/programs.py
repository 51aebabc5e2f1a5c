"""From files to programs, which commands that execute nothing can list."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from tdb_dap.engine.bmodel import ModelFile, input_shapes
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.files.net_folders import name_of_folder, sources_beside
from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.engine.program.model_files import open_model_file
from tdb_dap.engine.program.program import Program
from tdb_dap.errors import BadInput
from tdb_dap.system.notices import links_out, notice, sources_missing
from tdb_dap.system.user_directories import cache_directory
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import chip_of_library, target_for

File = str | PathLike[str]

RECORDING = ".tdbrec"
"""Suffix of recordings."""


def open_program(
    context: File,
    net: str | None = None,
    stage: int | None = None,
    fast: bool = False,
    inputs: File | None = None,
    as_compiled: bool = False,
    lenient: bool = False,
) -> Program:
    """Read and decode one net of a compiled model; BadInput says what is wrong with it.

    ``stage``: None: the first one, or the one that takes ``inputs`` (those of the context by default). ``fast``:
    ``Chip.inexact``; ``lenient``: ``Chip.leniently``; ``as_compiled``: see ``CompiledProgram``.
    """

    def make(chip: str, file: str) -> Chip:
        target = target_for(chip, file)
        target = target.inexact() if fast else target
        return target.leniently() if lenient else target

    if Path(context).suffix == RECORDING:
        from tdb_dap.engine.program.recorded_program import RecordedProgram

        program = RecordedProgram(Path(context), make, chip_of_library, keep_source)
        for text in program.notices:
            notice(f"{Path(context).name}: {text}")
        return program
    files = Context.find(Path(context))
    bmodel = open_model_file(files.bmodel)
    if stage is None:
        stage = _stage_taking(bmodel, net, Path(inputs) if inputs is not None else files.inputs)
    sources = _with_sources(files, bmodel, net, stage)
    report_links(context, files, [sources])
    return CompiledProgram(sources, make, net, stage, bmodel, as_compiled)


def report_links(given: File, context: Context, nets: Iterable[Context | None]) -> None:
    """Report links out of the directories of a model and of its nets, in files that nobody has named."""
    others = (file for net in nets if net is not None and net is not context for file in net.found(context.bmodel))
    links_out([*context.found(Path(given)), *others], context.directory)


def _stage_taking(bmodel: ModelFile, net: str | None, inputs: Path | None) -> int:
    """Number of the stage that is compiled for the shapes of these inputs, as the vendor's runtime chooses; else 0."""
    chosen = next((each for each in bmodel.metadata.nets if each.stages and net in (None, each.name)), None)
    if chosen is None or len(chosen.stages) < 2 or inputs is None:
        return 0
    from tdb_dap.engine.machine.input_data import InputData

    data = InputData.read(inputs)
    fitting = [number for number, stage in enumerate(chosen.stages) if data.fits(stage.inputs)]
    fitting += [n for n, stage in enumerate(chosen.stages) if stage.takes_other_shapes and data.is_within(stage.inputs)]
    number = next(iter(fitting), 0)
    if number:
        notice(f"stage {number} of {chosen.name} takes {inputs.name}, {input_shapes(chosen.stages[number])}")
    return number


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
    path = cache_directory() / "sources" / hashlib.sha256(text).hexdigest()[:16] / net / "final.mlir"
    if not path.exists():
        from tdb_dap.engine.files.atomic_files import whole_file

        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as file:
                file.write(text)
        except (OSError, BadInput) as error:
            raise BadInput(f"{path}: the source in the recording cannot be kept there: {error}") from None
    return path


def remark_sources(program: Program) -> None:
    """Remark what is missing of a model that was compiled without ``--debug``."""
    if not program.brings_inputs:
        sources_missing(program.context.bmodel, program.context.mlir, program.context.locations)


def is_dynamic(program: Program) -> bool:
    """Whether it has subnets whose commands are made while they run."""
    return any(subnet.run_mode == "TPU_DYNAMIC" and subnet.stop > subnet.start for subnet in program.subnets)
