"""The recorded models that come with the tests."""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import tdb_dap

DATA = Path(__file__).parent / "data"
SAMPLE = Path(tdb_dap.__file__).parent / "sample"


@dataclass(frozen=True)
class Case:
    """A compiled model with what the vendor's tools recorded of it.

    ``trace``: one entry per command in execution order: text, hashes of results, checksums of memories; made with the
    static memory as the vendor debugger fills it. ``truth``: outputs of the vendor's runtime on the same inputs.
    """

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def inputs(self) -> Path:
        return self.path / "input.npz"

    @property
    def reference(self) -> Path:
        """The compiler's expectation of every tensor; of some cases."""
        return self.path / "ref.npz"

    @cached_property
    def verdicts(self) -> dict[str, Any]:
        """The vendor debugger's data check; of some cases.

        ``good``: against ``reference``; ``bad``: against a copy in which ``bad_tensor`` is 1 - 2 * x.
        """
        with lzma.open(self.path / "check.json.xz", "rt") as file:
            return json.load(file)

    @property
    def mlir(self) -> Path:
        return self.path / "final.mlir"

    @cached_property
    def trace(self) -> list[dict[str, Any]]:
        with lzma.open(self.path / "trace.jsonl.xz", "rt") as lines:
            return [json.loads(line) for line in lines]

    @cached_property
    def meta(self) -> dict[str, Any]:
        return json.loads((self.path / "meta.json").read_text())

    @cached_property
    def truth(self) -> dict[str, np.ndarray]:
        with np.load(self.path / "runtime.npz") as archive:
            return {name: archive[name] for name in archive.files}

    @property
    def is_dynamic(self) -> bool:
        """Some subnet is not made of commands."""
        return not _engines(self.path) <= {"tiu", "dma"}


class _Entry(msgspec.Struct):
    """Of an entry of a trace, what modules look at while tests are collected."""

    e: str


@cache
def _engines(path: Path) -> frozenset[str]:
    decoder = msgspec.json.Decoder(_Entry)
    with lzma.open(path / "trace.jsonl.xz", "rb") as lines:
        return frozenset(decoder.decode(line).e for line in lines)


def lines_of(compressed: Path) -> list[str]:
    """The lines of an .xz file."""
    with lzma.open(compressed, "rt") as file:
        return file.read().split("\n")


def cases(pattern: str = "*", chip: str = "bm*") -> list[Case]:
    """The cases whose name fits."""
    return [Case(path) for path in sorted(DATA.glob(f"{chip}/{pattern}")) if path.is_dir()]


def of_more_chips() -> list[Case]:
    """Models of the chips that the vendor's debugger cannot run: there is ``truth``, and no ``trace``."""
    return [Case(path) for path in sorted((DATA / "chips").glob("*/*")) if path.is_dir()]


def case(name: str) -> Case:
    found = cases(name)
    assert len(found) == 1, f"{len(found)} cases are called {name}"
    return found[0]
