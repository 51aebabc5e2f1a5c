"""Comparison of computed tensors with reference data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tdb_dap.engine.dtypes import Array
from tdb_dap.engine.inputs import read_npz
from tdb_dap.engine.machine import Machine
from tdb_dap.engine.source_map import NamedValue
from tdb_dap.errors import BadInput


@dataclass(frozen=True)
class Tolerance:
    """What passes: equal arrays, all elements close (relative 1e-3), or both similarities above their limits.

    ``max_abs``: if given, no element may differ by more.
    """

    cosine: float = 0.99
    euclidean: float = 0.99
    max_abs: float | None = None


@dataclass(frozen=True)
class Comparison:
    """``actual`` against ``expected`` (float32 arrays of one shape; dequantised).

    ``cosine``: similarity of directions; ``euclidean``: 1 - |a - b| / |(a + b) / 2|; ``max_abs``, ``max_rel``: largest
    difference, absolute and relative to the largest expected magnitude; ``first_bad``: index of the first element
    beyond a relative difference of 1e-3, or None. Elements that are NaN on one side only count as different.
    """

    name: str
    verdict: str
    cosine: float
    euclidean: float
    max_abs: float
    max_rel: float
    nan_count: int
    first_bad: tuple[int, ...] | None
    expected: Array
    actual: Array

    @property
    def summary(self) -> str:
        """One line: verdict, similarities and the first bad element."""
        text = f"{self.verdict}: cosine {self.cosine:.6f}, euclidean {self.euclidean:.6f}"
        text += f", max difference {self.max_abs:.6g}"
        if self.nan_count:
            text += f", {self.nan_count} NaN"
        if self.verdict == "fail" and self.first_bad is not None:
            place = ", ".join(map(str, self.first_bad))
            actual, expected = self.actual[self.first_bad], self.expected[self.first_bad]
            text += f", first at [{place}]: {actual:.6g} instead of {expected:.6g}"
        return text


class Reference:
    """Reference tensors by location name, from one or several npz files (the first file that has a name wins)."""

    origin = "the reference"
    trouble = ""

    def __init__(self, paths: Sequence[Path], tolerance: Tolerance | None = None) -> None:
        self.paths = tuple(paths)
        self.tolerance = tolerance or Tolerance()
        self._arrays: dict[str, Array] = {}
        for path in paths:
            for name, array in read_npz(path).items():
                self._arrays.setdefault(name, array)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._arrays)

    def check_names(self, known: set[str]) -> None:
        """BadInput if not one name of the reference occurs in the program: it is of another model."""
        if self._arrays and not known & set(self._arrays):
            some = ", ".join(list(self._arrays)[:4])
            files = ", ".join(str(path) for path in self.paths)
            raise BadInput(
                f"{files}: no name in it ({some}, ...) is a tensor of this model; give the model's own "
                "..._tpu_outputs.npz"
            )

    def has(self, value: NamedValue) -> bool:
        return self._find(value.name) is not None

    def whole(self, name: str) -> Array | None:
        """All numbers of a tensor as the file holds them; None if it has none of that name."""
        return self._find(name)

    def _find(self, name: str) -> Array | None:
        return self._arrays.get(name, self._arrays.get(name.removeprefix("load_")))

    def expected(self, value: NamedValue) -> Array | None:
        """What a value should hold, float32, or None if the reference does not know it or cannot be laid over it."""
        whole = self._find(value.name)
        if whole is None or value.rearranged:
            return None
        try:
            return value.expected(whole).astype(np.float32)
        except (ValueError, IndexError):
            return None

    def compare(self, machine: Machine, value: NamedValue) -> Comparison | None:
        """Compare what a value holds now; None if the reference does not know it or it cannot be read."""
        expected = self.expected(value)
        if expected is None or value.view is None or value.view.size != expected.size:
            return None
        stored = machine.read(value.view).astype(np.float32)
        if not value.view.dtype.is_float:
            stored = (stored - np.float32(value.zero_point)) * np.float32(value.scale)
        return compare(value.name, stored.reshape(expected.shape), expected, self.tolerance)


def compare(name: str, actual: Array, expected: Array, tolerance: Tolerance) -> Comparison:
    """Judge ``actual`` against ``expected``; equal NaNs and equal infinities agree."""
    with np.errstate(all="ignore"):
        same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
        usable = np.isfinite(actual) & np.isfinite(expected)
        a = np.where(usable, actual, 0).astype(np.float64)
        b = np.where(usable, expected, 0).astype(np.float64)
        difference = np.abs(a - b)
        close = same | (usable & (difference <= 1e-3 * np.maximum(np.abs(b), 1e-8) + 1e-8))
        lengths = float(np.sqrt((a * a).sum() * (b * b).sum()))
        cosine = float((a * b).sum() / lengths) if lengths else float(not difference.any())
        middle = float(np.sqrt(((a + b) ** 2).sum())) / 2
        euclidean = 1.0 - float(np.sqrt((difference**2).sum())) / (middle + 1e-7)
    broken = bool((~same & ~usable).any())
    biggest = float(difference.max(initial=0.0))
    scale = float(np.abs(b).max(initial=0.0))
    similar = cosine > tolerance.cosine and euclidean > tolerance.euclidean and not broken
    good = bool(close.all()) or similar
    if tolerance.max_abs is not None:
        good = good and not broken and biggest <= tolerance.max_abs
    return Comparison(
        name=name,
        verdict="pass" if good else "fail",
        cosine=cosine,
        euclidean=euclidean,
        max_abs=float("inf") if broken else biggest,
        max_rel=biggest / scale if scale else biggest,
        nan_count=int(np.isnan(actual).sum()),
        first_bad=None if close.all() else tuple(int(i) for i in np.argwhere(~close)[0]),
        expected=expected,
        actual=actual,
    )
