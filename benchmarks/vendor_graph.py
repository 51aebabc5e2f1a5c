"""ONNX graphs with random weights from a fixed seed, for the networks that the vendor's tools compile."""

from __future__ import annotations

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

    def convolution(self, x: str, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> str:
        scale = (2 * groups / (inputs * kernel * kernel)) ** 0.5
        weight = self.weight(outputs, inputs // groups, kernel, kernel, scale=scale)
        pads, bias = [kernel // 2] * 4, self.weight(outputs, scale=0.1)
        return self.apply("Conv", x, weight, bias, pads=pads, strides=[stride, stride], group=groups)

    def reshaped(self, x: str, *shape: int) -> str:
        return self.apply("Reshape", x, self.constant(np.array(shape)))

    def linear(self, x: str, inputs: int, outputs: int) -> str:
        product = self.apply("MatMul", x, self.weight(inputs, outputs, scale=inputs**-0.5))
        return self.apply("Add", product, self.weight(outputs, scale=0.1))

    def normalized(self, x: str, width: int) -> str:
        gain = self.constant((1 + 0.1 * self.random.standard_normal(width)).astype(np.float32))
        return self.apply("LayerNormalization", x, gain, self.weight(width, scale=0.1), axis=-1)

    def scalar(self, x: str, kind: str, number: float) -> str:
        return self.apply(kind, x, self.constant(np.float32(number)))

    def gelu(self, x: str) -> str:
        bent = self.scalar(self.apply("Erf", self.scalar(x, "Mul", 0.5**0.5)), "Add", 1)
        return self.scalar(self.apply("Mul", x, bent), "Mul", 0.5)

    def swish(self, x: str) -> str:
        return self.apply("Mul", x, self.apply("Sigmoid", x))

    def part(self, x: str, axis: int, start: int, stop: int, step: int = 1) -> str:
        places = [self.constant(np.array([number])) for number in (start, stop, axis, step)]
        return self.apply("Slice", x, *places)

    def halves(self, x: str, axis: int, size: int) -> tuple[str, str]:
        return self.part(x, axis, 0, size), self.part(x, axis, size, 2 * size)

    def lstm(self, x: str, length: int, inputs: int, hidden: int) -> str:
        """In both directions over ``length`` steps: (length, 1, inputs) becomes (length, 1, 2 * hidden)."""
        kernels = [self.weight(2, 4 * hidden, size, scale=size**-0.5) for size in (inputs, hidden)]
        bias = self.weight(2, 8 * hidden, scale=0.1)
        x = self.apply("LSTM", x, *kernels, bias, hidden_size=hidden, direction="bidirectional")
        return self.reshaped(self.apply("Transpose", x, perm=[0, 2, 1, 3]), length, 1, 2 * hidden)

    def attention(self, x: str, tokens: int, width: int, heads: int) -> str:
        """Every token looks at all of them."""
        q, k, v = (self.reshaped(self.linear(x, width, width), 1, tokens, heads, width // heads) for _ in range(3))
        q, v = (self.apply("Transpose", t, perm=[0, 2, 1, 3]) for t in (q, v))
        scores = self.apply("MatMul", q, self.apply("Transpose", k, perm=[0, 2, 3, 1]))
        scores = self.apply("Softmax", self.scalar(scores, "Mul", (width // heads) ** -0.5), axis=-1)
        mixed = self.apply("Transpose", self.apply("MatMul", scores, v), perm=[0, 2, 1, 3])
        return self.linear(self.reshaped(mixed, 1, tokens, width), width, width)

    def encoder_layer(self, x: str, tokens: int, width: int, heads: int) -> str:
        """Attention and a perceptron, each after a normalisation and added to what was there."""
        x = self.apply("Add", x, self.attention(self.normalized(x, width), tokens, width, heads))
        inner = self.gelu(self.linear(self.normalized(x, width), width, 4 * width))
        return self.apply("Add", x, self.linear(inner, 4 * width, width))

    def save(self, path: Path, shape: list[int], output: str) -> None:
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
        outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, self.name, inputs, outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(onnx.shape_inference.infer_shapes(model), path)
