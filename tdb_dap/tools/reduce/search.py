"""Trying cases: which of them fails as the whole does, and how small it can be made."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from msgspec import Struct

from tdb_dap.engine.machine.npz import read_npz, write_npz
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.system.child_processes import run_logged
from tdb_dap.system.notices import heard_by
from tdb_dap.tools.golden.files.compilation import Files, find
from tdb_dap.tools.golden.level import names
from tdb_dap.tools.reduce.cases import Case, interpret, outputs_of, write
from tdb_dap.tools.triage.schema import Triage
from tdb_dap.tools.triage.stages import TPU, Stage
from tdb_dap.tools.triage.triaging import triage

_PATIENCE = 1800
_MOST_TRIALS = 40
"""Of smaller shapes and inputs."""


class Failing(Struct, frozen=True):
    """A case that fails as the whole does: ``folder``: its files, ``verdict``: on them."""

    case: Case
    folder: Path
    verdict: Triage

    @property
    def size(self) -> int:
        """Elements of the inputs that are not 0."""
        return size_of(self.case)


def size_of(case: Case) -> int:
    """Elements of the inputs of a case that are not 0."""
    return sum(int(np.count_nonzero(array)) for array in case.main.inputs.values())


class Search(Struct):
    """Tries cases in a separate folder. ``original``: the verdict to reproduce; ``report`` is called for each attempt.

    ``is_compiled``: whether the compiler is there; ``count``: cases tried so far.
    """

    files: Files
    original: Triage
    folder: Path
    is_compiled: bool
    report: Callable[[str], None]
    count: int = 0

    def first(self, cases: Iterator[Case]) -> Failing | None:
        """The first that fails as the whole does."""
        for case in cases:
            self.report(f"{', '.join(case.main.titles)} of stage {case.main.level.title}")
            failing = self.tried(case)
            if failing is not None:
                return failing
        return None

    def tried(self, case: Case) -> Failing | None:
        """A case that fails as the whole does; None if it does not."""
        self.count += 1
        folder = self.folder / str(self.count)
        try:
            write(case, folder, self.files)
            if self.is_compiled and not _compile(folder):
                return None
            if case.tpu is not None and self.original.stage == TPU and not outputs_of(folder).is_file():
                interpret(folder)
        except (TdbError, OSError):
            return None
        return self._judged(case, folder)

    def recorded(self, case: Case, stage: Stage) -> Failing | None:
        """A case with the numbers that the whole model had in stage tpu; None if they do not fail either."""
        assert case.tpu is not None
        folder = self.folder / "recorded"
        known = {name: stage.tensors[name] for op in case.tpu.ops for name in names(op) if name in stage.tensors}
        write(case, folder, self.files)
        write_npz(outputs_of(folder), {**case.tpu.given(), **case.tpu.inputs, **known})
        return self._judged(case, folder)

    def _judged(self, case: Case, folder: Path) -> Failing | None:
        try:
            with heard_by(lambda text: None):
                triaged = triage(folder)
        except TdbError:
            return None
        is_same_op = triaged.tensor.split("__")[0] == self.original.tensor.split("__")[0]
        is_alike = triaged.verdict == self.original.verdict and triaged.stage == self.original.stage and is_same_op
        return Failing(case, folder, triaged) if is_alike else None

    def smallest(self, failing: Failing) -> Failing:
        """The same with shorter axes, then with more zeros, as far as it fails the same way."""
        last = self.count + _MOST_TRIALS
        for axis in list(failing.case.axes()):
            near = _worst(failing.folder, self.original.tensor, axis)
            failing = self._repeated(failing, partial(_shorter, axis=axis, near=near), last)
        return self._repeated(failing, Case.sparser, last)

    def _repeated(self, failing: Failing, smaller: Callable[[Case], Iterator[Case]], last: int) -> Failing:
        is_better = True
        while is_better:
            is_better = False
            for case in smaller(failing.case):
                if self.count >= last:
                    return failing
                shapes = ", ".join(str(list(array.shape)) for array in case.main.inputs.values())
                self.report(f"{size_of(case):,} elements of {shapes}")
                again = self.tried(case)
                if again is not None:
                    shutil.rmtree(failing.folder, ignore_errors=True)
                    failing, is_better = again, True
                    break
        return failing


def _shorter(case: Case, axis: int, near: float) -> Iterator[Case]:
    return case.shorter(axis, near)


def _worst(folder: Path, tensor: str, axis: int) -> float:
    """Place along an axis, from 0 to 1, of the number that is furthest off; the middle if that is not known."""
    try:
        actual = find(folder).get("tpu_output")
        right, wrong = (read_npz(path).get(tensor) for path in (folder / "expected.npz", actual) if path is not None)
    except (BadInput, ValueError):
        return 0.5
    if right is None or wrong is None or right.size != wrong.size or axis >= right.ndim:
        return 0.5
    with np.errstate(all="ignore"):
        off = np.nan_to_num(np.abs(wrong.reshape(right.shape).astype(np.float64) - right), nan=np.inf)
    return float((np.unravel_index(int(off.argmax()), right.shape)[axis] + 0.5) / right.shape[axis])


def _compile(folder: Path) -> bool:
    """Run the folder's script; False if it did not end in time."""
    return run_logged(["sh", "reproduce.sh"], folder, folder / "compile.log", _PATIENCE) is not None
