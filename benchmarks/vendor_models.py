"""Models for benchmarks/simulate.py, made and compiled with the vendor's tools (run with the vendor's Python).

    PYTHON benchmarks/vendor_models.py DIR [NAME ...]

Random weights from a fixed seed. Every model is compiled for BM1684X in each of its number formats into a context
directory DIR/NAME_FORMAT; what is there already is kept. Prints {"contexts": [...]}.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Graph:
    """An ONNX graph in the making; every method returns the name of its result."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.random = np.random.default_rng(1)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def constant(self, array: np.ndarray) -> str:
        name = f"constant{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, *shape: int, scale: float) -> str:
        return self.constant((self.random.standard_normal(shape) * scale).astype(np.float32))

    def apply(self, kind: str, *inputs: str, **attributes: object) -> str:
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def convolution(self, x: str, inputs: int, outputs: int, kernel: int, stride: int = 1) -> str:
        weight = self.weight(outputs, inputs, kernel, kernel, scale=(2 / (inputs * kernel * kernel)) ** 0.5)
        pads = [kernel // 2] * 4
        return self.apply("Conv", x, weight, self.weight(outputs, scale=0.1), pads=pads, strides=[stride, stride])

    def linear(self, x: str, inputs: int, outputs: int) -> str:
        product = self.apply("MatMul", x, self.weight(inputs, outputs, scale=inputs**-0.5))
        return self.apply("Add", product, self.weight(outputs, scale=0.1))

    def normalized(self, x: str, width: int) -> str:
        ones = self.constant(np.ones(width, np.float32))
        return self.apply("LayerNormalization", x, ones, self.weight(width, scale=0.1), axis=-1)

    def save(self, path: Path, shape: list[int], output: str) -> None:
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
        outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, self.name, inputs, outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


def resnet18(g: Graph) -> tuple[list[int], str]:
    """ResNet-18 at 224 x 224, batch normalisation folded."""
    x = g.apply("Relu", g.convolution("x", 3, 64, 7, 2))
    x = g.apply("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    before = 64
    for width, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        inner = g.apply("Relu", g.convolution(x, before, width, 3, stride))
        short = x if before == width else g.convolution(x, before, width, 1, stride)
        x = g.apply("Relu", g.apply("Add", g.convolution(inner, width, width, 3), short))
        before = width
    x = g.apply("Flatten", g.apply("GlobalAveragePool", x))
    return [1, 3, 224, 224], g.linear(x, 512, 1000)


def transformer(g: Graph) -> tuple[list[int], str]:
    """12 layers of 4 heads over 128 tokens of width 256."""
    tokens, width, heads = 128, 256, 4
    x = "x"
    split = g.constant(np.array([1, tokens, heads, width // heads]))
    joined = g.constant(np.array([1, tokens, width]))
    for _ in range(12):
        n = g.normalized(x, width)
        q, k, v = (g.apply("Reshape", g.linear(n, width, width), split) for _ in range(3))
        q, v = (g.apply("Transpose", t, perm=[0, 2, 1, 3]) for t in (q, v))
        scores = g.apply("MatMul", q, g.apply("Transpose", k, perm=[0, 2, 3, 1]))
        scores = g.apply("Softmax", g.apply("Mul", scores, g.constant(np.float32((width // heads) ** -0.5))), axis=-1)
        mixed = g.apply("Transpose", g.apply("MatMul", scores, v), perm=[0, 2, 1, 3])
        x = g.apply("Add", x, g.linear(g.apply("Reshape", mixed, joined), width, width))
        inner = g.linear(g.normalized(x, width), width, 4 * width)
        bent = g.apply("Erf", g.apply("Mul", inner, g.constant(np.float32(0.5**0.5))))
        bent = g.apply("Mul", inner, g.apply("Add", bent, g.constant(np.float32(1))))
        x = g.apply("Add", x, g.linear(g.apply("Mul", bent, g.constant(np.float32(0.5))), 4 * width, width))
    return [1, tokens, width], x


def toy(g: Graph) -> tuple[list[int], str]:
    """Two convolutions, a pooling and a softmax: little more than overhead."""
    x = g.apply("MaxPool", g.apply("Relu", g.convolution("x", 3, 16, 3)), kernel_shape=[2, 2], strides=[2, 2])
    x = g.apply("Relu", g.convolution(x, 16, 32, 3, 2))
    x = g.apply("Flatten", g.apply("GlobalAveragePool", x))
    return [1, 3, 32, 32], g.apply("Softmax", g.linear(x, 32, 10), axis=1)


MODELS: dict[str, tuple[Callable[[Graph], tuple[list[int], str]], tuple[str, ...]]] = {
    "resnet18": (resnet18, ("F32", "F16", "INT8")),
    "transformer": (transformer, ("F32", "F16")),
    "toy": (toy, ("F32",)),
}


def run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed in {folder}:\n{(done.stdout + done.stderr)[-2000:]}")


def prepare(name: str, folder: Path) -> None:
    """The vendor's form of the model, and a calibration table from the range of each tensor on one input."""
    graph = Graph(name)
    shape, output = MODELS[name][0](graph)
    graph.save(folder / f"{name}.onnx", shape, output)
    np.savez(folder / "input.npz", x=np.random.default_rng(2).standard_normal(shape).astype(np.float32))
    transform = ["model_transform", "--model_name", name, "--model_def", f"{name}.onnx"]
    transform += ["--input_shapes", str([shape]).replace(" ", ""), "--mlir", f"{name}.mlir"]
    run([*transform, "--test_input", "input.npz", "--test_result", f"{name}_top.npz"], folder)
    with np.load(folder / f"{name}_top.npz") as tensors, (folder / "table").open("w") as table:
        for tensor in tensors.files:
            values = tensors[tensor].astype(np.float64)
            limit = max(1e-5, float(np.abs(values).max()))
            print(tensor, f"{limit:.7f} {values.min():.7f} {values.max():.7f}", file=table)


def compiled(name: str, form: str, folder: Path, context: Path) -> None:
    """One context directory: the bmodel, final.mlir, tensor_location.json and the input."""
    bmodel = f"{name}_{form}.bmodel"
    deploy = ["model_deploy", "--mlir", f"{name}.mlir", "--quantize", form, "--processor", "bm1684x", "--debug"]
    deploy += ["--skip_validation", "--model", bmodel]
    run([*deploy, *(["--calibration_table", "table"] if form == "INT8" else [])], folder)
    context.mkdir(parents=True)
    parts = {
        "final.mlir": next(folder.glob(f"*{form.lower()}*final.mlir")),
        "tensor_location.json": folder / f"{bmodel}.json",
        "input.npz": folder / "input.npz",
        "compilation.bmodel": folder / bmodel,
    }
    for wanted, path in parts.items():
        shutil.copy(path, context / wanted)


def main() -> None:
    target, *names = sys.argv[1:]
    contexts = []
    for name in names or list(MODELS):
        for form in MODELS[name][1]:
            context = Path(target).resolve() / f"{name}_{form.lower()}"
            contexts.append(str(context))
            if context.exists():
                continue
            folder = Path(target).resolve() / "work" / name
            if not (folder / "table").exists():
                folder.mkdir(parents=True, exist_ok=True)
                prepare(name, folder)
            compiled(name, form, folder, context)
    print(json.dumps({"contexts": contexts}))


if __name__ == "__main__":
    main()
