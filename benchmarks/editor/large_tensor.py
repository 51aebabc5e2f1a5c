#!/usr/bin/env python3
"""A model whose input is one large tensor in DDR, with data for it.

    large_tensor.py DIRECTORY [--elements 67108864]

The commands are those of the bundled sample; the input is float32, a square plane, and is behind their memory.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np

from tdb_dap.engine.bmodel.writing import Border, Model, Stream
from tdb_dap.tools.programs import open_program

SAMPLE = Path(__file__).resolve().parents[2] / "tdb_dap" / "sample"
MIB = 1 << 20


def make(directory: Path, elements: int) -> None:
    """Write model.bmodel and input.npz."""
    program = open_program(SAMPLE)
    stage = program.stage
    side = math.isqrt(elements)
    start = (stage.activations_address + stage.activations_size + MIB - 1) // MIB * MIB
    size = start + 4 * side * side - stage.activations_address
    streams = {}
    for engine in ("tiu", "dma"):
        own = [command.descriptor for command in program.commands if command.engine == engine]
        streams[engine] = Stream(b"".join(own), len(own))
    border = Border("large", (1, 1, side, side), start)
    directory.mkdir(parents=True, exist_ok=True)
    Model(
        program.chip,
        streams["tiu"],
        streams["dma"],
        inputs=(border,),
        activations=(stage.activations_address, size),
    ).write(directory / "model.bmodel")
    rng = np.random.default_rng(1)
    np.savez(directory / "input.npz", large=rng.standard_normal((1, 1, side, side), np.float32))
    print(f"f32[1,1,{side},{side}]: {side * side / 2**20:.0f} Mi elements, {4 * side * side / MIB:.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--elements", type=int, default=1 << 26)
    arguments = parser.parse_args()
    make(arguments.directory, arguments.elements)


if __name__ == "__main__":
    main()
