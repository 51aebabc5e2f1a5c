"""Record one small example of each op of the compiler, with the numbers that the vendor's interpreter has for it.

    python -m scripts.record_goldens [--add OP] FOLDER...

FOLDER: where model_transform and model_deploy were run with --debug and test data. Writes tests/data/golden, which the
tests of the golden library read. Of each op and number format the smallest example is taken. With --add the examples
that are there stay, and those of one op are added.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import read_npz, write_npz
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.errors import BadInput
from tdb_dap.tools.golden.level import Level, names
from tdb_dap.tools.golden.library import Call, NoGolden, compute

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "tests" / "data" / "golden"
_MOST = 3000
"""Numbers that the operands and results of an example may have together."""

_PAIRS = (("_origin.mlir", "_ref_outputs.npz"), (".mlir", "_top_outputs.npz"), ("_tpu.mlir", "_tpu_outputs.npz"))


@dataclass(frozen=True)
class Example:
    """An op with its operands and its result."""

    model: str
    text: str
    inputs: tuple[Array | None, ...]
    result: Array

    @property
    def size(self) -> int:
        return self.result.size + sum(array.size for array in self.inputs if array is not None)


def levels(folder: Path) -> Iterator[tuple[Level, dict[str, Array]]]:
    """Levels of a compilation whose tensors are next to them."""
    inputs = [read_npz(path) for path in sorted(folder.glob("*_in_f32.npz"))]
    for path in sorted(folder.glob("*.mlir")):
        for ending, data in reversed(_PAIRS):
            if not path.name.endswith(ending):
                continue
            tensors = path.with_name(path.name.removesuffix(ending) + data)
            if tensors.is_file():
                try:
                    yield Level(path.stem, path), {**(inputs[0] if inputs else {}), **read_npz(tensors)}
                except BadInput as error:
                    print(f"{path}: left out: {error}")
            break


def kind(op: MlirOp, call: Call) -> tuple[str, ...]:
    """The part of an example that another one does not have to repeat."""
    types = [found.storage if found is not None else "" for found in (*call.operand_types[:1], *call.result_types[:1])]
    words = [
        str(call.get(name, ""))
        for name in ("mode", "pool_mode", "coord_mode", "is_inversed", "count_include_pad", "lut_mode")
    ]
    return (op.name, *types, *words)


def examples(level: Level, tensors: dict[str, Array]) -> Iterator[tuple[tuple[str, ...], Example]]:
    """Examples of one level that a golden exists for."""
    for op in level.ops:
        name = names(op)[0]
        if op.name == "top.Input" or name not in tensors:
            continue
        try:
            call = level.call(op, tensors)
            compute(call)
        except NoGolden:
            continue
        yield kind(op, call), Example(level.path.parent.name, op.text, call.inputs, tensors[name])


def main() -> int:
    """Collect, choose, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", metavar="FOLDER", nargs="+", type=Path)
    parser.add_argument("--add", metavar="OP", help="keep the recorded examples, and add those of this op: tpu.LutBF16")
    given = parser.parse_args()
    chosen: dict[tuple[str, ...], Example] = {}
    for folder in given.folders:
        for level, tensors in levels(folder):
            for key, example in examples(level, tensors):
                if (
                    example.size <= _MOST
                    and given.add in (None, key[0])
                    and (key not in chosen or example.size < chosen[key].size)
                ):
                    chosen[key] = example
    TARGET.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Array] = dict(read_npz(TARGET / "cases.npz")) if given.add else {}
    cases = json.loads((TARGET / "cases.json").read_text("utf-8")) if given.add else []
    for number, key in enumerate(sorted(chosen), len(cases)):
        example = chosen[key]
        for place, array in enumerate(example.inputs):
            if array is not None:
                arrays[f"{number}.{place}"] = np.asarray(array, np.float32)
        arrays[f"{number}.result"] = np.asarray(example.result, np.float32)
        cases.append(
            {"model": example.model, "op": example.text.partition(" loc(")[0], "operands": len(example.inputs)}
        )
    write_npz(TARGET / "cases.npz", arrays, packed=True)
    (TARGET / "cases.json").write_text(json.dumps(cases, indent=1) + "\n", "utf-8")
    print(f"{len(cases)} examples")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
