"""The models that a recorded program loads: their description, and the compiler's files, for the recording."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from tdb_dap.engine.bmodel.file import HEADER_BYTES, Bmodel
from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.files.net_folders import name_of_folder, sources_beside
from tdb_dap.errors import BadInput
from tdb_dap.system.notices import links_out

_CHUNK = 1 << 20


class Models:
    """The models of one recording; a file that is loaded again is kept once."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, int, int], int] = {}

    def attachments(self, number: int, path: str) -> Iterator[tuple[str, bytes]]:
        """Names and contents of the files to attach for one model; what cannot be read is said in its info.json."""
        info: dict[str, object] = {"path": path}
        folder = f"models/{number}"
        try:
            if not path:
                raise BadInput("it was loaded from memory")
            file = Path(path)
            status = file.stat()
            info["size"] = status.st_size
            first = self._seen.setdefault((path, status.st_size, status.st_mtime_ns), number)
            if first != number:
                info["same_as"] = first
            else:
                model = Bmodel(file)
                yield f"{folder}/description", _start_of(file, model.payload_start)[HEADER_BYTES:]
                context = _context_of(file)
                if context is not None:
                    links_out(
                        (each for each in (context.mlir, context.locations) if each is not None), context.directory
                    )
                yield from _sources(folder, context)
                if context is not None and context.mlir is not None and context.mlir.suffix != ".xz":
                    info["mlir"] = str(context.mlir.resolve())  # for editors, which have it open
                yield from _sources_of_nets(f"{folder}/nets", file, model)
                info["sha256"] = _checksum(file)
        except (BadInput, OSError) as error:
            info["missing"] = str(error)
        yield f"{folder}/info.json", json.dumps(info).encode()


def _context_of(file: Path) -> Context | None:
    try:
        return Context.find(file)
    except BadInput:
        return None


def _sources(folder: str, context: Context | None) -> Iterator[tuple[str, bytes]]:
    for source in (context.mlir, context.locations) if context is not None else ():
        if source is not None:
            yield f"{folder}/{source.name.removesuffix('.xz')}", bytes(read_file(source, limits.TEXT))


def _sources_of_nets(folder: str, file: Path, model: Bmodel) -> Iterator[tuple[str, bytes]]:
    """Of a model that was made of nets that were compiled apart, in folders next to it."""
    nets = model.metadata.nets
    names = [name_of_folder(net.name, stage) for net in nets for stage in range(len(net.stages))]
    for name, context in (sources_beside(file, names) if len(nets) > 1 else {}).items():
        for source in (context.mlir, context.locations) if context is not None else ():
            if source is not None:
                yield f"{folder}/{name}/{source.name.removesuffix('.xz')}", bytes(read_file(source, limits.TEXT))


def _start_of(file: Path, size: int) -> bytes:
    with file.open("rb") as source:
        return source.read(size)


def _checksum(file: Path) -> str:
    checksum = hashlib.sha256()
    with file.open("rb") as source:
        while part := source.read(_CHUNK):
            checksum.update(part)
    return checksum.hexdigest()
