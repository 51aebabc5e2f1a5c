#!/usr/bin/env python3
"""Make a network of the size and with the names of real ones: 364 ops in blocks, and one wrong result.

    network.py DIRECTORY

Made of the bundled sample by the generator of benchmarks/large.py. Prints JSON: the file of its text, the line and the
tensor of the wrong result, and one of a block after it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from large import SAMPLE, Made  # type: ignore[import-not-found]  # noqa: E402

from tdb_dap.engine.machine.npz import read_npz, write_npz  # noqa: E402

TURNS, WRONG = 28, 16
"""Blocks, and the one with the wrong result."""


class Network(Made):  # type: ignore[misc]
    """Blocks as in YOLO: two in each stage of the backbone."""

    weight_bytes = text_bytes = 0

    def reference(self, packed: bool) -> Path:
        """One file holds all tensors; ``make`` writes it."""
        return self.folder / "ref.npz"

    def name(self, name: str, turn: int) -> str:
        """As the importer of ONNX names them: ``/model.8/m.1/cv2/conv8/Conv_output_0_Conv``."""
        layer, _, op = name.rpartition("_")
        block = f"/model.{turn // 2}/m.{turn % 2}/cv2"
        if layer == "load":
            return f"load_{block}/conv/{op}_output_0_Conv_filter_reorderd"
        return f"{block}/{layer}/{op}_output_0_{op}" if layer else f"{block}/conv/{op}_output_0_Conv_filter"


def make(directory: Path) -> dict[str, object]:
    """Write the context directory with inputs and reference; what is wrong in it."""
    directory.mkdir(parents=True, exist_ok=True)
    commands = 58 * TURNS
    made = Network(directory, commands, 1)
    tensors = {made.name(name, turn): array for turn in range(TURNS) for name, array in made.tensors.items()}
    wrong = made.name("conv8_Conv", WRONG)
    tensors[wrong] = np.where(np.arange(tensors[wrong].size).reshape(tensors[wrong].shape) % 3, tensors[wrong], -1)
    write_npz(directory / "ref.npz", {**read_npz(SAMPLE / "ref.npz"), **tensors}, packed=True)
    shutil.copyfile(SAMPLE / "input.npz", directory / "input.npz")
    lines = (directory / "final.mlir").read_text().splitlines()
    convolutions = [number for number, line in enumerate(lines, 1) if '"tpu.Conv2D"' in line]
    return {
        "directory": str(directory),
        "mlir": str(directory / "final.mlir"),
        "wrong": {"name": wrong, "line": convolutions[2 * WRONG + 1]},
        "later": {"line": convolutions[2 * WRONG + 4]},
        "ops": sum('"tpu.' in line for line in lines),
    }


def main() -> int:
    """Make the network, and print what is wrong in it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    json.dump(make(parser.parse_args().directory.resolve()), sys.stdout, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
