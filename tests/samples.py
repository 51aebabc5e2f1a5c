"""The recorded models that come with the tests."""

from __future__ import annotations

import json
import lzma
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
import pytest
from _pytest.mark import ParameterSet

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


def without_data(model: Path, folder: Path) -> Path:
    """A copy of a model in a new folder, without its inputs and its reference."""
    shutil.copytree(model, folder, ignore=shutil.ignore_patterns("*.npz"))
    return folder


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


TYPICAL = frozenset(
    {
        "sample",
        "attention_bm1684x2_int8",
        "conv3x3_bm1688_int4",
        "cumsum_tile_bm1690_f16c8",
        "gather_elem_bm1688_f16c2",
        "linear3d_bm1690_f8e4m3",
        "log_softmax_bm1684_f32",
        "lstm_bm1684x_f32",
        "nonzero_bm1684x_f32",
        "toy_bm1684_int8",
        "toy_bm1684x_f32",
        "toy_bm1684x_f32dyn",
        "toy_bm1684x_int8",
        "toy_bm1684x2_f16c4",
        "toy_bm1688_int8c2",
        "toy_bm1690_f16c8",
        "toy_cv184x_int8",
        "toy_sg2380_int8c4",
        "toy_sgtpuv8_int8",
    }
)
"""Models for tests of a property that every model has: each chip, format, several cores, branches, dynamic subnets."""

_T = TypeVar("_T", Case, Path, str)


def typical(models: Iterable[_T]) -> list[_T | ParameterSet]:
    """Models for ``parametrize``, those beyond ``TYPICAL`` with the mark ``all_models``."""
    return [model if _name(model) in TYPICAL else pytest.param(model, marks=pytest.mark.all_models) for model in models]


def _name(model: Case | Path | str) -> str:
    return model if isinstance(model, str) else model.name


def case(name: str) -> Case:
    found = cases(name)
    assert len(found) == 1, f"{len(found)} cases are called {name}"
    return found[0]
