"""Weights of a network's layers before they were lowered, and which op of final.mlir has which."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import read_npz
from tdb_dap.engine.source.mapped_tensor import layer_names
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.errors import BadInput
from tdb_dap.tools.golden.files.compilation import find
from tdb_dap.tools.golden.files.onnx_inputs import weights as onnx_weights
from tdb_dap.tools.golden.files.onnx_model import SUFFIX
from tdb_dap.tools.golden.level import Level
from tdb_dap.tools.golden.library import NoGolden

_ADDED = re.compile(r"((?:_\d+_\d+)*)(?:_(?:f32|f16|bf16|f8e4m3|f8e5m2))?((?:_\d+_\d+)*)$")
"""What the compiler adds to the name of a weight that it cuts into parts (axis and first index) and casts."""

_NUMBERED = re.compile(r"_\d+$")


def part_of(name: str) -> tuple[int, int] | None:
    """Axis and first index of the part that a constant is of a weight, by its name; None if it is all of it."""
    match = _ADDED.search(name)
    numbers = (match[1] or match[2]).split("_") if match is not None else []
    return (int(numbers[-2]), int(numbers[-1])) if len(numbers) > 2 else None


class Layers:
    """Layers of the model in float with their weights. ``path``: the .mlir that they are in.

    ``model``: the ONNX model that it was imported from, where it is there.
    """

    def __init__(self, level: Level, model: Path | None = None) -> None:
        self._level = level
        self._model = model
        self.path = level.path

    def names(self, op: MlirOp) -> Sequence[str | None]:
        """Names of the weights of the layer that an op was made for, by operand; None for what is no weight."""
        layer = self._layer(op)
        if layer is None:
            return ()
        producers = (self._level.mlir.op_defining(value, layer.line) for value in layer.operands)
        return [one.location if one is not None and one.name == "top.Weight" else None for one in producers]

    def kind(self, op: MlirOp) -> str:
        """Name of the layer's op, such as ``top.Conv``; empty if there is none."""
        layer = self._layer(op)
        return layer.name if layer is not None else ""

    def attributes(self, op: MlirOp) -> dict[str, object]:
        """Attributes of that layer."""
        layer = self._layer(op)
        return dict(layer.attributes) if layer is not None else {}

    def named(self, name: str) -> str | None:
        """The weight that a constant is the cast of, or a part, by its name."""
        plain = _ADDED.sub("", name)
        return next((one for one in (name, plain) if one in self._level.weights), None)

    def read(self, name: str) -> Array | None:
        """Numbers of a weight, float32 in the shape of the layer; None where the file does not have them."""
        op = next((one for one in self._level.mlir.by_location.get(name, ()) if one.name == "top.Weight"), None)
        try:
            numbers = self._level.weight(op) if op is not None else None
        except NoGolden:
            return None
        return np.asarray(numbers, np.float32) if numbers is not None else None

    def like(self, shape: tuple[int, ...]) -> list[str]:
        """Names of the weights of a shape."""
        return [name for name, array in self._level.weights.items() if array.shape == shape]

    def imported_otherwise(self) -> Iterator[tuple[str, Array, Array]]:
        """Weights with other numbers than the initialiser of that name in the ONNX model: name, numbers, initialiser.

        Of the same numbers in another order (a transposed matrix) nothing is said; neither of those that the importer
        has folded, which have other names.
        """
        stored = onnx_weights(self._model) if self._model is not None else {}
        for name, initialiser in stored.items():
            own = self.read(name)
            if own is None or own.size != initialiser.size:
                continue
            given, flat = initialiser.astype(np.float32).reshape(-1), own.reshape(-1)
            if not _are_same(flat, given) and not _are_same(np.sort(flat), np.sort(given)):
                yield name, flat, given

    def _layer(self, op: MlirOp) -> MlirOp | None:
        by_name = self._level.by_name
        for name in (name for location in op.locations for name in (*layer_names(location), location.split("__")[0])):
            if name in by_name:
                return by_name[name]
            if (uncut := _NUMBERED.sub("", name)) in by_name:
                return by_name[uncut]
        return None


def _are_same(one: Array, other: Array) -> bool:
    return np.array_equal(one, other, equal_nan=True)


def layers_of(directory: Path, reference: Path | None = None) -> Layers | None:
    """Layers of the compilation in a context directory; None where the compiler's files of them are not there.

    ``reference``: an ONNX model, or a file of the layers' weights, instead of those of the compilation.
    """
    given = read_npz(reference) if reference is not None and reference.suffix == ".npz" else None
    try:
        files = find(directory)
        path = files.get("top_mlir") or files.get("origin_mlir")
        level = Level("top", path, given) if path is not None else None
        if level is None or not level.weights:
            return None
    except BadInput:
        return None
    model = reference if reference is not None else files.get("origin_model")
    return Layers(level, model if model is not None and model.suffix == SUFFIX else None)
