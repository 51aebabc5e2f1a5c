"""Source texts: final.mlir as a file, the listing as text that only this adapter has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from tdb_dap.adapter.protocol.types import (
    Checksum,
    LoadedSourcesArguments,
    LoadedSourcesResponseBody,
    Source,
    SourceArguments,
    SourceResponseBody,
)
from tdb_dap.adapter.session.handlers import provides, request
from tdb_dap.errors import TdbError

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.program.program import Program

SourceKind = Literal["mlir", "asm"]

_REFERENCES: dict[SourceKind, int] = {"asm": 1, "mlir": 2}
_MIME_TYPES: dict[SourceKind, str] = {"asm": "text/x-tdb-asm", "mlir": "text/x-mlir"}


def listing_source(session: Session) -> Source:
    """The listing. It has no path: there is no such file, and editors would look for it."""
    name = session.debugger.program.listing.name
    return Source(name=name, sourceReference=_REFERENCES["asm"], origin="disassembly")


def mlir_source(session: Session) -> Source | None:
    """final.mlir; None if the model has none. A compressed file is served as text."""
    path = session.debugger.program.context.mlir
    if path is None:
        return None
    if path.suffix == ".xz":
        return Source(name=path.stem, sourceReference=_REFERENCES["mlir"], origin=path.name)
    return Source(name=path.name, path=mlir_path(session), checksums=[_checksum(session.debugger.program)])


def mlir_path(session: Session) -> str | None:
    """final.mlir as the client names it; None if it is no file that an editor could open."""
    path = session.debugger.program.context.mlir
    return session.traits.path_out(path) if path is not None and path.suffix != ".xz" else None


@provides("supportedChecksumAlgorithms")
def checksum_algorithms() -> list[str]:
    """A client can tell whether the file it shows is the one that was loaded."""
    return ["SHA256"]


def _checksum(program: Program) -> Checksum:
    source = program.source.mlir
    return Checksum(algorithm="SHA256", checksum=source.sha256 if source is not None else "")


def kind_of(session: Session, source: Source) -> SourceKind | None:
    """Kind of the program's source that the client means; None if it is none of them."""
    for kind, reference in _REFERENCES.items():
        if source.sourceReference == reference:
            return kind
    program = session.debugger.program
    named = source.path or source.name or ""
    if Path(named).name == program.listing.name:
        return "asm"
    mlir = program.context.mlir
    if mlir is None:
        return None
    if mlir.suffix == ".xz" and Path(named).name == mlir.stem:
        return "mlir"
    return "mlir" if source.path and _same_file(session.traits.path_in(source.path), mlir) else None


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
    kind = kind_of(session, wanted)
    if kind is None:
        raise TdbError("this program has no such source")
    program = session.debugger.program
    if kind == "asm":
        return SourceResponseBody(content=program.listing.text, mimeType=_MIME_TYPES["asm"])
    if program.source.mlir is None:
        raise TdbError("this model has no final.mlir")
    return SourceResponseBody(content="\n".join(program.source.mlir.lines), mimeType=_MIME_TYPES["mlir"])


@request("loadedSources", capability="supportsLoadedSourcesRequest", while_running="answer")
def loaded_sources(session: Session, arguments: LoadedSourcesArguments) -> LoadedSourcesResponseBody:
    """final.mlir, if there is one, and the listing."""
    found = [mlir_source(session), listing_source(session)]
    return LoadedSourcesResponseBody(sources=[s for s in found if s is not None])
