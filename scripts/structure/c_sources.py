"""The C of the package: which unit calls whom, circles, and how many files a folder has."""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from pathlib import Path

from scripts.structure.imports import circles_of

KERNEL = "tdb_dap/targets/kernel"
FOLDERS = (KERNEL, "tdb_dap/backends/recorder/library")
STOREYS = ("parallel", "scalar", "simd", "plan", "python")
"""Rooms of the kernel from the ground up: each may need those before it."""
GENERATED = ("records.h", "constants.h")

_SHARED = r"^(?!static\b|typedef\b|extern\b)[A-Za-z_][\w\s*]*?\b(\w+)"
_DEFINED = re.compile(_SHARED + r"\([^;{]*\)\s*\{", re.MULTILINE)
_VARIABLE = re.compile(_SHARED + r"(?:\[[^\]]*\])?(?: = [^;]*)?;", re.MULTILINE)
_INCLUDED = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", re.DOTALL)


class CSources:
    """Units and headers below ``root``."""

    def __init__(self, root: Path) -> None:
        self._root = root
        files = sorted(path for folder in FOLDERS for path in (root / folder).rglob("*.[ch]"))
        self.texts = {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in files}

    @cached_property
    def graph(self) -> dict[str, set[str]]:
        """File -> the files that it includes, and the units whose functions or variables it uses."""
        code = {name: _COMMENT.sub(" ", text) for name, text in self.texts.items()}
        owners = {
            (name.rpartition("/library/")[0], symbol): name
            for name, text in code.items()
            if name.endswith(".c")
            for symbol in (*_DEFINED.findall(text), *_VARIABLE.findall(text))
        }
        graph: dict[str, set[str]] = {}
        for name, text in code.items():
            used = set(re.findall(r"\b\w+\b", text)) if name.endswith(".c") else set[str]()
            library = name.rpartition("/library/")[0]
            graph[name] = {owner for (own, symbol), owner in owners.items() if own == library and symbol in used}
            graph[name] |= self._included(name)
            graph[name].discard(name)
        return graph

    def _included(self, name: str) -> set[str]:
        folder = (self._root / name).parent
        included = ((folder / each).resolve() for each in _INCLUDED.findall(self.texts[name]))
        return {path.relative_to(self._root.resolve()).as_posix() for path in included}

    def circles(self, folder: str = "") -> list[list[str]]:
        """Groups of files below a folder that need each other."""
        return [circle for circle in circles_of(self.graph) if circle[0].startswith(folder)]

    def wrong_ways(self) -> list[str]:
        """Files of the kernel that need a room above their own."""
        levels = {f"{KERNEL}/{room}": level for level, room in enumerate(STOREYS)}
        return [
            f"{name} needs {target}"
            for name, targets in self.graph.items()
            for target in sorted(targets)
            if levels.get(target.rpartition("/")[0], 0) > levels.get(name.rpartition("/")[0], len(STOREYS))
        ]

    def headers(self) -> list[str]:
        """Headers, each of which has to compile alone."""
        return [name for name in self.texts if name.endswith(".h")]

    def folders(self) -> Counter[str]:
        """Files of each folder."""
        return Counter(name.rpartition("/")[0] for name in self.texts)

    def lines(self, folder: str = "") -> int:
        """Lines below a folder that people wrote."""
        own = {name: text for name, text in self.texts.items() if name.startswith(folder)}
        return sum(len(text.splitlines()) for name, text in own.items() if not name.endswith(GENERATED))
