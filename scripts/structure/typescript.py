"""The TypeScript of the VS Code extension: who imports whom, and the number of lines of each file."""

from __future__ import annotations

import re
from pathlib import Path

from scripts.structure.imports import circles_of

MOST_LINES = 300
"""Lines of a file that is written by hand."""

_FOLDERS = ("src", "pages", "test")
_GENERATED = "src/protocol/generated.ts"
_IMPORT = re.compile(r'(?:from|import) "(\.{1,2}/[^"]+)"')
"""Of another file: an import or export, of types, too."""


class TypeScript:
    """The files below ``root``, the folder of the extension."""

    def __init__(self, root: Path) -> None:
        self._root = root
        paths = sorted(path for folder in _FOLDERS for path in (root / folder).rglob("*.ts"))
        self._texts = {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in paths}

    @property
    def imports(self) -> dict[str, set[str]]:
        """Each file -> the files that it imports, also for their types alone."""
        return {name: {self._target(name, to) for to in _IMPORT.findall(text)} for name, text in self._texts.items()}

    def _target(self, name: str, to: str) -> str:
        path = (self._root / name).parent / to
        return path.resolve().relative_to(self._root.resolve()).as_posix() + ("" if path.suffix == ".css" else ".ts")

    def circles(self) -> list[list[str]]:
        """Groups of files that import each other."""
        known = self._texts.keys()
        return circles_of({name: targets & known for name, targets in self.imports.items()})

    def long_files(self) -> dict[str, int]:
        """Files written by hand with more lines than ``MOST_LINES``."""
        lines = {name: text.count("\n") for name, text in self._texts.items() if name != _GENERATED}
        return {name: count for name, count in lines.items() if count > MOST_LINES}
