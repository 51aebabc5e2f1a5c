"""Expected tensors from the original model: every node of an ONNX graph on the same inputs."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import BadInput

SUFFIX = ".onnx"
"""Ending of a model that is evaluated."""

_FORMATS = re.compile(r"_(f32|f16|bf16|f8e4m3|f8e5m2|[us]?i(4|8|16|32))$")
"""What the compiler adds to the name of a tensor that it casts."""


def computed(path: Path, inputs: Mapping[str, Array], wanted: Iterable[str]) -> dict[str, Array]:
    """Results of the nodes by the compiler's names for them (``OUTPUT_OPTYPE``, and those of their casts and parts).

    ``inputs``: numbers by name; ``wanted``: names of the tensors of the compiled model. Evaluated by ONNX Runtime where
    it is installed, else by the reference implementation of ``onnx``. BadInput if that is missing, or fails.
    """
    try:
        onnx = importlib.import_module("onnx")
    except ImportError:
        raise BadInput(f"{path}: evaluating it needs onnx: pip install onnx") from None
    try:
        model = onnx.load(str(path))
        weights = {one.name for one in model.graph.initializer}
        given = [one for one in model.graph.input if one.name not in weights]
    except Exception as error:  # parsers of protocol buffers raise their own
        raise BadInput(f"{path}: cannot be read as an ONNX model: {_line(error)}") from None
    lacking = [one.name for one in given if one.name not in inputs]
    if lacking:
        raise BadInput(f"{path}: its inputs are {', '.join(lacking)}; give --inputs X.npz with arrays of these names")
    feeds = {one.name: _shaped(onnx, one, inputs[one.name]) for one in given}
    try:
        results = _evaluated(onnx, model, feeds)
    except Exception as error:  # any node may raise anything
        raise BadInput(f"{path}: cannot be evaluated: {_line(error)}") from None
    named = {
        f"{output}_{node.op_type}": array
        for node in model.graph.node
        for output in node.output
        if (array := _real(results.get(output))) is not None
    }
    return {**named, **feeds, **_parts(named, wanted)}


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def _real(array: Any) -> Array | None:
    numbers = np.asarray(array) if array is not None else None
    if numbers is None or numbers.dtype.kind not in "biuf":
        return None
    return numbers.astype(np.float32)


def _shaped(onnx: Any, one: Any, array: Array) -> Array:
    kind = onnx.helper.tensor_dtype_to_np_dtype(one.type.tensor_type.elem_type)
    shape = [axis.dim_value for axis in one.type.tensor_type.shape.dim]
    numbers = np.asarray(array)
    numbers = np.rint(numbers) if kind.kind in "iu" else numbers
    fits = all(shape) and int(np.prod(shape)) == numbers.size
    return numbers.reshape(shape).astype(kind) if fits else numbers.astype(kind)


def _evaluated(onnx: Any, model: Any, feeds: Mapping[str, Array]) -> dict[str, Any]:
    outputs = [output for node in model.graph.node for output in node.output if output]
    try:
        runtime = importlib.import_module("onnxruntime")
    except ImportError:
        evaluator = importlib.import_module("onnx.reference").ReferenceEvaluator(model)
        return dict(evaluator.run(None, dict(feeds), intermediate=True))
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip(outputs, session.run(outputs, dict(feeds)), strict=True))


def _parts(named: Mapping[str, Array], wanted: Iterable[str]) -> dict[str, Array]:
    """The same arrays by the names of casts of a node's result: ``NAME_f32``."""
    parts: dict[str, Array] = {}
    for name in wanted:
        plain = _FORMATS.sub("", name)
        if plain != name and name not in named and plain in named:
            parts[name] = named[plain]
    return parts
