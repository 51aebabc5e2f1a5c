#!/usr/bin/env python3
"""Lay out a fresh context directory from the bundled sample and say what a debugger must show in it.

    sample.py DIRECTORY

Prints JSON: the lines of final.mlir that the clients use, and the tensors that belong there, taken from the reference
data with NumPy alone, so that the debugger is not asked to vouch for itself.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

SAMPLE = Path(__file__).resolve().parents[2] / "tdb_dap" / "sample"
DTYPES = {"float32": "f32", "float16": "f16", "int8": "si8", "uint8": "ui8", "int32": "si32"}
FIRST = 4


def tensor(name: str, value: np.ndarray[Any, Any]) -> dict[str, Any]:
    """How a tensor must look: its type, its shape, how its row begins, and the first values along the last axis."""
    return {
        "name": name,
        "dtype": DTYPES[str(value.dtype)],
        "shape": list(value.shape),
        "row": f"{DTYPES[str(value.dtype)]} {'×'.join(map(str, value.shape))}",
        "first": [float(x) for x in value.reshape(-1)[:FIRST]],
    }


def expectations(directory: Path) -> dict[str, Any]:
    """Lines and tensors of the pooling, the op that every client stops at."""
    mlir = (directory / "final.mlir").read_text(encoding="utf-8")
    lines = mlir.splitlines()
    names = dict(re.findall(r'^(#loc\d*) = loc\("(.*)"\)$', mlir, re.MULTILINE))
    reference = np.load(directory / "ref.npz")

    def line_of(pattern: str) -> int:
        return next(i for i, line in enumerate(lines, 1) if re.search(pattern, line))

    def name_of(value: str) -> str:
        """The location's name of the op that defines a value of the sub-function."""
        alias = re.search(r"loc\((#loc\d*)\)$", lines[line_of(rf"^ {{8}}{value} = ") - 1])
        assert alias, value
        return names[alias[1]]

    pool = line_of(r'"tpu\.Pool2D"')
    found = re.match(r' *(%\d+) = "tpu.Pool2D"\((%\d+)\)', lines[pool - 1])
    assert found, lines[pool - 1]
    result, operand = found.groups()
    return {
        "directory": str(directory),
        "mlir": str(directory / "final.mlir"),
        "lines": {"conv": line_of(r'"tpu\.Conv2D"'), "pool": pool, "last": line_of(r'"tpu\.Softmax"')},
        "values": {"operand": operand, "result": result},
        "operand": tensor(name_of(operand), reference[name_of(operand)]),
        "result": tensor(name_of(result), reference[name_of(result)]),
    }


def main() -> int:
    """Copy the sample and print what to expect of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    directory = parser.parse_args().directory.resolve()
    shutil.copytree(SAMPLE, directory, ignore=shutil.ignore_patterns("__pycache__", "*.py"))
    json.dump(expectations(directory), sys.stdout, indent=2, ensure_ascii=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
