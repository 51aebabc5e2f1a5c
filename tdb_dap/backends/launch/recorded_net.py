"""Nets run on the vendor's runtime while it is recorded."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING

import numpy as np

from tdb_dap.backends.discovery import library_paths, require_platform
from tdb_dap.backends.launch.job import Border, Fill, Job, Launch, Net, Piece, Step
from tdb_dap.backends.recorder.keeper import Stalled
from tdb_dap.backends.recorder.record import record
from tdb_dap.engine.bmodel import ModelFile
from tdb_dap.engine.bmodel.kernel_module import give_kernel
from tdb_dap.engine.bmodel.metadata import TENSOR_DTYPES
from tdb_dap.engine.commands.net_tensors import Tensor
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import BadInput
from tdb_dap.system.child_processes import command, exit_text, outside_environment
from tdb_dap.system.patterns import pattern
from tdb_dap.system.scratch import scratch_directory

if TYPE_CHECKING:
    from tdb_dap.engine.program.compiled_program import CompiledProgram
    from tdb_dap.targets.chips.chip import Chip
    from tdb_dap.targets.chips.vendor_library import VendorLibrary

_EMULATOR = "libcmodel.so"
"""The name under which the runtimes load the emulator of any chip."""

_THIRD_PARTY = "third_party"
"""Folder of what the libraries load and the vendor did not make."""

PATIENCE = 120.0
"""Seconds in which the runtime may neither execute a command nor print. Its slowest commands take a few."""

_NUMBERS = {dtype.name: number for number, dtype in TENSOR_DTYPES.items()}


def record_net(
    program: CompiledProgram,
    chip: Chip,
    inputs: Mapping[str, Array],
    path: Path,
    given: Path | None = None,
    with_source: bool = False,
) -> None:
    """Run the program's net on the vendor's runtime, and leave a recording in ``path``.

    ``inputs``: stored words by name, in the shapes of the run, zeros for those that are missing; ``given``: as in
    ``--cmodel-path``; ``with_source``: final.mlir and tensor_location.json come into the recording, too. BadInput says
    what is missing, or what the runtime said.
    """
    given_borders = tuple(_border(tensor, inputs.get(tensor.name)) for tensor in program.inputs)
    net = Net(program.net.name, given_borders, tuple(map(_border, program.outputs)))
    starts = accumulate((border.size for border in net.given), initial=0)
    fills = [
        Fill(Piece(0, False, index, 0, border.size), start)
        for index, (border, start) in enumerate(zip(net.given, starts, strict=False))
    ]
    files = [file for file in (program.context.mlir, program.context.locations) if with_source and file is not None]
    record_nets(program.bmodel, chip, (net,), (*fills, Launch(0)), stored_words(program, inputs), path, given, files)


def record_nets(
    bmodel: ModelFile,
    chip: Chip,
    nets: tuple[Net, ...],
    steps: tuple[Step, ...],
    data: bytes,
    path: Path,
    given: Path | None = None,
    files: Sequence[Path] = (),
    folders: Mapping[str, Sequence[Path]] = MappingProxyType({}),
) -> bytes:
    """Run steps with nets of a bmodel on the vendor's runtime, and leave a recording in ``path``.

    The outputs of each launch, one after the other. ``data``: what the steps fill in; ``files``: what is next to the
    bmodel, and so comes into the recording; ``folders``: the same for nets that were compiled apart, by the names of
    their folders. Errors as of ``record_net``.
    """
    if bmodel.metadata.has_riscv_kernel:
        raise BadInput(
            f"{bmodel.path}: compiled with --rvti: its kernel is a RISC-V program with tensor instructions of its own, "
            "which are not recorded; compile without --rvti to debug the net"
        )
    require_platform("give --recording FILE.tdbrec, or --recording remote:HOST:PORT of a machine that has them")
    library = chip.vendor_library
    if library is None or not library.runtime:
        raise BadInput(f"how to run nets of {chip.name} on the vendor's runtime is not known")
    folder = _folder(library, given)
    with scratch_directory() as here:
        (here / _EMULATOR).symlink_to((folder / library.file).absolute())
        bmodel.copy_to(here / "model.bmodel")
        if library.kernel_module and (folder / library.kernel_module).is_file():
            give_kernel(here / "model.bmodel", folder / library.kernel_module)
        for file in files:
            (here / file.name).symlink_to(file.absolute())
        for name, inside in folders.items():
            (here / name).mkdir()
            for file in inside:
                (here / name / file.name).symlink_to(file.absolute())
        (here / "data").write_bytes(data)
        others = [name for name in library.needs if (folder / _THIRD_PARTY / name).exists() or (folder / name).exists()]
        job = Job(
            libraries=(*others, _EMULATOR, *library.runtime),
            interface=library.runtime_interface,
            model=str(here / "model.bmodel"),
            nets=nets,
            steps=steps,
            data=str(here / "data"),
            results=str(here / "results"),
        )
        job.write(here / "job.json")
        environment = outside_environment()
        search = [str(here), str(folder), str(folder / _THIRD_PARTY), environment.get("LD_LIBRARY_PATH", "")]
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(part for part in search if part)
        with (here / "said").open("w+b") as output:
            run = [*command("tdb_dap.backends.launch.child"), str(here / "job.json")]
            try:
                code = record(run, path, environment, output, PATIENCE).code
            except Stalled as error:
                raise BadInput(f"the vendor's runtime: {error}{_last_words(output)}") from None
            if code > _SIGNALS:
                how = exit_text(_SIGNALS - code)
                raise BadInput(f"the vendor's runtime has died ({how}){_last_words(output)}")
            if code:
                raise BadInput(f"the vendor's runtime: {last_line(output) or f'ended with code {code}'}")
        return (here / "results").read_bytes()


_FRAME = pattern(r"Obtained \d+ stack frames\.|\S+\([^()]*\) ?\[0x[0-9a-f]+\]")


_SIGNALS = 128
"""Exit codes from here on are those of signals."""


def _last_words(output: IO[bytes]) -> str:
    last = last_line(output)
    return f"; its last line: {last}" if last else ""


def last_line(output: IO[bytes]) -> str:
    """The last line that a runtime has printed, before the stack frames that its emulators list; empty if none."""
    output.seek(0)
    lines = [line.strip() for line in output.read().decode("utf-8", "replace").splitlines()]
    texts = [line for line in lines if line and not _FRAME.fullmatch(line)]
    return (texts or [""])[-1][:_LONGEST_LINE]


_LONGEST_LINE = 300


def _folder(library: VendorLibrary, given: Path | None) -> Path:
    """The directory with the emulator and the runtime; BadInput if there is none."""
    wanted = (library.file, *library.runtime, *library.runtime_needs)
    for candidate in library_paths(given.parent if given is not None and given.is_file() else given):
        if all((candidate.directory / name).is_file() for name in wanted):
            return candidate.directory.absolute()
    raise BadInput(f"the vendor's runtime ({', '.join(wanted)}) is in no known place; run: tdb-dap backends fetch")


def _border(tensor: Tensor, words: Array | None = None) -> Border:
    """``words``: of a run, in a shape of its own."""
    number = _NUMBERS[tensor.dtype.name]
    return (
        Border(number, tensor.shape, tensor.view.nbytes) if words is None else Border(number, words.shape, words.nbytes)
    )


def stored_words(program: CompiledProgram, inputs: Mapping[str, Array]) -> bytes:
    """The words of all inputs one after another, zeros for those that are not given."""
    return b"".join(_words(tensor, inputs).tobytes() for tensor in program.inputs)


def _words(tensor: Tensor, inputs: Mapping[str, Array]) -> Array:
    words = inputs.get(tensor.name)
    return np.zeros(tensor.shape, tensor.dtype.bits_dtype) if words is None else np.ascontiguousarray(words)
