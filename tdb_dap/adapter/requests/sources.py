"""Source texts: final.mlir as a file, the listing as text that only this adapter has."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.adapter.protocol.types import (
    Checksum,
    LoadedSourcesArguments,
    LoadedSourcesResponseBody,
    Source,
    SourceArguments,
    SourceResponseBody,
)
from tdb_dap.adapter.session.handlers import provides, request
from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.errors import BadInput, TdbError

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.source.compile_stages import Stage
    from tdb_dap.engine.source.mlir_file import MlirFile, SourceFile

SourceKind = Literal["mlir", "asm"]


class Text(Struct, frozen=True):
    """A text of the program that a client shows. ``before``: lines of final.mlir before the client's first.

    ``last``: its last line as the program counts; None if the whole text is shown.
    """

    kind: SourceKind
    before: int = 0
    last: int | None = None


_REFERENCES: dict[SourceKind, int] = {"asm": 1, "mlir": 2}
_MIME_TYPES: dict[SourceKind, str] = {"asm": "text/x-tdb-asm", "mlir": "text/x-mlir"}


def listing_source(session: Session) -> Source:
    """The listing. It has no path: there is no such file, and editors would look for it."""
    name = session.debugger.program.listing.name
    return Source(name=name, sourceReference=_REFERENCES["asm"], origin="disassembly")


def has_mlir(session: Session) -> bool:
    """Whether there is a final.mlir to show."""
    return session.debugger.program.source.mlir is not None


def mlir_place(session: Session, line: int) -> tuple[Source | None, int]:
    """The file with a line of final.mlir, and its number there as the client counts; None if the model has none.

    A compressed file is served as text.
    """
    mlir = session.debugger.program.source.mlir
    if mlir is None:
        return None, 0
    file, number = _shown_place(session, mlir, line)
    return _source_of(session, file), session.traits.line_out(number)


class OwnFiles:
    """Files that the client has shown to hold what the program was compiled from, by the checksum of their content."""

    def __init__(self) -> None:
        self.paths: dict[str, Path] = {}


def _shown_place(session: Session, mlir: MlirFile, line: int) -> tuple[SourceFile, int]:
    """The user's own file with a line of final.mlir, where that is known, and its number there."""
    part, number = mlir.part_of(line)
    own = session.feature(OwnFiles).paths.get(part.sha256, part.path)
    if own == Path():
        return mlir.place_of(line)
    return replace(part, path=own), number


def _source_of(session: Session, file: SourceFile) -> Source:
    if file.path.suffix == ".xz":
        return Source(name=file.path.stem, sourceReference=_REFERENCES["mlir"], origin=file.path.name)
    checksum = Checksum(algorithm="SHA256", checksum=file.sha256)
    return Source(name=file.path.name, path=session.traits.path_out(file.path), checksums=[checksum])


def mlir_path(session: Session, line: int = 1) -> str | None:
    """The file with a line of final.mlir as the client names it; None if it is no file that an editor could open."""
    mlir = session.debugger.program.source.mlir
    path = _shown_place(session, mlir, line)[0].path if mlir is not None else None
    return session.traits.path_out(path) if path is not None and path.suffix != ".xz" else None


@provides("supportedChecksumAlgorithms")
def checksum_algorithms() -> list[str]:
    """A client can tell whether the file it shows is the one that was loaded."""
    return ["SHA256"]


def text_of(session: Session, source: Source) -> Text | None:
    """The text of the program that the client means; None if it is none of them."""
    for kind, reference in _REFERENCES.items():
        if source.sourceReference == reference:
            return Text(kind)
    program = session.debugger.program
    named = source.path or source.name or ""
    if Path(named).name == program.listing.name:
        return Text("asm")
    mlir = program.source.mlir
    for file in mlir.files if mlir is not None else ():
        if (file.path.suffix == ".xz" and Path(named).name == file.path.stem) or (
            source.path and _same_file(session.traits.path_in(source.path), file.path)
        ):
            return Text("mlir", file.before, mlir.last_line_of(file) if mlir is not None else None)
    if mlir is not None and source.path:
        path = session.traits.path_in(source.path)
        part = next((part for part in mlir.parts if _same_file(path, part.path)), None) or _alike(path, mlir)
        if part is not None:
            session.feature(OwnFiles).paths[part.sha256] = path
            return Text("mlir", part.before, mlir.last_line_of(part))
    return None


def stage_of(session: Session, source: Source) -> Stage | None:
    """The earlier stage of the compilation whose file the client means; None if it is none of them."""
    if not source.path:
        return None
    path = session.traits.path_in(source.path)
    stages = session.debugger.program.compile_stages.stages
    return next((stage for stage in stages if _same_file(path, stage.path)), None)


def lines_of_stage(session: Session, stage: Stage) -> list[tuple[int, int]]:
    """Lines of a stage's file for which there are commands, with the first line of final.mlir made for each."""
    program = session.debugger.program
    mlir = program.source.mlir
    if mlir is None:
        return []
    return program.compile_stages.lines_of(stage, mlir, program.source.lines_with_commands)


def _alike(path: Path, mlir: MlirFile) -> SourceFile | None:
    """The part of a text that a file elsewhere holds, byte for byte: a recording brings its sources along."""
    try:
        if path.suffix != ".mlir" or not path.is_file():
            return None
        checksum = hashlib.sha256(read_file(path, limits.TEXT)).hexdigest()
    except (OSError, ValueError, BadInput):
        return None
    return next((part for part in mlir.parts if part.sha256 == checksum), None)


def line_in(session: Session, text: Text, line: int) -> int:
    """The client's line of a text as the program counts, from 1."""
    return session.traits.line_in(line) + text.before


def _same_file(a: Path, b: Path) -> bool:
    try:
        return os.path.normcase(os.path.abspath(a)) == os.path.normcase(os.path.abspath(b)) or a.samefile(b)
    except (OSError, ValueError):  # no file can have this name: it holds a zero, or half a surrogate pair
        return False


@request("source", while_running="answer")
def source(session: Session, arguments: SourceArguments) -> SourceResponseBody:
    """The text of a source reference."""
    wanted = arguments.source or Source()
    if not wanted.sourceReference and arguments.sourceReference:
        wanted = msgspec.structs.replace(wanted, sourceReference=arguments.sourceReference)
    text = text_of(session, wanted)
    if text is None:
        raise TdbError("this program has no such source")
    program = session.debugger.program
    if text.kind == "asm":
        return SourceResponseBody(content=program.listing.text, mimeType=_MIME_TYPES["asm"])
    if program.source.mlir is None:
        raise TdbError("this model has no final.mlir")
    lines = program.source.mlir.lines[text.before : text.last]
    return SourceResponseBody(content="\n".join(lines), mimeType=_MIME_TYPES["mlir"])


@request("loadedSources", capability="supportsLoadedSourcesRequest", while_running="answer")
def loaded_sources(session: Session, arguments: LoadedSourcesArguments) -> LoadedSourcesResponseBody:
    """final.mlir, if there is one, of each net that is run, and the listing."""
    mlir = session.debugger.program.source.mlir
    files = mlir.files if mlir is not None else ()
    return LoadedSourcesResponseBody(sources=[*(_source_of(session, file) for file in files), listing_source(session)])
