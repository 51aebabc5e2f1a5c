"""A compilation as model_transform and model_deploy leave it, and ways to spoil it."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import read_npz, write_npz
from tdb_dap.tools.golden.level import Level
from tests.cli.test_diff import with_changed_weight
from tests.samples import DATA, case

NECK = DATA / "neck"
"""A part of a detector in INT8, compiled: its Max takes words of two scales, which is a bug of the compiler's."""

MEAN = DATA / "mean"
"""Sums in bf16 less numbers near to them, compiled for BM1690, whose sums the compiler's interpreter forms in f32."""

_FOLDER = DATA / "triage"
_PREFIX = "toy_bm1684x_int8_sym"
_SCALE = 0.029083954330708661
"""Of the result of conv8_Conv."""


@dataclass(frozen=True)
class Compiled:
    """The toy in INT8 for BM1684X. ``folder``: where the commands were run; ``context``: the context directory."""

    folder: Path

    @classmethod
    def into(cls, folder: Path) -> Compiled:
        """The compilation as it was, nothing wrong."""
        found = cls(folder)
        found.context.mkdir(parents=True)
        model = case("toy_bm1684x_int8").path
        for path in _FOLDER.iterdir():
            shutil.copyfile(path, (found.context if path.name == "ref_files.json" else folder) / path.name)
        for name in ("compilation.bmodel.xz", "final.mlir", "tensor_location.json.xz"):
            shutil.copyfile(model / name, found.context / name)
        shutil.copyfile(model / "input.npz", folder / "toy_in_f32.npz")
        shutil.copyfile(model / "ref.npz", found.tpu_outputs)
        shutil.copyfile(folder / "toy_top_f32_all_weight.npz", folder / "toy_top_f32_all_origin_weight.npz")
        return found

    @property
    def context(self) -> Path:
        return self.folder / "toy_bm1684x_int8"

    @property
    def tpu(self) -> Path:
        return self.folder / f"{_PREFIX}_tpu.mlir"

    @property
    def tpu_outputs(self) -> Path:
        return self.folder / f"{_PREFIX}_tpu_outputs.npz"

    @property
    def tpu_weights(self) -> Path:
        return self.folder / f"{_PREFIX}_tpu_weights.npz"

    def edit(self, path: Path, old: str, new: str) -> None:
        """Replace the one place of a text."""
        text = path.read_text("utf-8")
        assert text.count(old) == 1, f"{old}: {text.count(old)} times in {path.name}"
        path.write_text(text.replace(old, new), "utf-8")

    def change(self, path: Path, name: str, change: Callable[[Array], Array]) -> None:
        """Another array in an npz file."""
        arrays = read_npz(path)
        write_npz(path, {**arrays, name: change(arrays[name])})

    def interpret(self) -> None:
        """Compute the tensors of the tpu stage again, as the compiler's interpreter does after a fault in it."""
        level = Level("tpu", self.tpu)
        tensors, missing = level.run(read_npz(self.folder / "toy_in_f32.npz"), is_rounded=True)
        assert not missing
        write_npz(self.tpu_outputs, {name: np.asarray(array, np.float32) for name, array in tensors.items()})

    def break_off(self) -> None:
        """Leave what a failed model_deploy leaves: no bmodel, and a list of files that stops at the top level."""
        for path in self.context.iterdir():
            if path.name != "ref_files.json":
                path.unlink()
        notes = self.context / "ref_files.json"
        content = json.loads(notes.read_text("utf-8"))
        known = ("origin_mlir", "top_mlir", "mlir_input", "top_output")
        content["files"] = {key: entry for key, entry in content["files"].items() if key in known}
        notes.write_text(json.dumps(content), "utf-8")

    def spoil_scale(self) -> None:
        """A lowering with a wrong factor: the shift of the last layer is one too small."""
        self.edit(self.tpu, "rshifts = [29]", "rshifts = [28]")
        self.interpret()

    def spoil_input(self) -> None:
        """Other preprocessing in front of model_deploy than in front of model_transform; it breaks off."""
        self.change(self.folder / "toy_in_f32.npz", "x", lambda array: (array * 2 + 0.5).astype(np.float32))
        self.interpret()
        self.break_off()

    def spoil_calibration(self) -> None:
        """A tenth of the right threshold for one tensor: its scale, and the factors and the table that follow."""
        text = self.tpu.read_text("utf-8").replace(f"{_SCALE}", f"{_SCALE / 10}")
        line = next(line for line in text.splitlines() if "loc(#loc9)" in line and "tpu.Conv2D" in line)
        factors = re.search(r"multiplier = \[([^\]]*)\]", line)
        assert factors is not None
        larger = ", ".join(str(10 * int(number)) for number in factors[1].split(","))
        self.tpu.write_text(text.replace(factors[0], f"multiplier = [{larger}]"), "utf-8")
        words = np.arange(256)
        numbers = np.where(words > 127, words - 256, words) * _SCALE / 10
        silu = np.rint(numbers / (1 + np.exp(-numbers)) / 0.028377889763779526)
        self.change(self.tpu_weights, "mul10_Mul_table", lambda array: np.clip(silu, -128, 127).astype(array.dtype))
        self.interpret()
        self.break_off()

    def spoil_bmodel(self) -> None:
        """A bmodel with the sign of the weights of one layer turned; nothing before it knows of that."""
        with tempfile.TemporaryDirectory() as folder:
            with_changed_weight(case("toy_bm1684x_int8"), "conv8_Conv", Path(folder))
            (self.context / "compilation.bmodel.xz").unlink()
            shutil.copyfile(Path(folder) / "compilation.bmodel", self.context / "compilation.bmodel")


def write_all(folder: Path) -> None:
    """Write the compilations that docs/triage.md shows: ``python -m tests.triage_case FOLDER``."""
    Compiled.into(folder / "sound")
    Compiled.into(folder / "lowering").spoil_scale()
    Compiled.into(folder / "preprocessing").spoil_input()
    Compiled.into(folder / "calibration").spoil_calibration()
    Compiled.into(folder / "codegen").spoil_bmodel()
    shutil.copytree(NECK, folder / "neck")
    shutil.copytree(DATA / "dilated", folder / "import")


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
