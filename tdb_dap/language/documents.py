"""The documents that an editor has open, indexed, each with the compiled model that it belongs to."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from tdb_dap.engine.mlir import MlirFile
from tdb_dap.engine.program import Program
from tdb_dap.errors import TdbError


class Document:
    """One text. ``mlir``: indexed as MLIR; ``trouble``: why there is no compiled model beside it."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.mlir = MlirFile(text, path)
        self.mlir.prepare()
        self.trouble = ""
        self._program: Program | None = None
        self._is_known = False

    @property
    def program(self) -> Program | None:
        """The model whose source this is, read when it is first asked for; None if there is none or it is damaged."""
        if not self._is_known:
            self._is_known = True
            self._program = self._find()
        return self._program

    def _find(self) -> Program | None:
        if self.path.name.removesuffix(".xz") != "final.mlir":
            return None
        if not any((self.path.parent / f"compilation.bmodel{suffix}").exists() for suffix in ("", ".xz")):
            return None
        from tdb_dap.opening import open_program

        try:
            program = open_program(self.path.parent)
        except TdbError as error:
            self.trouble = str(error)
            return None
        matching = program.source.mlir is not None and program.source.mlir.lines == self.mlir.lines
        self.trouble = "" if matching else "the text differs from the file that the model was compiled with"
        return program if matching else None


class Documents:
    """By URI; an index is kept until the text changes."""

    def __init__(self) -> None:
        self._open: dict[str, Document] = {}

    def put(self, uri: str, text: str) -> Document:
        """The editor has opened or changed a document."""
        found = self._open[uri] = Document(path_of(uri), text)
        return found

    def close(self, uri: str) -> None:
        """The editor has closed it."""
        self._open.pop(uri, None)

    def get(self, uri: str) -> Document | None:
        """An open document."""
        return self._open.get(uri)


def path_of(uri: str) -> Path:
    """The file of a ``file:`` URI; of others the path part."""
    parts = urlsplit(uri)
    path = unquote(parts.path)
    if len(path) > 2 and path[0] == "/" and path[2] == ":":  # /c:/folder on Windows
        path = path[1:]
    return Path(path)
