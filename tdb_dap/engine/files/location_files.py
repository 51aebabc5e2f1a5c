"""Finding the compiler's list of op locations, wherever a release of the compiler has left it.

Some releases copy it into the context directory as ``tensor_location.json``; others leave ``NAME.bmodel.json`` next to
the bmodel. A file is taken for what it contains: each op that it lists is at that line of final.mlir.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file, read_lines
from tdb_dap.errors import BadInput

NOTES = "ref_files.json"
"""The compiler's list of the files it read and wrote."""

_NAME = "tensor_location.json"
_PATTERNS = ("*.bmodel.json", "*.bmodel.json.xz")
_MOST_CANDIDATES = 64
_RECORD = re.compile(rb'"file-line": ?(\d+)[^{}\[\]]*?"opcode": ?"([^"]+)"')
_MOST_COMPARED = 4096


def existing(path: Path) -> Path | None:
    """A file or the same with ``.xz``; None if neither is there."""
    for candidate in (path, path.with_name(path.name + ".xz")):
        if candidate.exists():
            return candidate
    return None


def noted(directory: Path, key: str) -> str:
    """Name of a file, without its folders, in the compiler's notes of a context directory; empty if it is not noted."""
    try:
        notes: Any = json.loads(read_file(directory / NOTES, limits.REPORT))
        return Path(notes["files"][key]["path"]).name
    except (OSError, ValueError, TypeError, KeyError, RecursionError, BadInput):
        return ""


def locations_of(directory: Path, bmodel: Path, mlir: Path | None) -> Path | None:
    """The list of op locations of a bmodel compiled from ``mlir``; None if there is none that belongs to it.

    ``tensor_location.json`` of the context directory comes first, then a file that the notes name or that has the name
    of the bmodel or of the context, then the only one that describes ``mlir``, in the context directory or around it.
    """
    own = existing(directory / _NAME)
    if own is not None or mlir is None:
        return own
    folders = dict.fromkeys((directory.resolve(), bmodel.resolve().parent, directory.resolve().parent))
    context_name = directory.resolve().name
    named = [
        f"{bmodel.name.removesuffix('.xz')}.json",
        noted(directory, "tensor_location"),
        f"{context_name}.bmodel.json",  # the compiler gives the context directory the bmodel's name
    ]
    for name in filter(None, named):
        for folder in folders:
            path = existing(folder / name)
            if path is not None and describes(path, mlir):
                return path
    fitting = [path for path in _candidates(folders) if describes(path, mlir)]
    return fitting[0] if len(fitting) == 1 else None


def _candidates(folders: dict[Path, None]) -> Iterator[Path]:
    paths = (path for folder in folders for pattern in _PATTERNS for path in sorted(folder.glob(pattern)))
    return (path for _, path in zip(range(_MOST_CANDIDATES), paths, strict=False))


def describes(path: Path, mlir: Path) -> bool:
    """Whether a list of op locations is about a final.mlir: there are ops in it, and each is at the line it says."""
    try:
        content = read_file(path)
        lines = read_lines(mlir)[0]
    except BadInput:
        return False
    records = [match for match, _ in zip(_RECORD.finditer(content), range(_MOST_COMPARED), strict=False)]
    return bool(records) and all(_is_at(lines, int(one[1]), one[2].decode("utf-8", "replace")) for one in records)


def _is_at(lines: list[str], number: int, opcode: str) -> bool:
    return 0 < number <= len(lines) and f'"{opcode}"(' in lines[number - 1]
